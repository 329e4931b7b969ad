/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/chain_tree.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/sort.h"

bool chain_trees_init(struct chain_trees *c, const struct breakdown *b,
                      const struct chain_tree_options *o, struct error *err)
{
    const struct profile *p = b->p;
    *c = (struct chain_trees){.b = b, .o = *o};
    if (!c->o.depth)
        c->o.depth = CHAIN_DEPTH;
    c->path = arena_zalloc(&c->arena, c->o.depth, sizeof *c->path);
    c->grown = arena_zalloc(&c->arena, b->node_count, sizeof *c->grown);
    c->weights = arena_zalloc(&c->arena, b->node_count, sizeof *c->weights);
    if (c->o.order == CHAINS_CALLER) {
        uint32_t *depth = arena_zalloc(&c->arena, p->stack_count, sizeof *depth);
        c->cut = arena_zalloc(&c->arena, p->stack_count, sizeof *c->cut);
        for (stack_id s = 1; depth && c->cut && s < p->stack_count; s++) {
            stack_id parent = p->stacks[s].parent;
            depth[s] = depth[parent] + 1;
            c->cut[s] = depth[s] <= c->o.depth ? s : c->cut[parent];
        }
    }
    return !c->arena.failed || error_memory(err);
}

void chain_trees_deinit(struct chain_trees *c)
{
    arena_deinit(&c->arena);
}

/* --- Growing ----------------------------------------------------------------------- */

/* A tree that is being built: nodes in the order of their first use; [0] is the row. */
struct growing {
    struct chain_trees *c;
    struct arena arena;
    struct chain_tree_node *nodes;
    size_t count, cap;
    struct index index;
};

struct lookup {
    const struct chain_tree_node *nodes;
    uint32_t parent, symbol;
};

static bool same_node(const void *context, uint32_t id)
{
    const struct lookup *w = context;
    return w->nodes[id].parent == w->parent && w->nodes[id].symbol == w->symbol;
}

/* Adds weight to the symbol below that node; its node, 0 when out of memory. */
static uint32_t grow(struct growing *g, uint32_t parent, uint32_t symbol, double weight)
{
    uint32_t hash = (uint32_t)hash_pair(parent, symbol);
    if (!ARRAY_RESERVE(&g->arena, g->nodes, g->cap, g->count + 1) ||
        !index_reserve(&g->index, &g->arena, 1))
        return 0;
    struct chain_tree_node *nodes = g->nodes;
    struct lookup w = {nodes, parent, symbol};
    struct index_slot *slot = index_find(&g->index, hash, same_node, &w);
    if (!slot->id) {
        nodes[g->count] = (struct chain_tree_node){
            .symbol = symbol, .parent = parent, .depth = nodes[parent].depth + 1};
        index_fill(&g->index, slot, hash, (uint32_t)g->count++);
    }
    nodes[slot->id].total += weight;
    nodes[parent].below += weight;
    return slot->id;
}

static uint32_t symbol_of(const struct breakdown *b, stack_id s)
{
    return b->symbol_of_frame[b->p->stacks[s].frame];
}

/* From the node's function up through its callers. */
static bool grow_callers(struct growing *g, uint32_t node, double weight)
{
    const struct breakdown *b = g->c->b;
    stack_id s = b->nodes[node].stack;
    uint32_t at = 0;
    for (uint32_t i = 0; i < g->c->o.depth && (s || i == 0); i++) {
        at = grow(g, at, symbol_of(b, s), weight);
        if (!at)
            return false;
        s = b->p->stacks[s].parent;
    }
    return true;
}

/* From the outermost function down to the node's. */
static bool grow_whole(struct growing *g, uint32_t node, double weight)
{
    const struct breakdown *b = g->c->b;
    uint32_t count = 0, at = 0;
    for (stack_id s = g->c->cut[b->nodes[node].stack]; s; s = b->p->stacks[s].parent)
        g->c->path[count++] = symbol_of(b, s);
    if (count == 0)
        g->c->path[count++] = symbol_of(b, 0);
    while (count > 0) {
        at = grow(g, at, g->c->path[--count], weight);
        if (!at)
            return false;
    }
    return true;
}

static bool is_of_row(const struct breakdown *b, const struct breakdown_row *row,
                      uint32_t node)
{
    return b->location_of_stack[b->nodes[node].stack] == row->location;
}

/* From a node's function down. Stacks that end in a function of the row are not in the
 * weights here. */
static bool grow_subtree(struct growing *g, uint32_t top)
{
    const struct breakdown *b = g->c->b;
    const double *weights = g->c->weights;
    uint32_t *grown = g->c->grown, end = b->nodes[top].end;
    for (uint32_t n = top; n < end;) {
        const struct breakdown_node *at = &b->nodes[n];
        bool empty = weights[n] <= 0 && weights[n] >= 0;
        bool deepest = at->depth - b->nodes[top].depth + 1 >= g->c->o.depth;
        uint32_t parent = n == top ? 0 : grown[at->parent];
        grown[n] = empty ? 0 : grow(g, parent, symbol_of(b, at->stack), weights[n]);
        if (!empty && !grown[n])
            return false;
        n = empty || deepest ? at->end : n + 1;
    }
    return true;
}

/* The callees of the row's function: its subtree. A stack that ends in the row shows who
 * called it: from its outermost function. */
static bool grow_callees(struct growing *g, const struct breakdown_row *row, uint32_t top)
{
    const struct breakdown *b = g->c->b;
    double *weights = g->c->weights;
    uint32_t end = b->nodes[top].end;
    for (uint32_t n = top; n < end; n++)
        weights[n] = is_of_row(b, row, n) ? 0 : b->nodes[n].self;
    for (uint32_t n = end; n-- > top + 1;)
        weights[b->nodes[n].parent] += weights[n];
    if (!grow_subtree(g, top))
        return false;
    for (uint32_t n = top; n < end; n++)
        if (b->nodes[n].samples && is_of_row(b, row, n) &&
            !grow_whole(g, n, b->nodes[n].self))
            return false;
    return true;
}

/* The callers of the row's function: of the innermost one, if it recurses. */
static bool grow_innermost(struct growing *g, const struct breakdown_row *row,
                           uint32_t top)
{
    const struct breakdown *b = g->c->b;
    double *weights = g->c->weights;
    uint32_t *innermost = g->c->grown, end = b->nodes[top].end;
    for (uint32_t n = top; n < end; n++) {
        innermost[n] = is_of_row(b, row, n) ? n : innermost[b->nodes[n].parent];
        weights[n] = 0;
        weights[innermost[n]] += b->nodes[n].self;
    }
    for (uint32_t n = top; n < end; n++)
        if (innermost[n] == n && (weights[n] > 0 || weights[n] < 0) &&
            !grow_callers(g, n, weights[n]))
            return false;
    return true;
}

static bool grow_node(struct growing *g, const struct breakdown_row *row, uint32_t node)
{
    const struct breakdown *b = g->c->b;
    bool callees = g->c->o.order == CHAINS_CALLER;
    if (b->o->children)
        return callees ? grow_callees(g, row, node) : grow_innermost(g, row, node);
    double weight = b->nodes[node].self;
    return callees ? grow_whole(g, node, weight) : grow_callers(g, node, weight);
}

static bool grow_row(struct growing *g, const struct breakdown_row *row)
{
    const struct breakdown *b = g->c->b;
    g->nodes = arena_grow(&g->arena, NULL, &g->cap, 64, sizeof *g->nodes);
    if (!g->nodes)
        return false;
    g->nodes[0] = (struct chain_tree_node){.total = row->total};
    g->count = 1;
    if (row->total < g->c->o.min_weight)
        return true; /* so is its subtree */
    for (uint32_t i = 0; i < row->count; i++)
        if (!grow_node(g, row, b->row_nodes[row->first + i]))
            return false;
    return true;
}

uint32_t chain_trees_depth(const struct chain_trees *c, uint32_t number)
{
    const struct breakdown *b = c->b;
    const struct breakdown_row *row = &b->rows[number];
    uint32_t most = 0;
    for (uint32_t i = 0; i < row->count; i++) {
        uint32_t top = b->row_nodes[row->first + i];
        for (uint32_t n = top; n < b->nodes[top].end; n++) {
            uint32_t depth = b->nodes[n].depth;
            bool ends_here = is_of_row(b, row, n);
            if (c->o.order == CHAINS_CALLEE && !ends_here)
                depth = 0; /* the path is that of the row's function above */
            else if (!ends_here)
                depth -= b->nodes[top].depth - 1;
            most = depth > most ? depth : most;
        }
    }
    return most;
}

/* --- Order ------------------------------------------------------------------------- */

static bool comes_before(const void *context, uint32_t a, uint32_t z)
{
    const struct growing *g = context;
    const struct breakdown *b = g->c->b;
    const struct chain_tree_node *x = &g->nodes[a], *y = &g->nodes[z];
    if (x->parent != y->parent)
        return x->parent < y->parent;
    if (x->total > y->total || x->total < y->total)
        return x->total > y->total;
    return str_compare(breakdown_symbol_name(b, x->symbol),
                       breakdown_symbol_name(b, y->symbol)) < 0;
}

/* Selects the nodes that have the minimum weight and whose parents remain, and sorts
 * them by parent and weight. A parent has a lower number than its children. */
static size_t sort_nodes(struct growing *g, uint32_t *order, uint32_t *scratch)
{
    size_t remaining = 0;
    for (uint32_t n = 1; n < g->count; n++) {
        struct chain_tree_node *node = &g->nodes[n];
        bool gone = g->nodes[node->parent].end == UINT32_MAX;
        double least = g->c->o.min_share * g->nodes[node->parent].below;
        gone |= node->total < g->c->o.min_weight || node->total < least;
        node->end = gone ? UINT32_MAX : 0;
        if (!node->end)
            order[remaining++] = n;
    }
    sort_u32(order, remaining, scratch, comes_before, g);
    return remaining;
}

/* Writes the nodes in preorder. `wait` is a stack: its last node is written next, and is
 * replaced by its children. */
static void lay_out(struct growing *g, struct chain_tree *out, const uint32_t *order,
                    size_t remaining, uint32_t *first, uint32_t *wait)
{
    uint32_t waiting = 1;
    for (size_t i = remaining; i-- > 0;)
        first[g->nodes[order[i]].parent] = (uint32_t)i + 1;
    wait[0] = 0;
    while (waiting > 0) {
        uint32_t n = wait[--waiting], at = out->count++;
        out->nodes[at] = g->nodes[n];
        out->nodes[at].parent = n ? g->nodes[g->nodes[n].parent].end : 0;
        out->nodes[at].end = at + 1;
        g->nodes[n].end = at; /* from now on: its index in `out` */
        size_t i = first[n], last = i;
        while (i && last <= remaining && g->nodes[order[last - 1]].parent == n)
            last++;
        for (; last > i; last--)
            wait[waiting++] = order[last - 2];
    }
    for (uint32_t n = out->count; n-- > 1;) {
        struct chain_tree_node *parent = &out->nodes[out->nodes[n].parent];
        parent->end = parent->end > out->nodes[n].end ? parent->end : out->nodes[n].end;
    }
}

bool chain_tree_init(struct chain_tree *g, struct chain_trees *c, uint32_t row,
                     struct error *err)
{
    struct growing growing = {.c = c};
    *g = (struct chain_tree){.arena = ARENA_INIT};
    bool ok = grow_row(&growing, &c->b->rows[row]);
    size_t count = growing.count;
    uint32_t *order = ok ? arena_alloc(&growing.arena, count * sizeof *order) : NULL;
    uint32_t *wait = ok ? arena_alloc(&growing.arena, count * sizeof *wait) : NULL;
    uint32_t *first = ok ? arena_zalloc(&growing.arena, count, sizeof *first) : NULL;
    if (ok)
        g->nodes = arena_alloc(&g->arena, count * sizeof *g->nodes);
    ok = order && wait && first && g->nodes;
    if (ok) {
        size_t remaining = sort_nodes(&growing, order, wait);
        lay_out(&growing, g, order, remaining, first, wait);
    }
    arena_deinit(&growing.arena);
    return ok || error_memory(err);
}

void chain_tree_deinit(struct chain_tree *g)
{
    arena_deinit(&g->arena);
}

bool chain_tree_is_chained(const struct chain_tree *g, uint32_t node)
{
    const struct chain_tree_node *n = &g->nodes[node], *parent = &g->nodes[n->parent];
    return node == n->parent + 1 && n->end == parent->end &&
           n->total >= parent->total * (1 - 1e-12);
}
