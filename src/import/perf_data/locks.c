/* SPDX-License-Identifier: Apache-2.0 */
/* What threads wait for: the label lock=NAME of waits and of their holders (stoke record --locks),
 * the labels file=NAME and device=NAME of waits for files (--io). */
#include "base/format.h"
#include "import/perf_data/profile.h"
#include "model/sample_labels.h"
#include "perf/off_cpu.h"

static label_set_id with_text(struct perf_profile *p, label_set_id labels, struct str key,
                              struct str text)
{
    if (text.len == 0)
        return labels;
    return builder_label_set_add(&p->raw, labels, builder_label_text(&p->raw, key, text));
}

/* Two texts that end with zeros. */
static label_set_id file_labels(struct perf_profile *p, struct str texts,
                                label_set_id labels)
{
    struct str file = str_cut(&texts, 0);
    labels = with_text(p, labels, STR("file"), file);
    return with_text(p, labels, STR("device"), str_cut(&texts, 0));
}

label_set_id perf_lock_labels(struct perf_profile *p, const struct perf_sample *s,
                              label_set_id labels)
{
    enum perf_wait wait = perf_wait_of(s->event);
    struct bytes b = bytes_of(s->raw, p->data.big_endian);
    char room[32];
    /* other recorders have other data in theirs */
    bool ours = s->event->config == PERF_SOFTWARE_DUMMY &&
                (wait == WAIT_OFF_CPU || wait == WAIT_HOLDER);
    if (p->consumer || !ours)
        return labels;
    uint32_t word = bytes_u32(&b);
    uint64_t address = bytes_u64(&b);
    if (b.failed)
        return labels;
    struct str name = bytes_take(&b, bytes_left(&b));
    if (address == 0)
        return wait == WAIT_OFF_CPU && word & PERF_OFF_CPU_FILE
                   ? file_labels(p, name, labels)
                   : labels;
    name = str_head(name, str_find(name, 0));
    if (name.len == 0)
        name = (struct str){
            room, format_text(room, sizeof room, "0x%llx", (unsigned long long)address)};
    return with_text(p, labels, STR("lock"), name);
}
