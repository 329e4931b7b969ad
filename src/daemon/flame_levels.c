/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/flame_levels.h"
#include "analysis/calltree.h"
#include "base/array.h"
#include "base/sort.h"

enum { NAME_TOTAL, NAME_OTHER };

struct layout {
    struct flame_levels *f;
    const struct calltree *t;
    int64_t *cursors;   /* by level: where the next bar of the current caller begins */
    int64_t *others;    /* by node: the totals of its omitted callees */
    uint32_t *names;    /* by label: its index + 1 */
    double total_least; /* of a node that is shown */
};

static int64_t whole(double v)
{
    return v < 9e18 ? (int64_t)(v + 0.5) : INT64_MAX;
}

static void put(struct layout *l, uint32_t depth, int64_t x, int64_t total, int64_t self,
                int64_t name)
{
    struct flame_level *level = &l->f->levels[depth];
    int64_t bar[] = {x - level->end, total, self, name};
    for (size_t i = 0; i < 4; i++) {
        int64_t *value =
            ARRAY_APPEND(&l->f->arena, level->values, level->count, level->cap);
        if (value)
            *value = bar[i];
    }
    level->end = x + total;
    if (depth >= l->f->level_count)
        l->f->level_count = depth + 1;
    if (self > l->f->self_max)
        l->f->self_max = self;
}

static int64_t add_name(struct layout *l, struct str name)
{
    struct str *item =
        ARRAY_APPEND(&l->f->arena, l->f->names, l->f->name_count, l->f->name_cap);
    if (!item)
        return 0;
    *item = arena_str(&l->f->arena, name);
    return (int64_t)l->f->name_count - 1;
}

static int64_t name_of(struct layout *l, uint32_t node)
{
    string_id label = l->t->nodes[node].label;
    if (node == 0)
        return NAME_TOTAL;
    if (!l->names[label])
        l->names[label] = (uint32_t)add_name(l, calltree_label(l->t, node)) + 1;
    return (int64_t)l->names[label] - 1;
}

static void put_node(struct layout *l, uint32_t node)
{
    const struct calltree_node *n = &l->t->nodes[node];
    int64_t x = l->cursors[n->depth], total = whole(n->total);
    put(l, n->depth, x, total, whole(n->self), name_of(l, node));
    l->cursors[n->depth] = x + total;
    l->cursors[n->depth + 1] = x;
    if (l->others[node]) {
        put(l, n->depth + 1, x, l->others[node], l->others[node], NAME_OTHER);
        l->cursors[n->depth + 1] = x + l->others[node];
    }
}

/* The total of the node that is the last of the largest ones. */
static double least_total(const struct calltree *t, size_t nodes, struct arena *a)
{
    struct sort_key *keys = NULL;
    if (!nodes || nodes >= t->count)
        return 0;
    keys = arena_zalloc(a, 2 * t->count, sizeof *keys);
    if (!keys)
        return 0;
    for (size_t i = 0; i < t->count; i++)
        keys[i] = (struct sort_key){UINT64_MAX - (uint64_t)whole(t->nodes[i].total),
                                    (uint32_t)i};
    sort_keys(keys, t->count, keys + t->count);
    return t->nodes[keys[nodes - 1].id].total;
}

/* A node that is omitted has no callee that is shown. */
static void sum_others(struct layout *l)
{
    for (uint32_t i = 1; i < l->t->count;) {
        const struct calltree_node *n = &l->t->nodes[i];
        bool shown = n->total >= l->total_least;
        if (!shown)
            l->others[n->parent] += whole(n->total);
        i = shown ? i + 1 : n->end;
    }
}

static void lay_out(struct layout *l, struct arena *a, size_t nodes)
{
    struct flame_levels *f = l->f;
    const struct calltree *t = l->t;
    f->levels = arena_zalloc(&f->arena, (size_t)t->depth + 3, sizeof *f->levels);
    l->cursors = arena_zalloc(a, (size_t)t->depth + 3, sizeof *l->cursors);
    l->others = arena_zalloc(a, t->count + 1, sizeof *l->others);
    l->names = arena_zalloc(a, t->paths.labels.count + 1, sizeof *l->names);
    l->total_least = least_total(t, nodes, a);
    if (a->failed || f->arena.failed)
        return;
    add_name(l, STR("total"));
    add_name(l, STR("other"));
    sum_others(l);
    f->total = t->count ? whole(t->nodes[0].total) : 0;
    for (uint32_t i = 0; i < t->count;) {
        bool shown = i == 0 || t->nodes[i].total >= l->total_least;
        if (shown)
            put_node(l, i);
        i = shown ? i + 1 : t->nodes[i].end;
    }
}

bool flame_levels_init(struct flame_levels *f, const struct profile *p, size_t nodes,
                       struct error *err)
{
    struct calltree_options options = {.order = CALLTREE_BY_SIZE};
    struct arena scratch = {0};
    struct calltree t;
    *f = (struct flame_levels){0};
    if (!calltree_init(&t, p, &options, err))
        return false;
    struct layout l = {.f = f, .t = &t};
    lay_out(&l, &scratch, nodes);
    bool ok = !scratch.failed && !f->arena.failed;
    arena_deinit(&scratch);
    calltree_deinit(&t);
    return ok || error_memory(err);
}

void flame_levels_deinit(struct flame_levels *f)
{
    arena_deinit(&f->arena);
}
