/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/unnamed.h"
#include <stdlib.h>

/* Inserts the module into the list, which is sorted by weight; returns the new
 * length. */
static size_t insert(struct unnamed_module *out, size_t count, struct unnamed_module m)
{
    size_t at = count;
    while (at && out[at - 1].share < m.share)
        at--;
    if (at == UNNAMED_MODULES_MAX)
        return count;
    if (count < UNNAMED_MODULES_MAX)
        count++;
    for (size_t i = count - 1; i > at; i--)
        out[i] = out[i - 1];
    out[at] = m;
    return count;
}

/* Adds up the weight of each module's unnamed leaf frames; returns the weight of all
 * samples. */
static double weigh(const struct profile *p, double *weights)
{
    double total = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        const struct frame *leaf = &p->frames[p->stacks[s->stack].frame];
        if (s->event != 1)
            continue;
        total += s->weight;
        if (s->stack && leaf->name == 0 && leaf->kind == FRAME_USER)
            weights[leaf->module] += s->weight;
    }
    return total;
}

size_t unnamed_modules(const struct profile *p, double least,
                       struct unnamed_module out[UNNAMED_MODULES_MAX])
{
    size_t count = 0;
    double *weights = calloc(p->module_count, sizeof *weights);
    if (!weights)
        return 0;
    double total = weigh(p, weights);
    for (module_id m = 1; total > 0 && m < p->module_count; m++)
        if (weights[m] >= least * total)
            count = insert(out, count, (struct unnamed_module){m, weights[m] / total});
    free(weights);
    return count;
}
