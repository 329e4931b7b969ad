/* SPDX-License-Identifier: Apache-2.0 */
#include "export/svg_layout.h"
#include "base/array.h"

/* A pass over the tree from its root. */
struct walk {
    const struct calltree *tree;
    const struct svg_layout_options *options;
    struct svg_layout *layout;
    uint32_t *row_of_depth; /* from the root to the current node */
    double *next_x;         /* by row: the start of the next callee of its open box */
    double *x_of_depth; /* in time: the start of the current node and of its callers */
    uint32_t shown; /* frames shown at both ends of a run; 0: runs are not shortened */
    bool dry;       /* only counts rows */
};

static bool add_box(struct walk *w, struct svg_box box)
{
    struct svg_layout *l = w->layout;
    if (box.row >= l->rows)
        l->rows = box.row + 1;
    if (w->dry)
        return true;
    struct svg_box *added = ARRAY_APPEND(&l->arena, l->boxes, l->count, l->cap);
    if (!added)
        return false;
    box.x = box.row ? w->next_x[box.row - 1] + box.gap : 0;
    if (box.row)
        w->next_x[box.row - 1] = box.x + svg_box_width(l, &box);
    w->next_x[box.row] = box.x + svg_box_lead(&box, l->before);
    *added = box;
    return true;
}

/* Flame chart: boxes are at the time when they begin. */
static bool is_in_time(const struct walk *w)
{
    return w->tree->offsets && !w->tree->base;
}

/* The width between a node and the box beside it: its caller's self weight, and
 * callees that are too narrow. */
static double gap_before(struct walk *w, uint32_t node, uint32_t row)
{
    double offset = w->tree->offsets[node], *caller_x = w->x_of_depth;
    uint32_t depth = w->tree->nodes[node].depth;
    double end = row ? w->next_x[row - 1] : 0;
    double x = depth && offset >= 0 ? caller_x[depth - 1] + offset : end;
    caller_x[depth] = x > end ? x : end;
    return caller_x[depth] - end;
}

static bool add_node(struct walk *w, uint32_t node, uint32_t row, enum svg_box_kind kind,
                     uint32_t hidden)
{
    const struct calltree_node *n = &w->tree->nodes[node];
    bool in_time = is_in_time(w) && !w->dry;
    double factor = w->options->base_factor;
    return add_box(w, (struct svg_box){.node = node,
                                       .row = row,
                                       .kind = kind,
                                       .hidden = hidden,
                                       .total = n->total,
                                       .base = n->base_total * factor,
                                       .lead = in_time ? 0 : n->self,
                                       .base_lead = n->base_self * factor,
                                       .gap = in_time ? gap_before(w, node, row) : 0});
}

/* Whether a node has a single callee and no self weight. */
static bool passes_on(const struct calltree *t, uint32_t node)
{
    const struct calltree_node *n = &t->nodes[node], *callee = n + 1;
    return node + 1 < n->end && callee->end == n->end && n->elided_at == 0 &&
           callee->total >= n->total && callee->base_total >= n->base_total;
}

/* The number of nodes, from this one on, each of which calls only the next. */
static uint32_t run_length(const struct calltree *t, uint32_t node)
{
    uint32_t last = node;
    while (passes_on(t, last))
        last++;
    return last - node + 1;
}

/* Draws a run, shortened if it is long. */
static bool add_run(struct walk *w, uint32_t node, uint32_t row, uint32_t length)
{
    uint32_t shown = w->shown && length > 2 * w->shown + 1 ? w->shown : length;
    uint32_t hidden = length - shown > shown ? length - 2 * shown : 0;
    uint32_t depth = w->tree->nodes[node].depth;
    for (uint32_t i = 0; i < length; i++) {
        if (hidden && i > shown && i < shown + hidden)
            continue;
        bool summary = hidden && i == shown;
        w->row_of_depth[depth + i] = row;
        if (summary)
            w->row_of_depth[depth + i + hidden - 1] = row;
        if (!add_node(w, node + i, row++, summary ? SVG_BOX_RUN : SVG_BOX_FRAME,
                      summary ? hidden : 0))
            return false;
        if (summary && w->x_of_depth)
            w->x_of_depth[depth + i + hidden - 1] = w->x_of_depth[depth + i];
    }
    return true;
}

/* After the callees of a frame: a box for those that are too narrow. */
static bool add_narrow(struct walk *w, uint32_t node)
{
    const struct calltree_node *all = w->tree->nodes;
    const struct calltree_elided *elided = calltree_elided(w->tree, node);
    double share = w->options->min_share;
    if (!elided->count || w->dry)
        return true;
    bool in_time = is_in_time(w); /* they are part of the gaps */
    uint32_t row = w->row_of_depth[all[node].depth] + 1;
    bool wide = (elided->total > 0 && elided->total >= share * all->total) ||
                (elided->base_total > 0 && elided->base_total >= share * all->base_total);
    if (wide && !in_time && row < w->options->max_rows)
        return add_box(
            w, (struct svg_box){.node = node,
                                .row = row,
                                .kind = SVG_BOX_NARROW,
                                .hidden = elided->count,
                                .total = elided->total,
                                .base = elided->base_total * w->options->base_factor});
    w->layout->narrow_frames += elided->count;
    w->layout->narrow_total += elided->total;
    return true;
}

/* Ends the frames that `next` is not a callee of. */
static bool close_frames(struct walk *w, uint32_t node, uint32_t next)
{
    const struct calltree_node *nodes = w->tree->nodes;
    for (; nodes[node].end == next; node = nodes[node].parent) {
        if (!add_narrow(w, node))
            return false;
        if (node == 0)
            break;
    }
    return true;
}

static bool walk_tree(struct walk *w)
{
    const struct calltree *t = w->tree;
    uint32_t limit = w->dry ? UINT32_MAX : w->options->max_rows - 1;
    for (uint32_t node = 0; node < t->count;) {
        const struct calltree_node *n = &t->nodes[node];
        uint32_t row = node ? w->row_of_depth[n->depth - 1] + 1 : 0, last;
        bool ok;
        if (row >= limit && node + 1 < n->end) {
            /* Its narrow callees are part of the box. */
            ok = add_node(w, node, row, SVG_BOX_DEEP, n->end - node);
            node = n->end;
            ok = ok && close_frames(w, n->parent, node);
        } else {
            uint32_t length = w->shown ? run_length(t, node) : 1;
            if (row + length > limit && row + 2 * w->shown + 1 > limit)
                length = 1; /* it crosses the limit: draw frame by frame up to there */
            ok = add_run(w, node, row, length);
            last = node + length - 1;
            node += length;
            ok = ok && (t->nodes[last].end != node || close_frames(w, last, node));
        }
        if (!ok)
            return false;
    }
    return true;
}

/* Chooses how many frames of long runs are shown, so that the tree fits if possible. */
static uint32_t choose_shown(struct walk *w)
{
    static const uint32_t choices[] = {32, 8, 2};
    uint32_t shown = 0;
    if (w->tree->depth < w->options->max_rows)
        return 0;
    w->dry = true;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        w->layout->rows = 0;
        w->shown = shown = choices[i];
        walk_tree(w);
        if (w->layout->rows <= w->options->max_rows)
            break;
    }
    w->layout->rows = 0;
    w->dry = false;
    return shown;
}

bool svg_layout_init(struct svg_layout *l, const struct calltree *t,
                     const struct svg_layout_options *options, struct error *err)
{
    *l = (struct svg_layout){.before = options->before};
    struct walk w = {.tree = t, .options = options, .layout = l};
    w.row_of_depth = arena_alloc(&l->arena, (t->depth + 1) * sizeof *w.row_of_depth);
    w.next_x = arena_alloc(&l->arena, (options->max_rows + 1) * sizeof *w.next_x);
    if (t->offsets)
        w.x_of_depth = arena_alloc(&l->arena, (t->depth + 1) * sizeof *w.x_of_depth);
    if (!w.row_of_depth || !w.next_x || (t->offsets && !w.x_of_depth)) {
        svg_layout_deinit(l);
        return error_memory(err);
    }
    l->total = options->total > t->nodes[0].total ? options->total : t->nodes[0].total;
    l->base = t->nodes[0].base_total * options->base_factor;
    w.shown = choose_shown(&w);
    if (!walk_tree(&w)) {
        svg_layout_deinit(l);
        return error_memory(err);
    }
    return true;
}

void svg_layout_deinit(struct svg_layout *l)
{
    arena_deinit(&l->arena);
    *l = (struct svg_layout){0};
}
