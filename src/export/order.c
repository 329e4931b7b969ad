/* SPDX-License-Identifier: Apache-2.0 */
#include "export/order.h"

uint32_t *order_samples(struct arena *a, const struct profile *p, event_id only,
                        bool (*before)(const void *context, uint32_t a, uint32_t b),
                        const void *context, size_t *count)
{
    uint32_t *order = arena_alloc(a, (p->sample_count + 1) * sizeof *order);
    uint32_t *scratch = arena_alloc(a, (p->sample_count + 1) * sizeof *scratch);
    *count = 0;
    if (!order || !scratch)
        return NULL;
    for (uint32_t i = 0; i < p->sample_count; i++)
        if (!only || p->samples[i].event == only)
            order[(*count)++] = i;
    sort_u32(order, *count, scratch, before, context);
    return order;
}
