/* SPDX-License-Identifier: Apache-2.0 */
/* The code in a .stoke file: its sources, and the addresses with samples. Their instructions
 * would need a disassembler, which the page does not have. */
#include "base/sort.h"
#include "web/core/core.h"

#define FUNCTIONS_MOST 1000
#define EVENT 1 /* that of stoke annotate: the first one; 0 is "none" */

void reply_texts(struct json_writer *w, const struct code *c)
{
    json_begin(w, JSON_ARRAY);
    for (size_t i = 1; c && i < c->source_count; i++) {
        json_begin(w, JSON_ARRAY);
        json_put_str(w, code_string(c, c->sources[i].name));
        json_put_str(w, code_string(c, c->sources[i].text));
        json_end(w, JSON_ARRAY);
    }
    json_end(w, JSON_ARRAY);
}

/* What a function consists of, in the order of addresses. */
struct listing {
    const struct code *code;
    const struct code_function *function;
    uint32_t *rows, *notes, *spots; /* indexes; notes: of inlined functions */
    size_t note_count, spot_count;
};

static bool row_before(const void *context, uint32_t x, uint32_t y)
{
    const struct code_row *rows = ((const struct code *)context)->rows;
    return rows[x].address < rows[y].address;
}

static bool note_before(const void *context, uint32_t x, uint32_t y)
{
    const struct code_note *notes = ((const struct code *)context)->notes;
    return notes[x].address < notes[y].address;
}

static bool spot_before(const void *context, uint32_t x, uint32_t y)
{
    const struct code_spot *spots = ((const struct code *)context)->spots;
    return spots[x].address < spots[y].address;
}

static uint32_t *indexes_of(struct arena *a, struct code_range range)
{
    uint32_t *all = arena_alloc(a, (2 * range.count + 1) * sizeof *all);
    for (size_t i = 0; all && i < range.count; i++)
        all[i] = (uint32_t)(range.first + i);
    return all;
}

static bool open_listing(struct listing *l, struct arena *a)
{
    const struct code *c = l->code;
    const struct code_function *f = l->function;
    l->rows = indexes_of(a, f->rows);
    l->notes = indexes_of(a, f->notes);
    l->spots = indexes_of(a, f->spots);
    if (!l->rows || !l->notes || !l->spots)
        return false;
    for (size_t i = 0; i < f->notes.count; i++)
        if (c->notes[l->notes[i]].kind == CODE_INLINED)
            l->notes[l->note_count++] = l->notes[i];
    for (size_t i = 0; i < f->spots.count; i++)
        if (c->spots[l->spots[i]].event == EVENT)
            l->spots[l->spot_count++] = l->spots[i];
    sort_u32(l->rows, f->rows.count, l->rows + f->rows.count, row_before, c);
    sort_u32(l->notes, l->note_count, l->notes + f->notes.count, note_before, c);
    sort_u32(l->spots, l->spot_count, l->spots + f->spots.count, spot_before, c);
    return true;
}

static void reply_location(struct json_writer *w, const struct listing *l, size_t row,
                           size_t note)
{
    const struct code *c = l->code;
    const struct code_row *line = row ? &c->rows[l->rows[row - 1]] : NULL;
    if (line && line->line) {
        json_member_str(w, "file", code_string(c, line->file));
        json_member_u64(w, "line", line->line);
    }
    struct str inlined =
        note ? code_string(c, c->notes[l->notes[note - 1]].text) : STR("");
    if (inlined.len)
        json_member_str(w, "inlined", inlined);
}

/* An object per address: a spot is of one CPU. */
static void reply_addresses(struct json_writer *w, const struct listing *l)
{
    const struct code *c = l->code;
    size_t row = 0, note = 0;
    for (size_t i = 0; i < l->spot_count;) {
        uint64_t address = c->spots[l->spots[i]].address, count = 0;
        double weight = 0;
        for (; i < l->spot_count && c->spots[l->spots[i]].address == address; i++) {
            weight += c->spots[l->spots[i]].weight;
            count += c->spots[l->spots[i]].count;
        }
        while (row < l->function->rows.count && c->rows[l->rows[row]].address <= address)
            row++;
        while (note < l->note_count && c->notes[l->notes[note]].address <= address)
            note++;
        json_begin(w, JSON_OBJECT);
        json_member_u64(w, "address", address);
        json_member_double(w, "weight", weight);
        json_member_u64(w, "samples", count);
        reply_location(w, l, row, note);
        json_end(w, JSON_OBJECT);
    }
}

static bool reply_listing(struct json_writer *w, const struct code *c,
                          const struct code_function *f, double weight, uint64_t count)
{
    struct arena a = ARENA_INIT;
    struct listing l = {.code = c, .function = f};
    bool ok = open_listing(&l, &a);
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "name", code_string(c, f->name));
    json_member_str(w, "module", code_string(c, f->module));
    json_member_double(w, "weight", weight);
    json_member_u64(w, "samples", count);
    json_put_key(w, "instructions");
    json_begin(w, JSON_ARRAY);
    if (ok)
        reply_addresses(w, &l);
    json_end(w, JSON_ARRAY);
    json_end(w, JSON_OBJECT);
    arena_deinit(&a);
    return ok;
}

static bool heavier(const void *context, uint32_t x, uint32_t y)
{
    const double *weights = context;
    return weights[x] > weights[y];
}

static bool reply_functions(struct json_writer *w, const struct code *c, struct arena *a)
{
    double *weights = arena_zalloc(a, c->function_count, sizeof *weights);
    uint64_t *counts = arena_zalloc(a, c->function_count, sizeof *counts);
    uint32_t *order = arena_alloc(a, 2 * c->function_count * sizeof *order);
    if (!weights || !counts || !order)
        return false;
    for (size_t i = 0; i < c->spot_count; i++) {
        bool counted = c->spots[i].event == EVENT;
        weights[c->spots[i].function] += counted ? c->spots[i].weight : 0;
        counts[c->spots[i].function] += counted ? c->spots[i].count : 0;
    }
    size_t count = 0;
    for (uint32_t i = 1; i < c->function_count; i++)
        if ((c->functions[i].flags & CODE_INCLUDED) && counts[i])
            order[count++] = i;
    sort_u32(order, count, order + count, heavier, weights);
    bool ok = true;
    for (size_t i = 0; ok && i < count && i < FUNCTIONS_MOST; i++)
        ok = reply_listing(w, c, &c->functions[order[i]], weights[order[i]],
                           counts[order[i]]);
    return ok;
}

bool reply_listings(struct json_writer *w, const struct code *c)
{
    bool any = c && c->event_count > EVENT;
    uint32_t unit = any ? c->events[EVENT].unit : UNIT_COUNT;
    struct arena a = ARENA_INIT;
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "unit", str_of(unit < UNIT_COUNT ? unit_name(unit) : ""));
    json_put_key(w, "functions");
    json_begin(w, JSON_ARRAY);
    bool ok = !any || reply_functions(w, c, &a);
    json_end(w, JSON_ARRAY);
    json_end(w, JSON_OBJECT);
    arena_deinit(&a);
    return ok;
}
