/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of code in a .stoke file: see base/stoke_format.h and model/code.h. */
#include "export/stoke_writer.h"

#define PUT_COLUMN(w, rows, field)     \
    for (size_t i = from; i < to; i++) \
    stoke_put((w), (w)->code->rows[i].field)

#define PUT_DELTAS(w, rows, field)                                                   \
    for (uint64_t i = from, before = 0; i < to; before = (w)->code->rows[i++].field) \
    stoke_put_signed((w), (w)->code->rows[i].field - before)

static void put_strings(struct stoke_writer *w, size_t from, size_t to)
{
    stoke_put_string_rows(w, &w->code->strings, from, to);
}

static void put_events(struct stoke_writer *w, size_t from, size_t to)
{
    PUT_COLUMN(w, events, name);
    PUT_COLUMN(w, events, unit);
}

static void put_functions(struct stoke_writer *w, size_t from, size_t to)
{
    PUT_COLUMN(w, functions, name);
    PUT_COLUMN(w, functions, module);
    PUT_COLUMN(w, functions, build_id);
    PUT_COLUMN(w, functions, path);
    PUT_COLUMN(w, functions, bytes);
    PUT_COLUMN(w, functions, why);
    PUT_DELTAS(w, functions, start);
    PUT_DELTAS(w, functions, low);
    for (size_t i = from; i < to; i++)
        stoke_put(w, w->code->functions[i].high - w->code->functions[i].low);
    PUT_COLUMN(w, functions, flags);
    PUT_COLUMN(w, functions, machine);
    PUT_COLUMN(w, functions, machine_flags);
}

static void put_rows(struct stoke_writer *w, size_t from, size_t to)
{
    PUT_COLUMN(w, rows, function);
    PUT_DELTAS(w, rows, address);
    PUT_COLUMN(w, rows, file);
    PUT_COLUMN(w, rows, line);
}

static void put_notes(struct stoke_writer *w, size_t from, size_t to)
{
    PUT_COLUMN(w, notes, function);
    PUT_DELTAS(w, notes, address);
    PUT_COLUMN(w, notes, kind);
    PUT_COLUMN(w, notes, text);
}

static void put_spots(struct stoke_writer *w, size_t from, size_t to)
{
    PUT_COLUMN(w, spots, function);
    PUT_COLUMN(w, spots, event);
    for (size_t i = from; i < to; i++)
        stoke_put(w, (uint32_t)(w->code->spots[i].cpu + 1));
    PUT_DELTAS(w, spots, address);
    PUT_COLUMN(w, spots, count);
    for (size_t i = from; i < to; i++)
        stoke_put_weight(w, w->code->spots[i].weight);
}

static void put_sources(struct stoke_writer *w, size_t from, size_t to)
{
    PUT_COLUMN(w, sources, name);
    PUT_COLUMN(w, sources, text);
}

bool stoke_put_code(struct stoke_writer *w)
{
    const struct code *c = w->code;
    return !c ||
           (stoke_put_table(w, "CSTR", 1, c->strings.count, &c->strings, put_strings) &&
            stoke_put_table(w, "CEVT", 1, c->event_count, NULL, put_events) &&
            stoke_put_table(w, "CFUN", 1, c->function_count, NULL, put_functions) &&
            stoke_put_table(w, "CSPT", 0, c->spot_count, NULL, put_spots) &&
            stoke_put_table(w, "CROW", 0, c->row_count, NULL, put_rows) &&
            stoke_put_table(w, "CNTE", 0, c->note_count, NULL, put_notes) &&
            stoke_put_table(w, "CSRC", 1, c->source_count, NULL, put_sources));
}
