/* SPDX-License-Identifier: Apache-2.0 */
#include "export/parts.h"
#include "base/array.h"
#include "export/order.h"

struct ordering {
    const struct profile *p;
    const struct thread_set *threads;
};

static bool sample_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ordering *o = context;
    const struct sample *x = &o->p->samples[a], *y = &o->p->samples[b];
    uint32_t thread_x = o->threads->of_thread[x->thread];
    uint32_t thread_y = o->threads->of_thread[y->thread];
    if (x->event != y->event)
        return x->event < y->event;
    return thread_x != thread_y ? thread_x < thread_y : x->time < y->time;
}

/* The part that the sample belongs to, added if it is new; NULL if out of memory. */
static struct sample_part *part_of(struct sample_parts *parts, struct arena *a,
                                   event_id event, uint32_t thread, size_t at)
{
    struct sample_part *last = parts->count ? &parts->items[parts->count - 1] : NULL;
    if (last && last->event == event && last->thread == thread)
        return last;
    last = ARRAY_APPEND(a, parts->items, parts->count, parts->cap);
    if (last)
        *last = (struct sample_part){.event = event, .thread = thread, .first = at};
    return last;
}

bool sample_parts_init(struct sample_parts *parts, struct arena *a,
                       const struct profile *p, const struct calltree_options *tree)
{
    const struct thread_set *threads = &parts->threads;
    struct ordering o = {p, threads};
    size_t count;
    *parts = (struct sample_parts){.items = NULL};
    if (!thread_set_init(&parts->threads, a, p, tree->threads))
        return false;
    parts->order = order_samples(a, p, tree->event, sample_before, &o, &count);
    for (size_t i = 0; parts->order && i < count; i++) {
        const struct sample *s = &p->samples[parts->order[i]];
        struct sample_part *part =
            part_of(parts, a, s->event, threads->of_thread[s->thread], i);
        if (!part)
            return false;
        part->end = i + 1;
        part->total += sample_parts_weight(tree, s);
    }
    return parts->order != NULL;
}
