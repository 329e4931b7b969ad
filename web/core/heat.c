/* SPDX-License-Identifier: Apache-2.0 */
#include "web/core/core.h"

#define CELLS_MAX ((size_t)1 << 20)

bool reply_heat(struct json_writer *w, const struct heat_of *of, double column,
                uint32_t rows, struct error *err)
{
    const struct profile *p = of->p;
    const struct facts *f = &p->facts;
    struct arena a = ARENA_INIT;
    if (f->time_first == TIME_NONE || f->time_last <= f->time_first)
        return error_set(err, "the samples of this profile have no times");
    double span = (double)(f->time_last - f->time_first);
    if (!(column >= 1) || rows == 0 || span / column * rows > (double)CELLS_MAX)
        return error_set(err, "too many cells");
    size_t columns = (size_t)(span / column) + 1;
    double *cells = arena_zalloc(&a, columns * rows, sizeof *cells);
    if (!cells)
        return error_memory(err);
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *sample = &p->samples[i];
        if (sample->event != of->event || sample->time == TIME_NONE ||
            sample->time < f->time_first || sample->time > f->time_last)
            continue;
        double slot = (double)(sample->time - f->time_first) / column * rows;
        size_t cell = (size_t)slot;
        if (cell < columns * rows)
            cells[cell] += of->count ? (double)sample->count : sample->weight;
    }
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "columns", columns);
    json_member_u64(w, "rows", rows);
    json_member_double(w, "column", column);
    json_member_double(w, "span", span);
    json_put_key(w, "cells");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < columns * rows; i++)
        json_put_double(w, cells[i]);
    json_end(w, JSON_ARRAY);
    json_end(w, JSON_OBJECT);
    arena_deinit(&a);
    return true;
}
