/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/flame.h"
#include "base/array.h"

/* --- Paths ------------------------------------------------------------------------- */

/* The node of the path; if it does not exist, the deepest existing node on the path. */
static uint32_t find_node(const struct calltree *t, const struct flame_path *path)
{
    uint32_t node = 0;
    for (size_t at = 0; at < path->size;) {
        struct str label = str_of(path->labels + at);
        uint32_t child = node + 1, end = t->nodes[node].end;
        while (child < end && !str_equal(calltree_label(t, child), label))
            child = t->nodes[child].end;
        if (child >= end)
            break;
        node = child;
        at += label.len + 1;
    }
    return node;
}

/* The path of a node, truncated if it is too long. */
static void write_path(const struct calltree *t, uint32_t node, struct flame_path *path)
{
    size_t size = 0;
    for (uint32_t n = node; n; n = t->nodes[n].parent)
        size += calltree_label(t, n).len + 1;
    while (size > sizeof path->labels) {
        size -= calltree_label(t, node).len + 1;
        node = t->nodes[node].parent;
    }
    path->size = size;
    for (; node; node = t->nodes[node].parent) {
        struct str label = calltree_label(t, node);
        size -= label.len + 1;
        memcpy(path->labels + size, label.ptr, label.len);
        path->labels[size + label.len] = 0;
    }
}

void flame_path_up(struct flame_path *path)
{
    if (path->size == 0)
        return;
    path->size--;
    while (path->size && path->labels[path->size - 1])
        path->size--;
}

/* --- The boxes --------------------------------------------------------------------- */

bool top_flame_init(struct top_flame *f, const struct profile *p, struct error *err)
{
    struct calltree_options o = {.order = CALLTREE_BY_NAME, .threads = THREAD_COMM};
    *f = (struct top_flame){0};
    if (!p || p->sample_count == 0)
        return true;
    f->has_tree = true;
    return calltree_init(&f->tree, p, &o, err);
}

void top_flame_deinit(struct top_flame *f)
{
    if (f->has_tree)
        calltree_deinit(&f->tree);
    *f = (struct top_flame){0};
}

static void add_box(struct top_flame *f, struct flame_box box)
{
    struct flame_box *added = ARRAY_APPEND(&f->tree.arena, f->boxes, f->count, f->cap);
    if (!added)
        return;
    *added = box;
}

/* Callers of the zoomed box are as wide as the screen. */
static void add_callers(struct top_flame *f, unsigned columns)
{
    const struct calltree *t = &f->tree;
    for (uint32_t depth = 0; depth < t->nodes[f->zoomed].depth; depth++) {
        uint32_t node = f->zoomed;
        while (t->nodes[node].depth > depth)
            node = t->nodes[node].parent;
        add_box(f, (struct flame_box){node, depth, 0, columns});
    }
}

void top_flame_lay_out(struct top_flame *f, const struct flame_path *zoom,
                       const struct flame_path *chosen, unsigned columns)
{
    struct calltree *t = &f->tree;
    f->count = 0;
    if (!f->has_tree || t->count == 0)
        return;
    f->zoomed = find_node(t, zoom);
    f->chosen = find_node(t, chosen);
    const struct calltree_node *top = &t->nodes[f->zoomed];
    double *next = arena_zalloc(&t->arena, t->depth + 2, sizeof *next);
    if (!next || top->total <= 0)
        return;
    add_callers(f, columns);
    for (uint32_t i = f->zoomed; i < top->end;) {
        const struct calltree_node *node = &t->nodes[i];
        double from = next[node->depth], to = from + node->total;
        next[node->depth] = to;
        next[node->depth + 1] = from; /* callees start at the same column */
        unsigned first = (unsigned)(from / top->total * columns + 0.5);
        unsigned end = (unsigned)(to / top->total * columns + 0.5);
        end = end < columns ? end : columns;
        if (end <= first) { /* and so are its callees */
            i = node->end;
            continue;
        }
        add_box(f, (struct flame_box){i, node->depth, first, end - first});
        i++;
    }
}

/* --- Navigation -------------------------------------------------------------------- */

static const struct flame_box *box_of(const struct top_flame *f, uint32_t node)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->boxes[i].node == node)
            return &f->boxes[i];
    return NULL;
}

/* The widest callee of a box. */
static const struct flame_box *widest_below(const struct top_flame *f, uint32_t node)
{
    const struct flame_box *widest = NULL;
    for (size_t i = 0; i < f->count; i++) {
        const struct flame_box *box = &f->boxes[i];
        if (box->node && f->tree.nodes[box->node].parent == node &&
            (!widest || box->width > widest->width))
            widest = box;
    }
    return widest;
}

/* The neighbour of a box in its row. */
static const struct flame_box *beside(const struct top_flame *f,
                                      const struct flame_box *box, bool right)
{
    const struct flame_box *last = NULL;
    bool passed = false;
    for (size_t i = 0; i < f->count; i++) {
        const struct flame_box *b = &f->boxes[i];
        if (b->row != box->row)
            continue;
        if (passed && right)
            return b;
        if (b == box && !right)
            return last;
        passed |= b == box;
        last = b;
    }
    return NULL;
}

void top_flame_move(const struct top_flame *f, enum flame_move move,
                    struct flame_path *chosen)
{
    if (!f->has_tree || f->count == 0)
        return;
    const struct flame_box *at = box_of(f, f->chosen), *to = NULL;
    if (!at) /* it became too narrow */
        to = box_of(f, f->zoomed);
    else if (move == FLAME_UP && at->node)
        to = box_of(f, f->tree.nodes[at->node].parent);
    else if (move == FLAME_DOWN)
        to = widest_below(f, at->node);
    else if (move == FLAME_LEFT || move == FLAME_RIGHT)
        to = beside(f, at, move == FLAME_RIGHT);
    if (to)
        write_path(&f->tree, to->node, chosen);
}
