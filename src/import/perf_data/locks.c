/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: the label lock=NAME of waits and of their holders (stoke record --locks). */
#include "base/format.h"
#include "import/perf_data/profile.h"
#include "model/sample_labels.h"

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
    bytes_skip(&b, sizeof(uint32_t)); /* its word */
    uint64_t address = bytes_u64(&b);
    if (b.failed || address == 0)
        return labels;
    struct str name = bytes_take(&b, bytes_left(&b));
    name = str_head(name, str_find(name, 0));
    if (name.len == 0)
        name = (struct str){
            room, format_text(room, sizeof room, "0x%llx", (unsigned long long)address)};
    return builder_label_set_add(&p->raw, labels,
                                 builder_label_text(&p->raw, STR("lock"), name));
}
