/* SPDX-License-Identifier: Apache-2.0 */
/* The calls for the search, the table of functions and the trees. */
#include "web/core/state.h"

int EXPORT(core_search)(const char *text, uint32_t length, int pattern)
{
    struct json_writer w = begin_reply();
    if (!need_shown() || !search_init(&core.search, &core.shown,
                                      (struct str){text, length}, pattern, &core.err))
        return end_reply(false);
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "functions", core.search.functions);
    json_member_double(&w, "total", core.search.total);
    json_end(&w, JSON_OBJECT);
    return end_reply(true);
}

/* For the palette: functions by a part of their name. */
int EXPORT(core_named)(const char *text, uint32_t length, uint32_t most)
{
    struct json_writer w = begin_reply();
    return end_reply(need_functions() &&
                     reply_named(&w, &core.shown, &core.functions,
                                 (struct str){text, length}, most, &core.err));
}

/* Sorts the functions; with `searched`, only those that match the search. Returns
 * their number. */
int EXPORT(core_functions)(uint32_t sort, int up, int searched)
{
    struct json_writer w = begin_reply();
    if (!need_functions() ||
        !functions_sort(&core.functions, &core.shown, (enum function_sort)sort, up,
                        searched ? core.search.matches : NULL, &core.err))
        return end_reply(false);
    json_put_u64(&w, core.functions.count);
    return end_reply(true);
}

int EXPORT(core_function_rows)(uint32_t from, uint32_t to)
{
    struct json_writer w = begin_reply();
    if (!need_functions())
        return end_reply(false);
    json_begin(&w, JSON_ARRAY);
    for (uint32_t i = from; i < to && i < core.functions.count; i++)
        reply_function(&w, &core.shown, &core.functions, 0, core.functions.order[i]);
    json_end(&w, JSON_ARRAY);
    return end_reply(true);
}

/* The children of a node: an array. */
static void reply_children(struct json_writer *w, const struct tree *t, uint32_t node)
{
    const struct children *c = &t->children;
    json_begin(w, JSON_ARRAY);
    for (uint32_t i = node < t->count ? c->first[node] : 0;
         node < t->count && i < c->first[node + 1]; i++) {
        uint32_t child = c->items[i];
        json_begin(w, JSON_OBJECT);
        json_member_u64(w, "node", child);
        json_member_u64(w, "children", c->first[child + 1] - c->first[child]);
        json_member_double(w, "self", t->self[child]);
        json_member_double(w, "total", t->total[child]);
        if (t->base_total) {
            json_member_double(w, "base_total", t->base_total[child]);
            reply_change(w, "change", &core.shown, tree_label(t, child), PART_TOTAL,
                         t->base_total[child], t->total[child]);
        }
        json_put_key(w, "function");
        reply_function(w, &core.shown, &core.functions,
                       t->process ? t->process[child] : 0, tree_label(t, child));
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

static bool need_tree_rows(uint32_t kind)
{
    return kind < TREE_COUNT && need_tree((enum tree_kind)kind) && need_functions();
}

/* The children of a node, for a tree that is expanded there. */
int EXPORT(core_children)(uint32_t kind, uint32_t node)
{
    struct json_writer w = begin_reply();
    if (!need_tree_rows(kind))
        return end_reply(false);
    reply_children(&w, &core.trees[kind], node);
    return end_reply(true);
}

/* The callers and the callees of the selected function, at most `most` each: an array of both. */
int EXPORT(core_neighbours)(uint32_t most)
{
    struct json_writer w = begin_reply();
    bool ok = true;
    json_begin(&w, JSON_ARRAY);
    for (enum tree_kind kind = TREE_CALLERS; ok && kind <= TREE_CALLEES; kind++) {
        struct neighbours_of of = {&core.trees[kind], core.chosen, most};
        ok = need_tree_rows(kind) &&
             reply_neighbours(&w, &core.shown, &core.functions, &of, &core.err);
    }
    json_end(&w, JSON_ARRAY);
    return end_reply(ok);
}

/* The first child of a node; 0: it has none. */
static uint32_t first_child(const struct tree *t, uint32_t node)
{
    const struct children *c = &t->children;
    return node < t->count && c->first[node] < c->first[node + 1]
               ? c->items[c->first[node]]
               : 0;
}

/* The first child, if it has most of the weight of its parent. Of the root it is always
 * taken. */
static uint32_t heavy_child(const struct tree *t, uint32_t node)
{
    uint32_t child = first_child(t, node);
    return node == 0 || t->total[child] > t->total[node] / 2 ? child : 0;
}

#define HEAVY_STEPS_MOST 200

/* The children of a node, then those of its heaviest child as long as that has most of the
 * weight: an array of levels. A tree is expanded along them. */
int EXPORT(core_heaviest)(uint32_t kind, uint32_t node)
{
    struct json_writer w = begin_reply();
    if (!need_tree_rows(kind))
        return end_reply(false);
    const struct tree *t = &core.trees[kind];
    json_begin(&w, JSON_ARRAY);
    reply_children(&w, t, node);
    uint32_t at = node < t->count ? heavy_child(t, node) : 0;
    for (unsigned step = 1; at && first_child(t, at) && step < HEAVY_STEPS_MOST; step++) {
        reply_children(&w, t, at);
        at = heavy_child(t, at);
    }
    json_end(&w, JSON_ARRAY);
    return end_reply(true);
}

#define WAY_MOST 1000

/* The heaviest node with the label; of equal ones the first, which has the fewest callers. 0: none. */
static uint32_t heaviest_of(const struct tree *t, string_id label)
{
    uint32_t best = 0;
    double most = -1;
    for (uint32_t node = 1; label && node < t->count; node++) {
        if (tree_label(t, node) != label)
            continue;
        double weight = t->total[node] + (t->base_total ? t->base_total[node] : 0);
        best = weight > most ? node : best;
        most = weight > most ? weight : most;
    }
    return best;
}

/* Fills way[], from below the root to the node; returns the number, 0 if it is too deep. */
static size_t way_to(const struct tree *t, uint32_t node, uint32_t *way)
{
    size_t depth = 0;
    for (uint32_t at = node; at; at = t->nodes[at].parent)
        if (++depth > WAY_MOST)
            return 0;
    for (size_t i = depth; i-- > 0; node = t->nodes[node].parent)
        way[i] = node;
    return depth;
}

/* From the root to the heaviest node of a function: the nodes, and the children of the root and of
 * each but the last. A tree is expanded along them. */
int EXPORT(core_way)(uint32_t kind, string_id label)
{
    struct json_writer w = begin_reply();
    uint32_t way[WAY_MOST];
    if (!need_tree_rows(kind))
        return end_reply(false);
    const struct tree *t = &core.trees[kind];
    size_t depth = way_to(t, heaviest_of(t, label), way);
    json_begin(&w, JSON_OBJECT);
    json_put_key(&w, "way");
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; i < depth; i++)
        json_put_u64(&w, way[i]);
    json_end(&w, JSON_ARRAY);
    json_put_key(&w, "levels");
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; i < depth; i++)
        reply_children(&w, t, i ? way[i - 1] : 0);
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
    return end_reply(true);
}
