/* SPDX-License-Identifier: Apache-2.0 */
/* The calls for charts: their boxes, and steps from box to box. */
#include "web/core/state.h"
#include <math.h>

#define STACK_MOST 2000 /* limit for the frames of a box's stack */

int EXPORT(core_chart)(uint32_t kind, uint32_t order)
{
    struct json_writer w = begin_reply();
    if (kind >= CHART_COUNT)
        return end_reply(false);
    if (kind == CHART_BEFORE && core.orders[TREE_DOWN] != (enum tree_order)order) {
        forget_tree(TREE_DOWN);
        functions_deinit(&core.functions);
        core.orders[TREE_DOWN] = (enum tree_order)order;
    }
    if (kind < TREE_COUNT && core.orders[kind] != (enum tree_order)order) {
        forget_tree((enum tree_kind)kind);
        if (kind == TREE_DOWN)
            functions_deinit(&core.functions);
        core.orders[kind] = (enum tree_order)order;
    }
    if (!need_chart(kind))
        return end_reply(false);
    const struct chart *c = &core.charts[kind];
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "rows", c->rows);
    json_member_u64(&w, "boxes", c->count);
    json_member_double(&w, "to", c->to);
    json_put_key(&w, "timed");
    json_put_bool(&w, c->timed);
    reply_losses(&w, &core.shown, c);
    json_end(&w, JSON_OBJECT);
    return end_reply(true);
}

/* Of the chart by time, the lanes with a row from `first` to `last`: there may be
 * thousands of them. */
int EXPORT(core_lanes)(uint32_t first, uint32_t last)
{
    struct json_writer w = begin_reply();
    if (!need_chart(CHART_TIME))
        return end_reply(false);
    reply_lanes(&w, &core.shown, &core.charts[CHART_TIME], first, last);
    return end_reply(true);
}

/* The reply is the array of struct drawn_box in the window; an infinite `to` is the end of
 * the axis. */
int EXPORT(core_draw)(uint32_t kind, double from, double to, double width,
                      uint32_t first_row, uint32_t last_row)
{
    begin_reply();
    if (kind >= CHART_COUNT || !need_chart(kind) || !need_tones())
        return end_reply(false);
    if (!chart_need(&core.charts[kind], first_row, last_row, &core.err))
        return end_reply(false);
    double end = core.charts[kind].to > 0 ? core.charts[kind].to : 1;
    struct window window = {from, isinf(to) ? end : to, width, first_row, last_row};
    struct looks looks = {core.tones, core.shared_tones, core.search.matches,
                          core.tone_by, core.chosen};
    chart_draw(&core.charts[kind], &core.shown, &window, &looks, &core.reply);
    return end_reply(true);
}

/* The box at a position; NONE if there is none. */
uint32_t EXPORT(core_hit)(uint32_t kind, uint32_t row, double x)
{
    if (kind >= CHART_COUNT || !core.charts[kind].made || row >= core.charts[kind].rows)
        return NONE;
    struct chart *c = &core.charts[kind];
    if (!chart_need(c, row, row + 1, &core.err))
        return NONE;
    uint32_t box = chart_find(c, row, c->row_first[row], x);
    return box < c->row_stop[row] && c->begin[box] <= x ? box : NONE;
}

/* The names of labels: a JSON array. */
int EXPORT(core_names)(const uint32_t *labels, uint32_t count)
{
    struct json_writer w = begin_reply();
    json_begin(&w, JSON_ARRAY);
    for (uint32_t i = 0; i < count; i++)
        json_put_str(&w, labels[i] < core.shown.paths.labels.count
                             ? strings_get(&core.shown.paths.labels, labels[i])
                             : STR(""));
    json_end(&w, JSON_ARRAY);
    return end_reply(true);
}

static uint32_t node_parent(const struct chart *c, uint32_t node)
{
    return c->tree ? c->tree->nodes[node].parent : core.shown.paths.nodes[node].parent;
}

static string_id node_label(const struct chart *c, uint32_t node)
{
    return c->tree ? tree_label(c->tree, node) : path_label(&core.shown.paths, node);
}

static void reply_weights(struct json_writer *w, const struct tree *t, uint32_t node)
{
    json_member_double(w, "self", t->self[node]);
    json_member_double(w, "total", t->total[node]);
    if (t->base_total) {
        json_member_double(w, "base_total", t->base_total[node]);
        reply_change(w, "change", &core.shown, tree_label(t, node), PART_TOTAL,
                     t->base_total[node], t->total[node]);
    }
    if (t->waiting)
        json_member_double(w, "waiting", t->waiting[node]);
}

/* The frames of a box from it to the root, as names and as labels. */
static void reply_stack(struct json_writer *w, const struct chart *c, uint32_t box)
{
    uint32_t node = c->node[box];
    json_put_key(w, "stack");
    json_begin(w, JSON_ARRAY);
    for (unsigned i = 0; node && i < STACK_MOST; i++, node = node_parent(c, node))
        json_put_str(w, strings_get(&core.shown.paths.labels, node_label(c, node)));
    json_end(w, JSON_ARRAY);
    json_put_key(w, "labels");
    json_begin(w, JSON_ARRAY);
    node = c->node[box];
    for (unsigned i = 0; node && i < STACK_MOST; i++, node = node_parent(c, node))
        json_put_u64(w, node_label(c, node));
    json_end(w, JSON_ARRAY);
}

static uint32_t row_of(const struct chart *c, uint32_t box)
{
    uint32_t row = 0;
    while (box < c->row_first[row] || box >= c->row_stop[row])
        row++;
    return row;
}

static void reply_box(struct json_writer *w, const struct chart *c, uint32_t box)
{
    uint32_t row = row_of(c, box);
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "box", box);
    json_member_u64(w, "row", row);
    json_member_double(w, "from", c->begin[box]);
    json_member_double(w, "to", c->end[box]);
    if (c->tree)
        reply_weights(w, c->tree, c->node[box]);
    if (c->timed) {
        json_put_key(w, "off");
        json_put_bool(w, chart_waits(c, box) >= ALL_WAITS);
        if (c->waited)
            json_member_double(w, "waiting", (double)c->waited[box]);
    }
    json_put_key(w, "function");
    reply_function(w, &core.shown, &core.functions,
                   chart_process(c, &core.shown, row, box), node_label(c, c->node[box]));
    reply_stack(w, c, box);
    json_end(w, JSON_OBJECT);
}

/* A box: its position, its weights, and the frames from it to the root. */
int EXPORT(core_box)(uint32_t kind, uint32_t box)
{
    struct json_writer w = begin_reply();
    if (kind >= CHART_COUNT || !need_chart(kind) || !need_functions())
        return end_reply(false);
    const struct chart *c = &core.charts[kind];
    if (!chart_has(c, box))
        return end_reply(error_set(&core.err, "no such box"));
    reply_box(&w, c, box);
    return end_reply(true);
}

/* The same, and selects its function. */
int EXPORT(core_select)(uint32_t kind, uint32_t box)
{
    if (!core_box(kind, box))
        return 0;
    const struct chart *c = &core.charts[kind];
    choose_label(node_label(c, c->node[box])); /* may free the chart */
    return 1;
}

/* The same for the box at a position; the reply is null if there is none. */
int EXPORT(core_select_at)(uint32_t kind, uint32_t row, double x)
{
    uint32_t box = core_hit(kind, row, x);
    if (box != NONE)
        return core_select(kind, box);
    begin_reply();
    output_text(&core.reply, "null");
    return end_reply(true);
}

/* Of the first row that has one; NONE if no row has one. */
static uint32_t first_box(struct chart *c)
{
    for (uint32_t row = 0; row < c->rows; row++) {
        if (!chart_need(c, row, row + 1, &core.err))
            return NONE;
        if (c->row_stop[row] > c->row_first[row])
            return c->row_first[row];
    }
    return NONE;
}

/* The box next to another: 0 its caller, 1 its first callee, 2 left, 3 right; NONE if
 * there is none. From NONE: the first box of the first row. */
uint32_t EXPORT(core_step)(uint32_t kind, uint32_t box, uint32_t way)
{
    if (kind >= CHART_COUNT || !core.charts[kind].made)
        return NONE;
    struct chart *c = &core.charts[kind];
    if (!chart_has(c, box))
        return first_box(c);
    uint32_t row = row_of(c, box);
    if (way == 2)
        return box > c->row_first[row] ? box - 1 : NONE;
    if (way == 3)
        return box + 1 < c->row_stop[row] ? box + 1 : NONE;
    if (way == 0 && row == 0)
        return NONE;
    uint32_t to = way == 0 ? row - 1 : row + 1;
    if (to >= c->rows)
        return NONE;
    uint32_t found = chart_find(c, to, c->row_first[to], c->begin[box]);
    return found < c->row_stop[to] && c->begin[found] < c->end[box] ? found : NONE;
}

/* The box of the row after `box` (NONE: from its start) that matches; NONE if there is none. */
static uint32_t match_in(const struct chart *c, uint32_t row, uint32_t box, bool back)
{
    uint32_t first = c->row_first[row], count = c->row_stop[row] - first;
    uint32_t passed = box == NONE ? 0 : back ? c->row_stop[row] - box : box - first + 1;
    for (uint32_t i = passed; i < count; i++) {
        uint32_t at = back ? first + count - 1 - i : first + i;
        if (core.search.matches[chart_label(c, &core.shown, at)])
            return at;
    }
    return NONE;
}

/* The next (with `back`, the previous) box whose function matches the search, row by row; NONE if
 * there is none. */
uint32_t EXPORT(core_next_match)(uint32_t kind, uint32_t box, int back)
{
    if (kind >= CHART_COUNT || !core.charts[kind].made || !core.search.matches)
        return NONE;
    struct chart *c = &core.charts[kind];
    uint32_t start = chart_has(c, box) ? row_of(c, box) : 0;
    uint32_t passed = chart_has(c, box) ? box : NONE;
    if (passed == NONE && back && c->rows)
        start = c->rows - 1;
    for (uint32_t i = 0; i <= c->rows && c->rows; i++, passed = NONE) {
        uint32_t row = (back ? start + c->rows - i : start + i) % c->rows;
        if (!chart_need(c, row, row + 1, &core.err))
            return NONE;
        uint32_t found = match_in(c, row, passed, back != 0);
        if (found != NONE)
            return found;
    }
    return NONE;
}
