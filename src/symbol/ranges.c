#include "symbol/ranges.h"
#include <stdlib.h>

/* A walk over the address space. The ranges that cover the place where it is stand in a
 * heap, the answer on top; those that have ended go when they come up. */
struct sweep {
    const struct range *items;
    uint32_t *heap;
    size_t heap_count;
    uint64_t *starts;
    uint32_t *owners;
    size_t count;
};

static bool outranks(const struct sweep *s, size_t a, size_t b)
{
    return s->items[s->heap[a]].rank > s->items[s->heap[b]].rank;
}

static void swap_heap(struct sweep *s, size_t a, size_t b)
{
    uint32_t kept = s->heap[a];
    s->heap[a] = s->heap[b];
    s->heap[b] = kept;
}

static void heap_push(struct sweep *s, uint32_t item)
{
    size_t at = s->heap_count++;
    s->heap[at] = item;
    for (; at > 0 && outranks(s, at, (at - 1) / 2); at = (at - 1) / 2)
        swap_heap(s, at, (at - 1) / 2);
}

static void heap_pop(struct sweep *s)
{
    size_t at = 0;
    s->heap[0] = s->heap[--s->heap_count];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < s->heap_count && outranks(s, child + 1, child))
            child++;
        if (child >= s->heap_count || !outranks(s, child, at))
            return;
        swap_heap(s, child, at);
        at = child;
    }
}

/* From `at` on the range on top is the answer. */
static void sweep_emit(struct sweep *s, uint64_t at)
{
    uint32_t owner = s->heap_count ? s->items[s->heap[0]].owner : RANGE_NONE;
    if (s->count && s->starts[s->count - 1] == at)
        s->count--; /* it was the answer nowhere */
    if (s->count ? s->owners[s->count - 1] == owner : owner == RANGE_NONE)
        return;
    s->starts[s->count] = at;
    s->owners[s->count++] = owner;
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
        sweep_emit(s, at);
    }
}

bool ranges_init(struct ranges *r, const struct range *items, size_t count,
                 struct arena *arena)
{
    size_t most = 2 * count + 1;
    struct sweep s = {.items = items};
    *r = (struct ranges){0};
    s.heap = malloc((count + 1) * sizeof *s.heap);
    s.starts = malloc(most * sizeof *s.starts);
    s.owners = malloc(most * sizeof *s.owners);
    bool ok = s.heap && s.starts && s.owners;
    if (ok) {
        sweep(&s, count);
        r->starts = arena_alloc(arena, (s.count + 1) * sizeof *r->starts);
        r->owners = arena_alloc(arena, (s.count + 1) * sizeof *r->owners);
        ok = r->starts && r->owners;
    }
    if (ok) {
        memcpy(r->starts, s.starts, s.count * sizeof *r->starts);
        memcpy(r->owners, s.owners, s.count * sizeof *r->owners);
        r->count = s.count;
    }
    free(s.heap);
    free(s.starts);
    free(s.owners);
    return ok;
}

uint32_t ranges_find(const struct ranges *r, uint64_t address)
{
    const uint64_t *at = r->starts;
    size_t left = r->count;
    if (left == 0 || address < at[0])
        return RANGE_NONE;
    while (left > 1) {
        size_t half = left / 2, next = (left - half) / 2;
        /* Both places where it may look next. */
        __builtin_prefetch(at + next);
        __builtin_prefetch(at + half + next);
        at += at[half] <= address ? half : 0;
        left -= half;
    }
    return r->owners[at - r->starts];
}
