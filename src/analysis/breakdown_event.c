/* SPDX-License-Identifier: Apache-2.0 */
/* Several events in the rows of one breakdown. Symbols and locations depend on the profile
 * and the options only, so they have the same numbers in the breakdowns of all events;
 * groups depend on the samples and are compared by their values. */
#include "analysis/breakdown.h"
#include "base/array.h"
#include "base/hash.h"

struct lookup {
    const struct breakdown *b;
    const struct breakdown_values *group;
    uint32_t location;
};

static bool same_row(const void *context, uint32_t id)
{
    const struct lookup *l = context;
    const struct breakdown_row *row = &l->b->rows[id];
    return row->location == l->location &&
           memcmp(&l->b->groups[row->group], l->group, sizeof *l->group) == 0;
}

static uint32_t row_hash(const struct breakdown_values *group, uint32_t location)
{
    return (uint32_t)hash_mix(hash_bytes(group, sizeof *group), location ^ HASH_A);
}

static bool index_rows(const struct breakdown *b, struct index *index, size_t more,
                       struct arena *scratch)
{
    if (!index_reserve(index, scratch, b->row_count + more))
        return false;
    for (uint32_t i = 1; i < b->row_count; i++) {
        const struct breakdown_row *row = &b->rows[i];
        struct lookup l = {b, &b->groups[row->group], row->location};
        uint32_t hash = row_hash(l.group, l.location);
        index_fill(index, index_find(index, hash, same_row, &l), hash, i);
    }
    return true;
}

/* Makes room for as many rows and groups as the other breakdown has. */
static bool reserve(struct breakdown *b, const struct breakdown *other)
{
    size_t rows = b->row_count + other->row_count;
    size_t groups = b->group_count + other->group_count + 1;
    if (!ARRAY_RESERVE(&b->arena, b->rows, b->row_cap, rows) ||
        !ARRAY_RESERVE(&b->arena, b->groups, b->group_cap, groups))
        return false;
    if (b->group_count == 0) /* [0] is "none" */
        b->groups[b->group_count++] = (struct breakdown_values){{0}};
    return b->rows && b->groups;
}

/* By group of the other breakdown: the group here, new ones at the end; 0: not yet known. */
static uint32_t group_here(struct breakdown *b, const struct breakdown *other,
                           uint32_t *groups, uint32_t group)
{
    if (!groups[group]) {
        groups[group] = (uint32_t)b->group_count;
        b->groups[b->group_count++] = other->groups[group];
    }
    return groups[group];
}

static void take_rows(struct breakdown *b, const struct breakdown *other,
                      struct index *index, uint32_t *groups)
{
    struct breakdown_figures *figures = b->others[b->other_count - 1].rows;
    for (uint32_t i = 1; i < other->row_count; i++) {
        const struct breakdown_row *row = &other->rows[i];
        struct lookup l = {b, &other->groups[row->group], row->location};
        uint32_t hash = row_hash(l.group, l.location);
        struct index_slot *slot = index_find(index, hash, same_row, &l);
        if (!slot->id) {
            b->rows[b->row_count] =
                (struct breakdown_row){.group = group_here(b, other, groups, row->group),
                                       .location = row->location};
            index_fill(index, slot, hash, (uint32_t)b->row_count++);
        }
        figures[slot->id] =
            (struct breakdown_figures){row->samples, row->self, row->total};
    }
}

static bool add(struct breakdown *b, const struct breakdown *other, struct arena *scratch)
{
    struct index index = {0};
    uint32_t *groups = arena_zalloc(scratch, other->group_count + 1, sizeof *groups);
    if (!groups || !reserve(b, other) ||
        !index_rows(b, &index, other->row_count, scratch))
        return false;
    struct breakdown_other *added =
        ARRAY_APPEND(&b->arena, b->others, b->other_count, b->other_cap);
    if (!added)
        return false;
    *added = (struct breakdown_other){
        .event = other->event,
        .samples = other->samples,
        .total = other->total,
        .left_out = other->left_out,
        .rows = arena_zalloc(&b->arena, b->row_count + other->row_count,
                             sizeof *added->rows)};
    if (!added->rows)
        return false;
    take_rows(b, other, &index, groups);
    added->row_count = b->row_count;
    b->calls |= other->calls;
    return true;
}

bool breakdown_add_event(struct breakdown *b, event_id event, struct error *err)
{
    struct arena scratch = ARENA_INIT;
    struct breakdown other;
    bool ok = breakdown_init(&other, b->p, b->o, event, err);
    if (ok && !add(b, &other, &scratch))
        ok = error_memory(err);
    breakdown_deinit(&other);
    arena_deinit(&scratch);
    return ok;
}
