/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/profile.h"
#include "model/sample_labels.h"

/* Labels with the texts of perf report. */
static label_set_id make_labels(struct perf_profile *p, const struct perf_branch *branch)
{
    struct builder *b = &p->raw;
    char text[16];
    struct str cycles = {text, format_text(text, sizeof text, "%u", branch->cycles)};
    label_id labels[] = {
        builder_label_text(b, STR("mispredict"),
                           branch->predicted ? STR("N")
                           : branch->missed  ? STR("Y")
                                             : STR("N/A")),
        builder_label_text(b, STR("abort"), branch->aborted ? STR("A") : STR(".")),
        builder_label_text(b, STR("in_tx"), branch->in_transaction ? STR("T") : STR(".")),
        builder_label_text(b, STR("cycles"), branch->cycles ? cycles : STR("-"))};
    return builder_label_set(b, labels, sizeof labels / sizeof *labels);
}

label_set_id perf_branch_labels(struct perf_profile *p, const struct perf_branch *branch)
{
    unsigned flags = branch->missed * 8u + branch->predicted * 4u +
                     branch->in_transaction * 2u + branch->aborted;
    uint64_t key = (uint64_t)branch->cycles << 4 | flags;
    uint64_t *labels = idmap_put(&p->branch_labels, &p->arena, key);
    if (!labels)
        return 0;
    if (!*labels)
        *labels = make_labels(p, branch);
    return (label_set_id)*labels;
}
