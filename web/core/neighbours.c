/* SPDX-License-Identifier: Apache-2.0 */
/* The direct callers and callees of the selected function, of all its processes. */
#include "base/sort.h"
#include "web/core/core.h"

struct gathering {
    const struct tree *t;
    struct arena arena;
    double *totals; /* by label */
    uint32_t *labels;
    size_t count;
};

static uint32_t child_at(const struct tree *t, uint32_t i)
{
    return t->children.items[i];
}

static void gather(struct gathering *g, uint32_t node)
{
    const struct children *c = &g->t->children;
    for (uint32_t i = c->first[node]; i < c->first[node + 1]; i++) {
        string_id label = tree_label(g->t, child_at(g->t, i));
        if (g->totals[label] == 0)
            g->labels[g->count++] = label;
        g->totals[label] += g->t->total[child_at(g->t, i)];
    }
}

/* Below the root is the function itself, or the processes that it is in. */
static void gather_all(struct gathering *g, const struct shown *s, string_id label)
{
    const struct children *c = &g->t->children;
    for (uint32_t i = c->first[0]; g->t->count && i < c->first[1]; i++) {
        uint32_t node = child_at(g->t, i);
        if (tree_label(g->t, node) == label)
            gather(g, node);
        else if (s->kind_of_label[tree_label(g->t, node)] >= KIND_PROCESS)
            for (uint32_t k = c->first[node]; k < c->first[node + 1]; k++)
                if (tree_label(g->t, child_at(g->t, k)) == label)
                    gather(g, child_at(g->t, k));
    }
}

static bool is_heavier(const void *context, uint32_t a, uint32_t b)
{
    const double *totals = context;
    return totals[a] > totals[b];
}

bool reply_neighbours(struct json_writer *w, const struct shown *s,
                      const struct functions *f, const struct neighbours_of *of,
                      struct error *err)
{
    struct gathering g = {.t = of->tree};
    size_t labels = s->paths.labels.count;
    g.totals = arena_zalloc(&g.arena, labels, sizeof *g.totals);
    g.labels = arena_alloc(&g.arena, 2 * (of->tree->count + 1) * sizeof *g.labels);
    bool ok = g.totals && g.labels;
    if (ok) {
        gather_all(&g, s, of->label);
        sort_u32(g.labels, g.count, g.labels + of->tree->count + 1, is_heavier, g.totals);
        json_begin(w, JSON_OBJECT);
        json_member_u64(w, "count", g.count);
        json_put_key(w, "rows");
        json_begin(w, JSON_ARRAY);
        for (size_t i = 0; i < g.count && i < of->most; i++) {
            json_begin(w, JSON_OBJECT);
            json_member_double(w, "total", g.totals[g.labels[i]]);
            json_put_key(w, "function");
            reply_function(w, s, f, 0, g.labels[i]);
            json_end(w, JSON_OBJECT);
        }
        json_end(w, JSON_ARRAY);
        json_end(w, JSON_OBJECT);
    }
    arena_deinit(&g.arena);
    return ok || error_memory(err);
}
