/* SPDX-License-Identifier: Apache-2.0 */
#include "model/code.h"
#include "base/array.h"

bool code_init(struct code *c)
{
    *c = (struct code){.arena = ARENA_INIT};
    c->event_count = c->function_count = c->source_count = 1;
    bool ok = strings_init(&c->strings, &c->arena) &&
              ARRAY_RESERVE_ZEROED(&c->arena, c->events, c->event_cap, 1) &&
              ARRAY_RESERVE_ZEROED(&c->arena, c->functions, c->function_cap, 1) &&
              ARRAY_RESERVE_ZEROED(&c->arena, c->sources, c->source_cap, 1);
    return ok;
}

void code_deinit(struct code *c)
{
    arena_deinit(&c->arena);
    *c = (struct code){.arena = ARENA_INIT};
}

static void add_to(struct code_range *range, size_t at)
{
    if (range->count++ == 0)
        range->first = at;
}

void code_index(struct code *c)
{
    for (size_t i = 0; i < c->function_count; i++) {
        struct code_function *f = &c->functions[i];
        f->rows = f->notes = f->spots = (struct code_range){0, 0};
    }
    for (size_t i = 0; i < c->row_count; i++)
        add_to(&c->functions[c->rows[i].function].rows, i);
    for (size_t i = 0; i < c->note_count; i++)
        add_to(&c->functions[c->notes[i].function].notes, i);
    for (size_t i = 0; i < c->spot_count; i++)
        add_to(&c->functions[c->spots[i].function].spots, i);
}
