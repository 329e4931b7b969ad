/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of code in a .stoke file: see base/stoke_format.h and model/code.h. */
#include "base/array.h"
#include "import/stoke_reader.h"
#include "model/code.h"

static struct code *code_of(struct stoke_reader *r)
{
    return r->options->code;
}

static string_id string_at(struct stoke_reader *r, unsigned column, uint32_t row)
{
    return stoke_new_id(r, CODE_STRINGS, r->columns[column][row]);
}

static uint32_t number_at(struct stoke_reader *r, unsigned column, uint32_t row)
{
    uint64_t number = r->columns[column][row];
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

uint32_t stoke_add_code_event(struct stoke_reader *r, uint32_t row)
{
    struct code *c = code_of(r);
    uint32_t unit = number_at(r, 1, row);
    struct code_event *e =
        ARRAY_APPEND(&c->arena, c->events, c->event_count, c->event_cap);
    if (!e)
        return 0;
    *e = (struct code_event){string_at(r, 0, row),
                             unit <= UNIT_EVENTS ? unit : UNIT_COUNT};
    return (uint32_t)c->event_count - 1;
}

uint32_t stoke_add_code_function(struct stoke_reader *r, uint32_t row)
{
    struct code *c = code_of(r);
    uint64_t low = r->columns[7][row], size = r->columns[8][row];
    struct code_function *f =
        ARRAY_APPEND(&c->arena, c->functions, c->function_count, c->function_cap);
    if (!f)
        return 0;
    *f = (struct code_function){.name = string_at(r, 0, row),
                                .module = string_at(r, 1, row),
                                .build_id = string_at(r, 2, row),
                                .path = string_at(r, 3, row),
                                .bytes = string_at(r, 4, row),
                                .why = string_at(r, 5, row),
                                .start = r->columns[6][row],
                                .low = low,
                                .high = size <= UINT64_MAX - low ? low + size : low,
                                .flags = number_at(r, 9, row),
                                .machine = number_at(r, 10, row),
                                .machine_flags = number_at(r, 11, row)};
    return (uint32_t)c->function_count - 1;
}

/* The function of a row; rows are sorted by function. `last` is that of the row before.
 * UINT32_MAX: the row is left out. */
static uint32_t function_at(struct stoke_reader *r, uint32_t row, uint32_t last)
{
    uint64_t stated = r->columns[0][row];
    uint32_t function = stoke_new_id(r, CODE_FUNCTIONS, stated);
    if (function >= last && !function == !stated)
        return function;
    stoke_warn(r, "code without its function");
    return UINT32_MAX;
}

uint32_t stoke_add_code_row(struct stoke_reader *r, uint32_t row)
{
    struct code *c = code_of(r);
    const struct code_row *last = c->row_count ? &c->rows[c->row_count - 1] : NULL;
    uint32_t function = function_at(r, row, last ? last->function : 1);
    if (function == UINT32_MAX)
        return 0;
    struct code_row *to = ARRAY_APPEND(&c->arena, c->rows, c->row_count, c->row_cap);
    if (to)
        *to = (struct code_row){.address = r->columns[1][row],
                                .function = function,
                                .file = string_at(r, 2, row),
                                .line = number_at(r, 3, row)};
    return 0;
}

uint32_t stoke_add_code_note(struct stoke_reader *r, uint32_t row)
{
    struct code *c = code_of(r);
    const struct code_note *last = c->note_count ? &c->notes[c->note_count - 1] : NULL;
    uint32_t function = function_at(r, row, last ? last->function : 1);
    if (function == UINT32_MAX)
        return 0;
    struct code_note *to = ARRAY_APPEND(&c->arena, c->notes, c->note_count, c->note_cap);
    if (to)
        *to = (struct code_note){.address = r->columns[1][row],
                                 .function = function,
                                 .kind = number_at(r, 2, row),
                                 .text = string_at(r, 3, row)};
    return 0;
}

uint32_t stoke_add_code_spot(struct stoke_reader *r, uint32_t row)
{
    struct code *c = code_of(r);
    const struct code_spot *last = c->spot_count ? &c->spots[c->spot_count - 1] : NULL;
    uint32_t function = function_at(r, row, last ? last->function : 0);
    uint32_t event = stoke_new_id(r, CODE_EVENTS, r->columns[1][row]);
    struct code_spot spot = {.address = r->columns[3][row],
                             .count = r->columns[4][row],
                             .function = function,
                             .event = event,
                             .cpu = (uint32_t)r->columns[2][row] - 1};
    memcpy(&spot.weight, &r->columns[5][row], sizeof spot.weight);
    bool is_finite = spot.weight - spot.weight == 0;
    if (!event || !is_finite || spot.count > UINT64_MAX / 2)
        stoke_warn(r, "samples without their event, or with an invalid weight");
    else if (function != UINT32_MAX) {
        struct code_spot *to =
            ARRAY_APPEND(&c->arena, c->spots, c->spot_count, c->spot_cap);
        if (to)
            *to = spot;
    }
    return 0;
}

uint32_t stoke_add_code_source(struct stoke_reader *r, uint32_t row)
{
    struct code *c = code_of(r);
    struct code_source *s =
        ARRAY_APPEND(&c->arena, c->sources, c->source_count, c->source_cap);
    if (s)
        *s = (struct code_source){string_at(r, 0, row), string_at(r, 1, row)};
    return 0;
}
