/* SPDX-License-Identifier: Apache-2.0 */
/* A column whose items never move, so other threads can read known items while it
 * grows. Each segment is twice as long as the one before, so the segment of an item is
 * computed without a search. */
#ifndef STOKE_BASE_SEGMENTED_ARRAY_H
#define STOKE_BASE_SEGMENTED_ARRAY_H

#include "base/arena.h"

#define SEGMENT_BITS 6 /* log2 of the size of the first segment */
#define SEGMENT_PARTS (32 - SEGMENT_BITS)

struct segmented_array {
    /* owned by the arena; each twice as long as the one before */
    char *parts[SEGMENT_PARTS];
    size_t count;
};

/* Returns the segment of an item and sets *at to its index in it. */
static inline unsigned segmented_array_part(uint32_t item, size_t *at)
{
    uint64_t number = (uint64_t)item + ((uint64_t)1 << SEGMENT_BITS);
    unsigned bit = 63 - (unsigned)__builtin_clzll(number);
    *at = (size_t)(number - ((uint64_t)1 << bit));
    return bit - SEGMENT_BITS;
}

/* Returns an item of `size` bytes that was added before. */
static inline void *segmented_array_at(const struct segmented_array *s, uint32_t item,
                                       size_t size)
{
    size_t at;
    unsigned part = segmented_array_part(item, &at);
    return s->parts[part] + at * size;
}

/* Adds a zeroed item. Returns NULL when out of memory or the array is full. */
static inline void *segmented_array_add(struct segmented_array *s, struct arena *a,
                                        size_t size)
{
    size_t at;
    unsigned part = segmented_array_part((uint32_t)s->count, &at);
    if (s->count >= UINT32_MAX || part >= SEGMENT_PARTS)
        return NULL;
    if (!s->parts[part])
        s->parts[part] = arena_zalloc(a, (size_t)1 << (part + SEGMENT_BITS), size);
    if (!s->parts[part])
        return NULL;
    s->count++;
    return s->parts[part] + at * size;
}

#endif
