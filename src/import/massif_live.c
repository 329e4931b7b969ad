/* SPDX-License-Identifier: Apache-2.0 */
#include "import/massif_live.h"
#include "base/array.h"
#include "import/quantity.h"
#include <math.h>

struct live {
    struct builder *b;
    struct arena arena;
    event_id event;
    uint64_t time; /* ns */
    double *tree;  /* by stack: bytes in the last tree */
    double *now;   /* by stack: bytes so far */
    stack_id *used;
    size_t used_count, used_cap, stack_count;
    double tree_bytes;
    stack_id rest, extra, stacks;
};

static stack_id marker_stack(struct builder *b, struct str name)
{
    return builder_push(b, 0, massif_marker(b, name));
}

/* The bytes of a stack at this moment. */
static void set(struct live *l, stack_id stack, double bytes)
{
    struct sample s = {.time = l->time,
                       .cpu = CPU_NONE,
                       .event = l->event,
                       .stack = stack,
                       .count = 1,
                       .weight = bytes - l->now[stack]};
    if (s.weight > 0 || s.weight < 0)
        builder_add_mapped(l->b, &s);
    l->now[stack] = bytes;
}

/* Sets the tree to that of the moment. */
static void take_tree(struct live *l, const struct massif_moment *m)
{
    const struct profile *p = l->b->profile;
    for (size_t i = 0; i < l->used_count; i++)
        l->tree[l->used[i]] = 0;
    l->tree_bytes = 0;
    for (size_t i = m->first; i < m->stop && i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (s->stack >= l->stack_count || s->stack == l->extra || s->stack == l->stacks)
            continue;
        if (!ARRAY_RESERVE(&l->arena, l->used, l->used_cap, l->used_count + 1))
            return;
        if (l->tree[s->stack] <= 0 && l->now[s->stack] <= 0)
            l->used[l->used_count++] = s->stack;
        l->tree[s->stack] += s->weight;
        l->tree_bytes += s->weight;
    }
}

/* Stacks without bytes in this tree are forgotten once they are set to 0. */
static void forget_unused(struct live *l)
{
    size_t count = 0;
    for (size_t i = 0; i < l->used_count; i++)
        if (l->tree[l->used[i]] > 0)
            l->used[count++] = l->used[i];
    l->used_count = count;
}

static void add_moment(struct live *l, const struct massif_moment *m)
{
    if (m->has_tree)
        take_tree(l, m);
    double heap = (double)m->heap, rest = heap - l->tree_bytes;
    bool is_smaller = rest < 0 && l->tree_bytes > 0;
    for (size_t i = 0; i < l->used_count; i++) {
        double bytes = l->tree[l->used[i]];
        set(l, l->used[i], is_smaller ? floor(bytes * (heap / l->tree_bytes)) : bytes);
    }
    rest = heap;
    for (size_t i = 0; i < l->used_count; i++)
        rest -= l->now[l->used[i]];
    if (m->has_tree)
        forget_unused(l);
    set(l, l->rest, rest > 0 ? rest : 0);
    set(l, l->extra, (double)m->extra);
    set(l, l->stacks, (double)m->stacks);
}

void massif_add_live(struct builder *b, const struct massif_moment *moments, size_t count,
                     uint64_t unit)
{
    struct live l = {.b = b, .event = builder_event(b, STR("live"), UNIT_BYTES)};
    l.rest = marker_stack(b, STR("[no tree]"));
    l.extra = marker_stack(b, STR("[extra heap]"));
    l.stacks = marker_stack(b, STR("[stacks]"));
    l.stack_count = b->profile->stack_count;
    l.tree = arena_zalloc(&l.arena, l.stack_count, sizeof *l.tree);
    l.now = arena_zalloc(&l.arena, l.stack_count, sizeof *l.now);
    for (size_t i = 0; l.tree && l.now && i < count; i++) {
        const struct massif_moment *m = &moments[i];
        if ((double)m->time * (double)unit > QUANTITY_MAX ||
            (double)m->heap > QUANTITY_MAX || (double)m->extra > QUANTITY_MAX ||
            (double)m->stacks > QUANTITY_MAX)
            continue;
        l.time = m->time * unit;
        add_moment(&l, m);
        struct facts *facts = &b->profile->facts;
        if (facts->time_first == TIME_NONE || l.time < facts->time_first)
            facts->time_first = l.time;
        if (facts->time_last == TIME_NONE || l.time > facts->time_last)
            facts->time_last = l.time;
    }
    builder_end_scratch(b, &l.arena);
}
