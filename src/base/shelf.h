/* SPDX-License-Identifier: Apache-2.0 */
/* A column whose items never move: others may read those that they know of while it
 * grows. It lies in parts, each twice as long as the one before, so that a number leads
 * to its item without a search. */
#ifndef STOKE_BASE_SHELF_H
#define STOKE_BASE_SHELF_H

#include "base/arena.h"

#define SHELF_BITS 6 /* of the first part's size */
#define SHELF_PARTS (32 - SHELF_BITS)

struct shelf {
    char *parts[SHELF_PARTS]; /* the arena's; each twice as long as the one before */
    size_t count;
};

/* Which part an item is in, and where in it. */
static inline unsigned shelf_part(uint32_t item, size_t *at)
{
    uint64_t number = (uint64_t)item + ((uint64_t)1 << SHELF_BITS);
    unsigned bit = 63 - (unsigned)__builtin_clzll(number);
    *at = (size_t)(number - ((uint64_t)1 << bit));
    return bit - SHELF_BITS;
}

/* An item, of `size` bytes, that was added. */
static inline void *shelf_at(const struct shelf *s, uint32_t item, size_t size)
{
    size_t at;
    unsigned part = shelf_part(item, &at);
    return s->parts[part] + at * size;
}

/* Adds an item, all zero. NULL when memory is short or there are as many as can be. */
static inline void *shelf_add(struct shelf *s, struct arena *a, size_t size)
{
    size_t at;
    unsigned part = shelf_part((uint32_t)s->count, &at);
    if (s->count >= UINT32_MAX || part >= SHELF_PARTS)
        return NULL;
    if (!s->parts[part])
        s->parts[part] = arena_zalloc(a, (size_t)1 << (part + SHELF_BITS), size);
    if (!s->parts[part])
        return NULL;
    s->count++;
    return s->parts[part] + at * size;
}

#endif
