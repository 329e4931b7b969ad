/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/locks.h"
#include "base/array.h"
#include "base/sort.h"
#include "model/lock_kind.h"
#include "model/sample_labels.h"

#define HOLDER_EVENT STR("lock-holder")

struct grouping {
    struct locks *l;
    struct trie trie;                /* side, lock, thread, stack */
    uint32_t *row_of_node, *lock_of; /* by label */
    const label_id *label_of_set;
    size_t node_cap;
    event_id holders;
};

/* The lock of a label. */
static struct locks_lock *lock_of(struct grouping *g, label_id label)
{
    struct locks *l = g->l;
    if (g->lock_of[label] == 0) {
        g->lock_of[label] = (uint32_t)l->count;
        l->items[l->count++] = (struct locks_lock){.label = label, .kind = ""};
    }
    return &l->items[g->lock_of[label]];
}

static struct locks_row *row_of(struct grouping *g, enum locks_side side, uint32_t lock,
                                string_id thread, stack_id stack)
{
    struct locks *l = g->l;
    uint32_t keys[] = {(uint32_t)side + 1, lock, thread + 1, stack + 1};
    uint32_t node = trie_descend(&g->trie, 0, keys, 4, NULL);
    if (l->arena.failed ||
        !ARRAY_RESERVE_ZEROED(&l->arena, g->row_of_node, g->node_cap, node + 1))
        return NULL;
    if (g->row_of_node[node])
        return &l->rows[g->row_of_node[node]];
    if (!ARRAY_RESERVE(&l->arena, l->rows, l->row_cap, l->row_count + 1))
        return NULL;
    g->row_of_node[node] = (uint32_t)l->row_count;
    l->rows[l->row_count] = (struct locks_row){
        .thread = thread, .stack = stack, .next = l->items[lock].rows[side]};
    l->items[lock].rows[side] = (uint32_t)l->row_count;
    return &l->rows[l->row_count++];
}

static void add_sample(struct grouping *g, const struct sample *s, label_id label,
                       enum locks_side side)
{
    struct locks *l = g->l;
    struct locks_lock *lock = lock_of(g, label);
    const char *kind = "";
    stack_id user = lock_user(l->p, s->stack, &kind);
    if (!lock->kind[0] && side == LOCKS_WAITED)
        lock->kind = kind;
    struct locks_row *row =
        row_of(g, side, (uint32_t)(lock - l->items), l->p->threads[s->thread].name, user);
    if (!row)
        return;
    row->weight += s->weight;
    row->count += s->count;
    lock->weight[side] += s->weight;
    lock->count[side] += s->count;
    l->weight[side] += s->weight;
    l->waits += side == LOCKS_WAITED ? s->count : 0;
}

static void add_samples(struct grouping *g)
{
    const struct profile *p = g->l->p;
    for (size_t i = 0; i < p->sample_count && !g->l->arena.failed; i++) {
        const struct sample *s = &p->samples[i];
        label_id label = g->label_of_set[profile_labels(p, i)];
        bool holder = s->event == g->holders && s->event;
        if (label && (holder || p->events[s->event].kind == EVENT_WAITING))
            add_sample(g, s, label, holder ? LOCKS_HELD : LOCKS_WAITED);
    }
}

/* Sorts ids by weight, the largest first. */
static uint64_t descending(double weight)
{
    return weight > 0 ? UINT64_MAX - (uint64_t)weight : UINT64_MAX;
}

static void sort_rows(struct locks *l, uint32_t *first, struct sort_key *room)
{
    size_t count = 0;
    for (uint32_t row = *first; row; row = l->rows[row].next)
        room[count++] = (struct sort_key){descending(l->rows[row].weight), row};
    sort_keys(room, count, room + count);
    for (size_t i = count; i-- > 0;) {
        l->rows[room[i].id].next = i + 1 < count ? room[i + 1].id : 0;
        *first = room[i].id;
    }
}

static bool sort_all(struct locks *l)
{
    size_t most = l->count > l->row_count ? l->count : l->row_count;
    struct sort_key *room = arena_zalloc(&l->arena, 2 * most + 1, sizeof *room);
    l->order = arena_zalloc(&l->arena, l->count + 1, sizeof *l->order);
    if (!room || !l->order)
        return false;
    for (size_t i = 1; i < l->count; i++)
        for (unsigned side = 0; side < LOCKS_SIDES; side++)
            sort_rows(l, &l->items[i].rows[side], room);
    for (size_t i = 1; i < l->count; i++)
        room[i - 1] =
            (struct sort_key){descending(l->items[i].weight[LOCKS_WAITED]), (uint32_t)i};
    sort_keys(room, l->count - 1, room + l->count - 1);
    for (size_t i = 1; i < l->count; i++)
        l->order[i] = room[i - 1].id;
    return true;
}

bool locks_init(struct locks *l, const struct profile *p, struct error *err)
{
    *l = (struct locks){.p = p, .count = 1, .row_count = 1};
    struct grouping g = {.l = l, .holders = profile_find_event(p, HOLDER_EVENT)};
    g.label_of_set = label_sets_find(p, STR("lock"), &l->arena);
    g.lock_of = arena_zalloc(&l->arena, p->label_count + 1, sizeof *g.lock_of);
    l->items = arena_zalloc(&l->arena, p->label_count + 1, sizeof *l->items);
    if (!g.label_of_set || !g.lock_of || !l->items || !trie_init(&g.trie, &l->arena) ||
        !ARRAY_RESERVE_ZEROED(&l->arena, l->rows, l->row_cap, 1))
        return error_memory(err);
    if (p->sample_labels)
        add_samples(&g);
    return (!l->arena.failed && sort_all(l)) || error_memory(err);
}

void locks_deinit(struct locks *l)
{
    arena_deinit(&l->arena);
}
