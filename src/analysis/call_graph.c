/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/call_graph.h"
#include "base/array.h"
#include "base/idmap.h"
#include "base/sort.h"

/* The label may end with a zero byte and a module. */
bool calls_is_mark(const struct calltree *t, string_id label)
{
    struct str text = strings_get(&t->paths.labels, label), mark = STR(INFERRED_MARK);
    return str_starts(text, mark) && (text.len == mark.len || text.ptr[mark.len] == 0);
}

/* --- All calls -------------------------------------------------------------------- */

struct finding {
    struct calls *calls;
    struct arena scratch;
    size_t cap;
    struct idmap numbers; /* IDs of calls start at 1 */
    uint32_t *open;       /* by depth: the call to it, or 0 */
    uint32_t *times;      /* by call: how often it is on the current stack */
    size_t times_cap;
};

/* Its ID, from 1; 0 when out of memory. */
static uint32_t call_between(struct finding *f, string_id caller, string_id callee)
{
    struct calls *c = f->calls;
    uint64_t key = (uint64_t)caller << 32 | callee;
    uint64_t *number = idmap_put(&f->numbers, &f->scratch, key);
    if (!number || *number)
        return number ? (uint32_t)*number : 0;
    if (!ARRAY_RESERVE(&c->arena, c->items, f->cap, c->count + 1) ||
        !ARRAY_RESERVE(&f->scratch, f->times, f->times_cap, c->count + 2))
        return 0;
    c->items[c->count++] = (struct call){.caller = caller, .callee = callee};
    f->times[c->count] = 0;
    *number = c->count;
    return (uint32_t)c->count;
}

/* Nodes are in preorder: those with at least the depth of the next one are finished. */
static bool find_calls(struct finding *f, const struct calltree *t)
{
    uint32_t depth = 0; /* of the current stack */
    for (uint32_t n = 1; n < t->count; n++) {
        const struct calltree_node *node = &t->nodes[n], *up = &t->nodes[node->parent];
        for (; depth >= node->depth && depth > 0; depth--)
            if (f->open[depth])
                f->times[f->open[depth]]--;
        depth = node->depth;
        f->open[depth] = 0;
        if (up->frame && calls_is_mark(t, up->label))
            up = &t->nodes[up->parent];
        if (!up->frame || calls_is_mark(t, node->label))
            continue;
        uint32_t number = call_between(f, up->label, node->label);
        if (!number)
            return false;
        f->open[depth] = number;
        struct call *call = &f->calls->items[number - 1];
        if (f->times[number]++ > 0)
            continue;
        call->total += node->total;
        call->base_total += node->base_total;
    }
    return true;
}

bool calls_init(struct calls *c, const struct calltree *t, struct error *err)
{
    struct finding f = {.calls = c};
    *c = (struct calls){0};
    f.open = arena_zalloc(&f.scratch, (size_t)t->depth + 2, sizeof *f.open);
    bool ok = f.open && find_calls(&f, t);
    arena_deinit(&f.scratch);
    return ok || error_memory(err);
}

void calls_deinit(struct calls *c)
{
    arena_deinit(&c->arena);
    *c = (struct calls){0};
}

/* --- Which calls are shown ------------------------------------------------------- */

static double share_of(const struct call_graph *g, double total, double base_total)
{
    double share = g->total > 0 ? total / g->total : 0;
    double before = g->base_total > 0 ? base_total / g->base_total : 0;
    return share > before ? share : before;
}

struct choosing {
    const struct call_graph *g;
    const struct function *functions;
    const struct call *calls;
};

static bool function_before(const void *context, uint32_t a, uint32_t b)
{
    const struct choosing *c = context;
    const struct function *x = &c->functions[a], *y = &c->functions[b];
    return share_of(c->g, x->total, x->base_total) >
           share_of(c->g, y->total, y->base_total);
}

static bool call_before(const void *context, uint32_t a, uint32_t b)
{
    const struct choosing *c = context;
    const struct call *x = &c->calls[a], *y = &c->calls[b];
    return share_of(c->g, x->total, x->base_total) >
           share_of(c->g, y->total, y->base_total);
}

/* Fills g->functions; sets `shown` for their labels. */
static bool choose_functions(struct call_graph *g, const struct calltree *t,
                             const struct function *all, size_t count,
                             const struct call_limits *limits, bool *shown)
{
    struct arena *a = &g->all.arena;
    struct choosing c = {.g = g, .functions = all};
    uint32_t *order = arena_alloc(a, 2 * (count + 1) * sizeof *order);
    size_t heavy = 0;
    g->functions = arena_alloc(a, (count + 1) * sizeof *g->functions);
    if (!order || !g->functions)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!calls_is_mark(t, all[i].label) &&
            share_of(g, all[i].total, all[i].base_total) >= limits->function_share)
            order[heavy++] = i;
    sort_u32(order, heavy, order + count + 1, function_before, &c);
    for (size_t i = 0; i < heavy; i++) {
        if (limits->functions_most && i == limits->functions_most)
            break;
        shown[all[order[i]].label] = true;
        g->functions[g->function_count++] = all[order[i]];
    }
    g->functions_left = count - g->function_count;
    return true;
}

static bool choose_calls(struct call_graph *g, const struct call_limits *limits,
                         const bool *shown)
{
    struct arena *a = &g->all.arena;
    size_t count = g->all.count, heavy = 0;
    struct choosing c = {.g = g, .calls = g->all.items};
    uint32_t *order = arena_alloc(a, 2 * (count + 1) * sizeof *order);
    g->calls = arena_alloc(a, (count + 1) * sizeof *g->calls);
    if (!order || !g->calls)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct call *call = &g->all.items[i];
        if (shown[call->caller] && shown[call->callee] &&
            share_of(g, call->total, call->base_total) >= limits->call_share)
            order[heavy++] = i;
    }
    sort_u32(order, heavy, order + count + 1, call_before, &c);
    for (size_t i = 0; i < heavy; i++)
        g->calls[i] = g->all.items[order[i]];
    g->call_count = heavy;
    g->calls_left = count - heavy;
    return true;
}

bool call_graph_init(struct call_graph *g, struct calltree *t,
                     const struct call_limits *limits, struct error *err)
{
    size_t count;
    *g = (struct call_graph){0};
    const struct function *functions = calltree_functions(t, &count, err);
    if (!functions || !calls_init(&g->all, t, err))
        return false;
    g->total = t->nodes[0].total;
    g->base_total = t->nodes[0].base_total;
    bool *shown = arena_zalloc(&g->all.arena, t->paths.labels.count, sizeof *shown);
    bool ok = shown && choose_functions(g, t, functions, count, limits, shown) &&
              choose_calls(g, limits, shown);
    return ok || error_memory(err);
}

void call_graph_deinit(struct call_graph *g)
{
    calls_deinit(&g->all);
    *g = (struct call_graph){0};
}
