/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle.h"
#include "web/core/core.h"
#include <math.h>

#define CELLS_MAX ((size_t)1 << 20)
/* Samples per cell; with fewer, to read all is faster than to search the ends, and one
 * shows. */
#define CELL_LEAST 256

#define LAST_MOST 4096 /* samples of which the end is considered */

struct cells {
    double *values;
    double *
        starts; /* weights by cell of samples that cover all cells from here on, less those ended */
    int64_t *open; /* and the number of these samples */
    size_t count;
    uint64_t first, last; /* times */
    double column;        /* ns */
    uint32_t rows;        /* of a column */
};

/* The cell of a time, which is not before the first one; `count` if there is none. */
static size_t cell_of(const struct cells *c, uint64_t time)
{
    double cell = (double)(time - c->first) / c->column * c->rows;
    return cell < (double)c->count ? (size_t)cell : c->count;
}

/* Adds a weight to the cells between two times (ns from the first one), to each its part. */
static void spread(const struct cells *c, double begin, double length, double weight)
{
    double width = c->column / c->rows, part = weight * width / length;
    double from = begin > 0 ? begin / width : 0, to = (begin + length) / width;
    to = to < (double)c->count ? to : (double)c->count;
    if (to <= from)
        return;
    size_t first = (size_t)from, last = (size_t)to;
    if (first == last) {
        c->values[first] += part * (to - from);
        return;
    }
    c->values[first] += part * ((double)first + 1 - from);
    c->starts[first + 1] += part;
    c->open[first + 1]++;
    c->starts[last] -= part;
    c->open[last]--;
    if (last < c->count)
        c->values[last] += part * (to - (double)last);
}

static void end_spreading(const struct cells *c)
{
    double weight = 0;
    int64_t open = 0;
    for (size_t i = 0; i < c->count; i++) {
        weight += c->starts[i];
        open += c->open[i];
        weight = open ? weight : 0; /* without errors of rounding */
        c->values[i] += weight;
    }
}

/* ns that a sample stands for, from its time on; of a wait, up to it. NAN: only its time
 * is known. */
static double length_of(const struct heat_of *of, const struct sample *s, double scale)
{
    double rate = of->p->facts.rate;
    if (of->count || !(s->weight > 0))
        return NAN;
    return !isnan(scale) ? s->weight * scale : rate > 0 ? 1e9 / rate : NAN;
}

/* ns from the first sample to the end of the last ones: they last, too. */
static double span_of(const struct heat_of *of)
{
    const struct profile *p = of->p;
    double scale = slice_scale(p, of->event);
    double span = (double)(p->facts.time_last - p->facts.time_first);
    size_t i = p->sample_count > LAST_MOST ? p->sample_count - LAST_MOST : 0;
    for (; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (s->event != of->event || s->time == TIME_NONE ||
            s->time < p->facts.time_first || p->events[s->event].kind == EVENT_WAITING)
            continue;
        double length = length_of(of, s, scale);
        double end =
            (double)(s->time - p->facts.time_first) + (isnan(length) ? 0 : length);
        span = end > span ? end : span;
    }
    return span;
}

static bool are_many(const struct cells *c, const struct heat_of *of)
{
    return of->p->sample_count / c->count >= CELL_LEAST;
}

/* If they are not many, a sample belongs to all the time that it stands for: its time
 * alone would give cells with two and with three samples in turn, although nothing
 * changes. So does each of an instruction trace: it may be longer than a cell. */
static void add_all(const struct cells *c, const struct heat_of *of, const uint8_t *idle)
{
    double scale = slice_scale(of->p, of->event);
    bool many = are_many(c, of) && !clock_is_cycles(of->p);
    bool waits = of->p->events[of->event].kind == EVENT_WAITING;
    for (size_t i = 0; i < of->p->sample_count; i++) {
        const struct sample *s = &of->p->samples[i];
        if (s->event != of->event || s->time == TIME_NONE || s->time < c->first ||
            s->time > c->last || sample_is_idle(of->p, s, idle))
            continue;
        double length = length_of(of, s, scale), at = (double)(s->time - c->first);
        size_t cell = cell_of(c, s->time);
        if (length >= 1 && !many)
            spread(c, waits ? at - length : at, length, s->weight);
        else if (cell < c->count)
            c->values[cell] += of->count ? (double)s->count : s->weight;
    }
    end_spreading(c);
}

/* The first sample after `at` and before `stop` that is not in the cell. */
static size_t end_of_cell(const struct cells *c, const struct profile *p, size_t cell,
                          size_t at, size_t stop)
{
    size_t width = 1, low = at + 1;
    while (stop - at > width && cell_of(c, p->samples[at + width].time) == cell) {
        at += width;
        low = at + 1;
        width *= 2;
    }
    size_t high = stop - at > width ? at + width : stop;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cell_of(c, p->samples[middle].time) == cell)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same from the sums at the ends of each cell: the samples are in the order of their times. */
static void add_by_sums(const struct cells *c, const struct heat_of *of)
{
    const struct profile *p = of->p;
    size_t at = row_at(p, c->first), stop = row_at(p, c->last + 1);
    struct event_sums before = condensed_before(of->sums, of->event, at);
    while (at < stop) {
        size_t cell = cell_of(c, p->samples[at].time);
        if (cell == c->count)
            return;
        at = end_of_cell(c, p, cell, at, stop);
        struct event_sums sums = condensed_before(of->sums, of->event, at);
        c->values[cell] =
            of->count ? sums.count - before.count : sums.weight - before.weight;
        before = sums;
    }
}

static void reply_cells(struct json_writer *w, const struct cells *c, size_t columns,
                        double span)
{
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "columns", columns);
    json_member_u64(w, "rows", c->rows);
    json_member_double(w, "column", c->column);
    json_member_double(w, "span", span);
    json_put_key(w, "cells");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < c->count; i++)
        json_put_double(w, c->values[i]);
    json_end(w, JSON_ARRAY);
    json_end(w, JSON_OBJECT);
}

bool reply_heat(struct json_writer *w, const struct heat_of *of, double column,
                uint32_t rows, struct error *err)
{
    const struct facts *f = &of->p->facts;
    struct arena a = ARENA_INIT;
    if (f->time_first == TIME_NONE || f->time_last <= f->time_first)
        return error_set(err, "the samples of this profile have no times");
    double span = span_of(of);
    if (!(column >= 1) || rows == 0 || span / column * rows > (double)CELLS_MAX)
        return error_set(err, "too many cells");
    size_t columns = (size_t)ceil(span / column);
    columns += columns == 0;
    struct cells cells = {.count = columns * rows,
                          .first = f->time_first,
                          .last = f->time_last,
                          .column = column,
                          .rows = rows};
    cells.values = arena_zalloc(&a, columns * rows, sizeof *cells.values);
    cells.starts = arena_zalloc(&a, columns * rows + 1, sizeof *cells.starts);
    cells.open = arena_zalloc(&a, columns * rows + 1, sizeof *cells.open);
    const uint8_t *idle = of->without_idle ? frames_idle(of->p, &a) : NULL;
    if (a.failed) {
        arena_deinit(&a);
        return error_memory(err);
    }
    if (of->sums && are_many(&cells, of) && !clock_is_cycles(of->p))
        add_by_sums(&cells, of);
    else
        add_all(&cells, of, idle);
    reply_cells(w, &cells, columns, span);
    arena_deinit(&a);
    return true;
}
