/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a tree in the order of a chart: row by row, children next to each other,
 * the heaviest first. The charts of all parts of the profile then read them nearly in
 * their order: in another order, most of the time is that of reading memory. */
#include "base/sort.h"
#include "web/core/core.h"

struct ordering {
    const struct nodes *nodes;
    struct arena scratch;
    double *total;
    struct children children;
    uint32_t *order;  /* old numbers by new ones */
    uint32_t *number; /* new numbers by old ones */
};

static uint32_t parent_of(const void *context, uint32_t node)
{
    const struct ordering *o = context;
    return o->nodes->nodes[node].parent;
}

static bool heavier(const void *context, uint32_t a, uint32_t b)
{
    const struct ordering *o = context;
    return o->total[a] > o->total[b];
}

static bool find_order(struct ordering *o)
{
    const struct nodes *n = o->nodes;
    o->total = arena_zalloc(&o->scratch, n->count, sizeof *o->total);
    o->order = arena_alloc(&o->scratch, n->count * sizeof *o->order);
    o->number = arena_alloc(&o->scratch, n->count * sizeof *o->number);
    if (o->scratch.failed ||
        !children_init(&o->children, &o->scratch, n->count, parent_of, o))
        return false;
    for (size_t i = n->count; i-- > 1;) {
        o->total[i] += n->self[i];
        o->total[n->nodes[i].parent] += o->total[i];
    }
    uint32_t used = 1;
    o->order[0] = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        uint32_t node = o->order[i], first = o->children.first[node];
        uint32_t count = o->children.first[node + 1] - first;
        o->number[node] = i;
        memcpy(o->order + used, o->children.items + first, count * sizeof *o->order);
        sort_u32(o->order + used, count, o->children.items + first, heavier, o);
        used += count;
    }
    return true;
}

bool nodes_order(struct nodes *n)
{
    struct ordering o = {.nodes = n};
    struct trie_node *nodes = arena_alloc(&o.scratch, n->count * sizeof *nodes);
    double *self = arena_alloc(&o.scratch, n->count * sizeof *self);
    bool ok = nodes && self && find_order(&o);
    for (uint32_t i = 0; ok && i < n->count; i++) {
        const struct trie_node *old = &n->nodes[o.order[i]];
        nodes[i] = (struct trie_node){o.number[old->parent], old->key};
        self[i] = n->self[o.order[i]];
    }
    if (ok) {
        memcpy(n->nodes, nodes, n->count * sizeof *nodes);
        memcpy(n->self, self, n->count * sizeof *self);
    }
    for (size_t i = 0; ok && i < n->row_count; i++)
        n->of_row[i] = o.number[n->of_row[i]];
    arena_deinit(&o.scratch);
    return ok;
}
