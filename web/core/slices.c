/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include "web/core/core.h"
#include <math.h>

bool clock_is_cycles(const struct profile *p)
{
    return str_equal(profile_string(p, p->facts.format), STR("trace"));
}

double slice_scale(const struct profile *p, event_id event)
{
    const struct event *e = &p->events[event];
    if (e->unit == UNIT_NANOSECONDS)
        return 1;
    if (e->unit == UNIT_MILLISECONDS)
        return 1e6;
    bool cycles =
        clock_is_cycles(p) && str_equal(profile_string(p, e->name), STR("cycles"));
    return cycles ? 1 : NAN;
}

/* Infinite times come last. */
static uint64_t key_of(const struct slice *s)
{
    return s->begin < 1e19 ? (uint64_t)s->begin : UINT64_MAX;
}

static bool is_sorted(const struct slice *slices, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (slices[i].begin < slices[i - 1].begin)
            return false;
    return true;
}

bool slices_sort(struct slice *slices, size_t count)
{
    struct arena a = ARENA_INIT;
    if (is_sorted(slices, count))
        return true;
    struct sort_key *keys = arena_alloc(&a, 2 * count * sizeof *keys);
    struct slice *before = arena_alloc(&a, count * sizeof *before);
    bool ok = keys && before;
    for (size_t i = 0; ok && i < count; i++) {
        keys[i] = (struct sort_key){key_of(&slices[i]), (uint32_t)i};
        before[i] = slices[i];
    }
    if (ok)
        sort_keys(keys, count, keys + count);
    for (size_t i = 0; ok && i < count; i++)
        slices[i] = before[keys[i].id];
    arena_deinit(&a);
    return ok;
}
