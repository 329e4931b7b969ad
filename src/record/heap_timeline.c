/* SPDX-License-Identifier: Apache-2.0 */
#include "record/heap_timeline.h"
#include "base/array.h"

#define SHIFT_FIRST 16 /* some 30 microseconds */
#define SHIFT_MOST 56
#define SLICES_FIRST ((size_t)1 << 16)

/* More slices than this for each site, on average, show no more, but cost time and memory. */
#define SLICES_OF_SITE 8

void heap_timeline_init(struct heap_timeline *t)
{
    *t = (struct heap_timeline){.shift = SHIFT_FIRST, .most = SLICES_FIRST};
}

void heap_timeline_deinit(struct heap_timeline *t)
{
    free(t->slices);
    arena_deinit(&t->arena);
    *t = (struct heap_timeline){.slices = NULL};
}

static uint64_t key_of(const struct heap_slice *slice)
{
    return (uint64_t)slice->site << 32 | slice->interval;
}

static void add_slice(struct heap_slice *to, const struct heap_slice *more)
{
    to->bytes += more->bytes;
    to->count += more->count;
    to->temporary += more->temporary;
    to->change += more->change;
    to->leaked += more->leaked;
    to->samples += more->samples;
    to->leaked_samples += more->leaked_samples;
}

/* Makes the intervals twice as long. */
static void coarsen(struct heap_timeline *t)
{
    size_t count = 1;
    arena_deinit(&t->arena);
    t->arena = ARENA_INIT;
    t->numbers = (struct idmap){.count = 0};
    t->shift++;
    for (size_t i = 1; i < t->count; i++) {
        struct heap_slice slice = t->slices[i];
        slice.interval >>= 1;
        uint64_t *number = idmap_put(&t->numbers, &t->arena, key_of(&slice));
        if (!number) {
            t->failed = true;
            return;
        }
        if (*number) {
            add_slice(&t->slices[*number], &slice);
            continue;
        }
        *number = count;
        t->slices[count++] = slice;
    }
    t->count = count;
}

/* Makes the intervals longer until there is room for a slice of that time. Many sites with
 * few slices each get more room. */
static void make_room(struct heap_timeline *t, uint64_t time)
{
    while (!t->failed && t->shift < SHIFT_MOST &&
           (t->count >= t->most || time >> t->shift > UINT32_MAX)) {
        size_t before = t->count;
        coarsen(t);
        if (t->count > before / 4 * 3 && t->count >= t->most / 2 &&
            t->most < t->sites * SLICES_OF_SITE)
            t->most *= 2;
    }
}

struct heap_slice *heap_timeline_at(struct heap_timeline *t, uint32_t site, uint64_t time,
                                    uint32_t *last)
{
    struct heap_slice slice = {.site = site};
    if (*last && *last < t->count) {
        struct heap_slice *at = &t->slices[*last];
        if (at->site == site && at->interval == time >> t->shift)
            return at;
    }
    if (site >= t->sites)
        t->sites = (size_t)site + 1;
    make_room(t, time);
    slice.interval = (uint32_t)(time >> t->shift);
    uint64_t *number = idmap_put(&t->numbers, &t->arena, key_of(&slice));
    if (t->failed || !number || !ARRAY_RESERVE_HEAP(t->slices, t->cap, t->count + 2)) {
        t->failed = true;
        return NULL;
    }
    if (!*number) {
        t->count += t->count == 0;
        *number = t->count;
        t->slices[t->count++] = slice;
    }
    *last = (uint32_t)*number;
    return &t->slices[*number];
}
