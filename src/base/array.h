/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays in an arena or of malloc: a pointer, a count and a capacity, wherever their owner has
 * them. Arguments are evaluated more than once, except for the arena. */
#ifndef STOKE_BASE_ARRAY_H
#define STOKE_BASE_ARRAY_H

#include "base/arena.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `want` items: `items` and `cap` are updated. False when out of memory;
 * the array is then as it was. */
#define ARRAY_RESERVE(arena, items, cap, want)                                     \
    __extension__({                                                                \
        __typeof__(items) grown_ =                                                 \
            arena_grow((arena), (items), &(cap), (size_t)(want), sizeof *(items)); \
        if (grown_)                                                                \
            (items) = grown_;                                                      \
        grown_ != NULL;                                                            \
    })

/* The same, and zeroes new items: for arrays by index, in which any item may be used. */
#define ARRAY_RESERVE_ZEROED(arena, items, cap, want)                        \
    __extension__({                                                          \
        size_t before_ = (cap);                                              \
        bool reserved_ = ARRAY_RESERVE(arena, items, cap, want);             \
        if (reserved_ && (cap) > before_)                                    \
            memset((items) + before_, 0, ((cap)-before_) * sizeof *(items)); \
        reserved_;                                                           \
    })

/* The same for an array of malloc, which the caller frees. */
#define ARRAY_RESERVE_HEAP(items, cap, want)                                   \
    __extension__({                                                            \
        __typeof__(items) grown_ =                                             \
            array_grow_heap((items), &(cap), (size_t)(want), sizeof *(items)); \
        if (grown_)                                                            \
            (items) = grown_;                                                  \
        grown_ != NULL;                                                        \
    })

#define ARRAY_HEAP_FIRST 64 /* items */

static inline void *array_grow_heap(void *items, size_t *cap, size_t count, size_t size)
{
    size_t room = *cap ? *cap : ARRAY_HEAP_FIRST, bytes;
    if (count <= *cap)
        return items;
    while (room < count && room <= SIZE_MAX / 2)
        room *= 2;
    if (room < count || __builtin_mul_overflow(room, size, &bytes))
        return NULL;
    void *grown = realloc(items, bytes);
    if (grown)
        *cap = room;
    return grown;
}

/* Appends an item, which is not initialized, and counts it. Returns its address, which is
 * good until the array grows again; NULL when out of memory. */
#define ARRAY_APPEND(arena, items, count, cap) \
    (ARRAY_RESERVE(arena, items, cap, (count) + 1) ? &(items)[(count)++] : NULL)

/* The same for an array of [0], which stands for "none", and `count` items after it. */
#define ARRAY_APPEND_FROM_1(arena, items, count, cap) \
    (ARRAY_RESERVE(arena, items, cap, (count) + 2) ? &(items)[++(count)] : NULL)

#endif
