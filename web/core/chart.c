/* SPDX-License-Identifier: Apache-2.0 */
#include "web/core/core.h"

/* The number of boxes in one pixel that are checked for a match. */
#define MANY_SEARCHED 256

/* --- Coordinates of boxes ---------------------------------------------------------- */

static double width_of(const struct chart *c, const struct tree *t, uint32_t node)
{
    double weight = c->before ? t->base_total[node] : t->total[node];
    return weight > 0 ? weight : 0;
}

/* The boxes of the node's children, from x on, become the last ones of their row. Returns
 * the number of boxes. Nodes without weight are no children. */
static uint32_t add_children(struct chart *c, const struct tree *t, uint32_t node,
                             double x, uint32_t count)
{
    const struct children *k = &t->children;
    for (uint32_t i = k->first[node]; i < k->first[node + 1]; i++, count++) {
        c->node[count] = k->items[i];
        c->begin[count] = x;
        x += width_of(c, t, k->items[i]);
        c->end[count] = x;
    }
    return count;
}

/* Arranges the boxes row by row: the boxes of a row are in the order of their callers'
 * boxes, so each row is made from the one above it. */
static bool arrange_boxes(struct chart *c, const struct tree *t)
{
    size_t cap = 0;
    uint32_t box = 0, stop = add_children(c, t, 0, 0, 0);
    c->to = stop && c->end[stop - 1] > width_of(c, t, 0) ? c->end[stop - 1]
                                                         : width_of(c, t, 0);
    for (;; c->rows++) {
        c->row_first = arena_grow(&c->arena, c->row_first, &cap, (size_t)c->rows + 2,
                                  sizeof *c->row_first);
        if (!c->row_first)
            return false;
        c->row_first[c->rows] = box;
        if (box == stop)
            break;
        for (c->count = stop; box < stop; box++)
            c->count = add_children(c, t, c->node[box], c->begin[box], c->count);
        stop = c->count;
    }
    c->row_stop = c->row_first + 1;
    return true;
}

static uint32_t longest_row(const struct chart *c)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < c->rows; r++)
        if (c->row_stop[r] - c->row_first[r] > most)
            most = c->row_stop[r] - c->row_first[r];
    return most;
}

bool chart_of_tree(struct chart *c, const struct tree *t, bool before, struct error *err)
{
    *c = (struct chart){.tree = t, .before = before && t->base_total};
    size_t most = (size_t)t->children.first[t->count] + 1;
    c->begin = arena_alloc(&c->arena, most * sizeof *c->begin);
    c->end = arena_alloc(&c->arena, most * sizeof *c->end);
    c->node = arena_alloc(&c->arena, most * sizeof *c->node);
    if (!c->node || !c->end || !c->begin || !arrange_boxes(c, t))
        return error_memory(err);
    levels_init(c, longest_row(c));
    c->made = true;
    return true;
}

void chart_hide_outermost(struct chart *c)
{
    if (c->rows < 2)
        return;
    c->rows--;
    c->row_first++;
    c->row_stop++;
}

void chart_deinit(struct chart *c)
{
    if (!c->tree)
        chart_of_time_deinit(c);
    arena_deinit(&c->arena);
    *c = (struct chart){0};
}

string_id chart_label(const struct chart *c, const struct shown *s, uint32_t box)
{
    return c->tree ? tree_label(c->tree, c->node[box])
                   : path_label(&s->paths, c->node[box]);
}

string_id chart_process(const struct chart *c, const struct shown *s, uint32_t row,
                        uint32_t box)
{
    if (!s->shared.count)
        return 0;
    if (c->tree)
        return c->tree->process ? c->tree->process[c->node[box]] : 0;
    return s->process_of_thread[c->thread_of_row[row]];
}

double chart_waits(const struct chart *c, uint32_t box)
{
    double length = c->end[box] - c->begin[box];
    return c->waited && length > 0 ? (double)c->waited[box] / length : 0;
}

/* --- Drawing ------------------------------------------------------------------------ */

/* Exponential search first, because the result is usually near `at`. */
uint32_t chart_find(const struct chart *c, uint32_t row, uint32_t at, double x)
{
    uint32_t stop = c->row_stop[row], step = 1;
    if (at >= stop || c->end[at] > x)
        return at;
    while (stop - at > step && c->end[at + step] <= x) {
        at += step;
        step *= 2;
    }
    uint32_t low = at + 1, high = stop - at > step ? at + step : stop;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (c->end[middle] > x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* State of drawing one row: of its boxes, or of the spans of a level. */
struct row_drawing {
    const struct chart *chart;
    const struct shown *shown;
    const struct window *window;
    const struct looks *looks;
    const struct level *level; /* NULL: the boxes */
    double scale;              /* pixels per unit */
    uint32_t row, stop;
};

/* A box that waits all the time has a flag; for others, the share of waiting. */
static uint32_t waits_of(const struct tree *t, uint32_t node)
{
    double part = t->total[node] > 0 ? t->waiting[node] / t->total[node] : 0;
    return part >= ALL_WAITS ? (uint32_t)DRAWN_OFF << 16 : (uint32_t)(part * 255) << 24;
}

/* The tone and the kind of the function. */
static uint32_t tone_in(const struct shown *s, const struct looks *looks,
                        string_id process, string_id label, uint32_t *kind)
{
    uint32_t shared = shared_name_in(s, process, label);
    *kind = s->kind_of_label[label];
    if (shared == NONE)
        return looks->tones[label];
    *kind = (uint32_t)s->p->frames[s->shared.frames[shared]].kind;
    return looks->shared[shared];
}

static uint32_t look_of(const struct row_drawing *d, uint32_t box, string_id label,
                        bool off)
{
    const struct chart *c = d->chart;
    const struct shown *s = d->shown;
    const struct looks *looks = d->looks;
    const struct tree *t = c->tree;
    uint32_t node = t ? c->node[box] : 0, kind;
    uint32_t tone = tone_in(s, looks, chart_process(c, s, d->row, box), label, &kind);
    uint32_t flags = s->marks_of_label[label];
    uint32_t waits = t && t->waiting && !c->before ? waits_of(t, node) : 0;
    if ((off || waits >> 16 & DRAWN_OFF) && kind < KIND_PROCESS)
        flags |= DRAWN_OFF;
    if (looks->by == TONE_SELF && t && kind < KIND_PROCESS)
        tone = t->total[node] > 0 ? (uint32_t)(t->self[node] / t->total[node] * 255) : 0;
    if (looks->by == TONE_CHANGE && t && t->base_total && s->changes.made) {
        struct change change =
            change_of(s, label, PART_TOTAL, t->base_total[node], t->total[node]);
        tone = change_tone(&change);
    }
    if (flags & DRAWN_OFF && c->reasons)
        tone = c->reasons[c->node[box]] - 1U;
    if (looks->matches && looks->matches[label])
        flags |= DRAWN_MATCH;
    if (label && label == looks->same)
        flags |= DRAWN_SAME;
    return tone | kind << 8 | flags << 16 | (waits >> 24 << 24);
}

/* Whether one of the first boxes of the range matches. */
static uint32_t match_among(const struct chart *c, const struct shown *s,
                            const struct looks *looks, uint32_t from, uint32_t to)
{
    if (!looks->matches)
        return 0;
    for (uint32_t box = from; box < to && box < from + MANY_SEARCHED; box++)
        if (looks->matches[chart_label(c, s, box)])
            return DRAWN_MATCH;
    return 0;
}

static struct span span_at(const struct row_drawing *d, uint32_t at)
{
    const struct chart *c = d->chart;
    if (d->level)
        return d->level->spans[at];
    return (struct span){c->begin[at], c->end[at], at};
}

/* The first from `at` on that begins at or after `edge`, or is at least a pixel wide. */
static uint32_t skip_narrow(const struct row_drawing *d, uint32_t at, double edge)
{
    const struct chart *c = d->chart;
    double pixel = 1 / d->scale;
    if (d->level) {
        const struct span *spans = d->level->spans;
        while (at < d->stop && spans[at].begin < edge &&
               spans[at].end - spans[at].begin < pixel)
            at++;
        return at;
    }
    uint32_t next = chart_find(c, d->row, at, edge);
    if (next < d->stop && c->begin[next] < edge && c->end[next] - c->begin[next] < pixel)
        next++;
    return next;
}

/* Draws the span at `at` together with all that begin in the same pixel; returns the
 * next one. Gaps are not drawn over. */
static uint32_t draw_span(const struct row_drawing *d, uint32_t at, struct output *out)
{
    const struct window *w = d->window;
    struct span span = span_at(d, at++);
    double left = (span.begin - w->from) * d->scale;
    double right = (span.end - w->from) * d->scale;
    uint32_t flags = 0;
    if (right - left < 1) {
        double pixel = (double)(int64_t)(left < 0 ? 0 : left) + 1;
        uint32_t next = skip_narrow(d, at, w->from + pixel / d->scale);
        uint32_t behind =
            next < d->stop ? span_at(d, next).box : d->chart->row_stop[d->row];
        if (next > at)
            right = (span_at(d, next - 1).end - w->from) * d->scale;
        if (behind > span.box + 1)
            flags =
                (DRAWN_MANY | match_among(d->chart, d->shown, d->looks, span.box, behind))
                << 16;
        at = next;
    }
    left = left < -1 ? -1 : left;
    right = right > w->width + 1 ? w->width + 1 : right;
    string_id label = chart_label(d->chart, d->shown, span.box);
    bool off = chart_waits(d->chart, span.box) >= ALL_WAITS;
    uint32_t look = look_of(d, span.box, label, off);
    if (d->chart->waited && !off && right - left >= 1)
        look |= (uint32_t)(chart_waits(d->chart, span.box) * 255) << 24;
    struct drawn_box drawn = {(float)left, (float)(right - left), d->row, span.box,
                              label,       look | flags};
    output_bytes(out, (const char *)&drawn, sizeof drawn);
    return at;
}

static void draw_row(struct chart *c, const struct shown *s, const struct window *w,
                     const struct looks *looks, uint32_t row, struct output *out)
{
    struct row_drawing d = {.chart = c,
                            .shown = s,
                            .window = w,
                            .looks = looks,
                            .scale = w->width / (w->to - w->from),
                            .row = row};
    d.level = chart_level(c, row, 1 / d.scale);
    d.stop = (d.level ? d.level->row_stop : c->row_stop)[row];
    uint32_t at = d.level ? level_find(d.level, row, w->from)
                          : chart_find(c, row, c->row_first[row], w->from);
    while (at < d.stop && span_at(&d, at).begin < w->to)
        at = draw_span(&d, at, out);
}

void chart_draw(struct chart *c, const struct shown *s, const struct window *w,
                const struct looks *looks, struct output *out)
{
    if (w->width <= 0 || !(w->to > w->from))
        return;
    for (uint32_t row = w->first_row; row < w->last_row && row < c->rows; row++)
        draw_row(c, s, w, looks, row, out);
}
