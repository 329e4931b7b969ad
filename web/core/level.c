/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes at low zoom: rows with many boxes are summed up, level by level, so that
 * drawing visits only what is drawn and not every box. */
#include "web/core/core.h"
#include <math.h>

#define BUSY 4096 /* minimum boxes of a row that is summed up */
#define BOXES_A_CELL 8
#define COARSER 4 /* the ratio of a level's cells to those of the level below */
#define CELLS_LEAST 512

static bool append(struct level *l, struct arena *a, const struct span *span)
{
    struct span *spans = arena_grow(a, l->spans, &l->cap, l->count + 1, sizeof *spans);
    if (!spans)
        return false;
    l->spans = spans;
    spans[l->count++] = *span;
    return true;
}

/* Boxes of the row that begin in the same cell and are narrower than it become one span. */
static bool sum_up(struct level *l, struct chart *c, uint32_t row)
{
    double edge = 0; /* of the cell in which the last span may grow */
    for (uint32_t box = c->row_first[row]; box < c->row_stop[row]; box++) {
        bool narrow = c->end[box] - c->begin[box] < l->cell;
        if (narrow && c->begin[box] < edge) {
            l->spans[l->count - 1].end = c->end[box];
            continue;
        }
        struct span span = {c->begin[box], c->end[box], box};
        if (!append(l, &c->arena, &span))
            return false;
        edge = narrow ? (floor(span.begin / l->cell) + 1) * l->cell : 0;
    }
    return true;
}

/* A row that does not get much shorter, or that needs too much memory, is omitted: a finer level is
 * used. */
static void add_row(struct level *l, struct chart *c, uint32_t row)
{
    size_t before = l->count;
    if (!sum_up(l, c, row) ||
        l->count - before > (c->row_stop[row] - c->row_first[row]) / 2)
        l->count = before;
    l->row_first[row] = (uint32_t)before;
    l->row_stop[row] = (uint32_t)l->count;
}

void levels_init(struct chart *c, uint32_t most)
{
    if (most < BUSY || !(c->to > 0))
        return;
    double cells = (double)most / BOXES_A_CELL;
    for (; c->level_count < LEVELS_MAX && cells >= CELLS_LEAST; cells /= COARSER) {
        struct level *l = &c->levels[c->level_count];
        *l = (struct level){.cell = c->to / cells};
        l->row_first = arena_alloc(&c->arena, 2 * (size_t)c->rows * sizeof *l->row_first);
        if (!l->row_first)
            return;
        memset(l->row_first, 0xff, c->rows * sizeof *l->row_first); /* NONE */
        l->row_stop = l->row_first + c->rows;
        c->level_count++;
    }
}

const struct level *chart_level(struct chart *c, uint32_t row, double pixel)
{
    if (c->row_stop[row] - c->row_first[row] < BUSY)
        return NULL;
    for (unsigned i = c->level_count; i-- > 0;) {
        struct level *l = &c->levels[i];
        if (l->cell > pixel)
            continue;
        if (l->row_first[row] == NONE)
            add_row(l, c, row);
        if (l->row_stop[row] > l->row_first[row])
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
