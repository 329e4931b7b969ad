/* SPDX-License-Identifier: Apache-2.0 */
#include "web/core/core.h"

#define CELLS_MAX ((size_t)1 << 20)
#define CELL_LEAST \
    256 /* samples per cell; with fewer, to read all is faster than to search the ends */

struct cells {
    double *values;
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

static void add_all(const struct cells *c, const struct heat_of *of)
{
    for (size_t i = 0; i < of->p->sample_count; i++) {
        const struct sample *s = &of->p->samples[i];
        if (s->event != of->event || s->time == TIME_NONE || s->time < c->first ||
            s->time > c->last)
            continue;
        size_t cell = cell_of(c, s->time);
        if (cell < c->count)
            c->values[cell] += of->count ? (double)s->count : s->weight;
    }
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
    double span = (double)(f->time_last - f->time_first);
    if (!(column >= 1) || rows == 0 || span / column * rows > (double)CELLS_MAX)
        return error_set(err, "too many cells");
    size_t columns = (size_t)(span / column) + 1;
    struct cells cells = {.count = columns * rows,
                          .first = f->time_first,
                          .last = f->time_last,
                          .column = column,
                          .rows = rows};
    cells.values = arena_zalloc(&a, columns * rows, sizeof *cells.values);
    if (!cells.values)
        return error_memory(err);
    if (of->sums && of->p->sample_count / cells.count >= CELL_LEAST)
        add_by_sums(&cells, of);
    else
        add_all(&cells, of);
    reply_cells(w, &cells, columns, span);
    arena_deinit(&a);
    return true;
}
