/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes at low zoom: rows with many boxes are summed up, level by level, so that
 * drawing visits only what is drawn and not every box. */
#include "web/core/core.h"

#define BUSY 4096 /* minimum boxes of a row that is summed up */
#define BOXES_A_CELL 8
#define COARSER 4 /* the ratio of a level's cells to those of the level below */
#define CELLS_LEAST 512

struct finer {
    const struct chart *chart;
    const struct level *below; /* NULL: the boxes */
};

/* The span of a box, without its look, which is rarely needed. */
static struct span span_of(const struct finer *s, uint32_t i)
{
    if (s->below)
        return s->below->spans[i];
    return (struct span){s->chart->begin[i], s->chart->end[i], i, 0};
}

static bool append(struct level *l, struct arena *a, const struct span *span)
{
    struct span *spans = arena_grow(a, l->spans, &l->cap, l->count + 1, sizeof *spans);
    if (!spans)
        return false;
    l->spans = spans;
    spans[l->count++] = *span;
    return true;
}

/* One row: boxes that begin in the same cell and are narrower than it become one span.
 * A row that does not get much shorter is omitted, and the levels below are used. */
static bool sum_up_row(struct chart *c, const struct shown *shown, struct level *l,
                       const struct finer *from, uint32_t first, uint32_t stop)
{
    size_t before = l->count;
    int64_t open = -1; /* the cell in which the last span may grow */
    for (uint32_t i = first; i < stop; i++) {
        struct span span = span_of(from, i);
        int64_t cell = (int64_t)(span.begin / l->cell);
        bool narrow = span.end - span.begin < l->cell;
        if (narrow && cell == open) {
            l->spans[l->count - 1].end = span.end;
            continue;
        }
        if (!from->below)
            span = chart_span(c, shown, i);
        if (!append(l, &c->arena, &span))
            return false;
        open = narrow ? cell : -1;
    }
    if (l->count - before > (stop - first) / 2)
        l->count = before;
    return true;
}

static bool add_row(struct chart *c, const struct shown *shown, struct level *l,
                    uint32_t row)
{
    struct finer from = {c, chart_level(c, row, l->cell)};
    uint32_t first = (from.below ? from.below->row_first : c->row_first)[row];
    uint32_t stop = (from.below ? from.below->row_stop : c->row_stop)[row];
    uint32_t begin = (uint32_t)l->count;
    if (c->row_stop[row] - c->row_first[row] < BUSY)
        return true;
    bool ok = sum_up_row(c, shown, l, &from, first, stop);
    if (!ok)
        l->count = begin; /* the level below is used */
    l->row_first[row] = begin;
    l->row_stop[row] = (uint32_t)l->count;
    return ok;
}

void levels_init(struct chart *c, uint32_t most)
{
    if (most < BUSY || !(c->to > 0))
        return;
    double cells = (double)most / BOXES_A_CELL;
    for (; c->level_count < LEVELS_MAX && cells >= CELLS_LEAST; cells /= COARSER) {
        struct level *l = &c->levels[c->level_count];
        *l = (struct level){.cell = c->to / cells};
        l->row_first = arena_zalloc(&c->arena, 2 * (size_t)c->rows, sizeof *l->row_first);
        if (!l->row_first)
            return;
        l->row_stop = l->row_first + c->rows;
        c->level_count++;
    }
}

/* Level by level, so that each is made of the one below it. */
void levels_add(struct chart *c, const struct shown *s, uint32_t first, uint32_t last)
{
    for (unsigned i = 0; i < c->level_count; i++)
        for (uint32_t row = first; row < last; row++)
            if (!add_row(c, s, &c->levels[i], row))
                return;
}

void chart_sum_up(struct chart *c, const struct shown *s)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < c->rows; r++)
        if (c->row_stop[r] - c->row_first[r] > most)
            most = c->row_stop[r] - c->row_first[r];
    levels_init(c, most);
    levels_add(c, s, 0, c->rows);
}

const struct level *chart_level(const struct chart *c, uint32_t row, double pixel)
{
    for (unsigned i = c->level_count; i-- > 0;) {
        const struct level *l = &c->levels[i];
        if (l->cell <= pixel && l->row_stop[row] > l->row_first[row])
            return l;
    }
    return NULL;
}

uint32_t level_find(const struct level *l, uint32_t row, double x)
{
    uint32_t low = l->row_first[row], high = l->row_stop[row];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (l->spans[middle].end > x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
