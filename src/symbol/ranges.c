/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/ranges.h"
#include <stdlib.h>

/* Sets the owner from `at` on. */
static void append(struct ranges *r, uint64_t at, uint32_t owner)
{
    if (r->count && r->starts[r->count - 1] == at)
        r->count--; /* its part is empty */
    if (r->count ? r->owners[r->count - 1] == owner : owner == RANGE_NONE)
        return;
    r->starts[r->count] = at;
    r->owners[r->count++] = owner;
}

bool ranges_begin(struct ranges *r, size_t count, struct arena *arena)
{
    size_t most = 2 * count + 1;
    *r = (struct ranges){.starts = arena_alloc(arena, most * sizeof *r->starts),
                         .owners = arena_alloc(arena, most * sizeof *r->owners)};
    return r->starts && r->owners;
}

void ranges_lay(struct ranges *r, uint64_t start, uint64_t end, uint32_t owner)
{
    append(r, start, owner);
    append(r, end, RANGE_NONE);
}

/* A sweep over the address space. A heap contains the ranges that cover the current
 * position, with the owner on top; ranges that have ended are removed when they reach
 * the top. */
struct sweep {
    const struct range *items;
    uint32_t *heap;
    size_t heap_count;
    struct ranges *to;
};

static bool is_higher(const struct sweep *s, size_t a, size_t b)
{
    return s->items[s->heap[a]].rank > s->items[s->heap[b]].rank;
}

static void swap_heap(struct sweep *s, size_t a, size_t b)
{
    uint32_t swapped = s->heap[a];
    s->heap[a] = s->heap[b];
    s->heap[b] = swapped;
}

static void heap_push(struct sweep *s, uint32_t item)
{
    size_t at = s->heap_count++;
    s->heap[at] = item;
    for (; at > 0 && is_higher(s, at, (at - 1) / 2); at = (at - 1) / 2)
        swap_heap(s, at, (at - 1) / 2);
}

static void heap_pop(struct sweep *s)
{
    size_t at = 0;
    s->heap[0] = s->heap[--s->heap_count];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < s->heap_count && is_higher(s, child + 1, child))
            child++;
        if (child >= s->heap_count || !is_higher(s, child, at))
            return;
        swap_heap(s, child, at);
        at = child;
    }
}

static void sweep(struct sweep *s, size_t count)
{
    size_t next = 0;
    while (next < count || s->heap_count) {
        uint64_t at = next < count ? s->items[next].start : UINT64_MAX;
        if (s->heap_count && (s->items[s->heap[0]].end <= at || next == count)) {
            at = s->items[s->heap[0]].end;
            while (s->heap_count && s->items[s->heap[0]].end <= at)
                heap_pop(s);
        } else {
            heap_push(s, (uint32_t)next++);
        }
        append(s->to, at, s->heap_count ? s->items[s->heap[0]].owner : RANGE_NONE);
    }
}

bool ranges_init(struct ranges *r, const struct range *items, size_t count,
                 struct arena *arena)
{
    struct sweep s = {.items = items, .to = r};
    bool ok = ranges_begin(r, count, arena);
    s.heap = malloc((count + 1) * sizeof *s.heap);
    ok &= s.heap != NULL;
    if (ok)
        sweep(&s, count);
    free(s.heap);
    return ok;
}

/* The part that contains an address; NULL before the first. */
static const uint64_t *find_part(const struct ranges *r, uint64_t address)
{
    const uint64_t *at = r->starts;
    size_t left = r->count;
    if (left == 0 || address < at[0])
        return NULL;
    while (left > 1) {
        size_t half = left / 2, next = (left - half) / 2;
        /* Both positions that may be read next. */
        __builtin_prefetch(at + next);
        __builtin_prefetch(at + half + next);
        at += at[half] <= address ? half : 0;
        left -= half;
    }
    return at;
}

uint32_t ranges_find(const struct ranges *r, uint64_t address)
{
    const uint64_t *at = find_part(r, address);
    return at ? r->owners[at - r->starts] : RANGE_NONE;
}

uint64_t ranges_start(const struct ranges *r, uint64_t address)
{
    const uint64_t *at = find_part(r, address);
    return at ? *at : 0;
}

uint64_t ranges_end(const struct ranges *r, uint64_t address)
{
    const uint64_t *at = find_part(r, address);
    size_t next = at ? (size_t)(at - r->starts) + 1 : 0;
    return next < r->count ? r->starts[next] : UINT64_MAX;
}
