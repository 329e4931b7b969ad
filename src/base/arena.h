/* SPDX-License-Identifier: Apache-2.0 */
/* An arena: memory that is freed all at once.
 *
 * A profile owns one, and so does everything else that is built once and then only
 * read. Small pieces come from a chunk. A large piece gets a block of its own, so that
 * realloc can move a growing column without leaving a copy behind.
 *
 * Failure is sticky: after one failed allocation all later ones fail. A builder can
 * check `failed` once, at its end.
 *
 * The total of all arenas of a thread can be limited, so that a small input cannot use
 * all memory: see struct arena_bound. */
#ifndef STOKE_BASE_ARENA_H
#define STOKE_BASE_ARENA_H

#include "base/str.h"
#include <stdint.h>

struct arena {
    struct arena_chunk *chunks; /* newest first */
    struct arena_block *blocks; /* large pieces */
    char *next, *end;           /* the free part of the newest chunk */
    size_t total;               /* bytes held, including free parts */
    bool failed;
};

#define ARENA_INIT ((struct arena){0})

/* Allocator for large blocks, used instead of malloc. */
struct arena_source {
    size_t min_size; /* bytes; smaller blocks come from malloc */

    /* Returns zeroed memory aligned to 16, or NULL when out of memory. */
    void *(*allocate)(size_t size);

    /* Like realloc, but zeroes the added bytes. Returns NULL on failure; the old block
     * is unchanged. */
    void *(*resize)(void *block, size_t before, size_t size);
    void (*free)(void *block, size_t size);
};

/* Sets the allocator of all arenas. Call it before the first allocation. */
void arena_set_source(const struct arena_source *source);

/* Frees all memory and resets the arena to ARENA_INIT. */
void arena_deinit(struct arena *a);

/* A bound on the memory of one piece of work, which a thread does. All zero but `most` is
 * a valid start. */
struct arena_bound {
    int64_t most; /* bytes; may be changed at any time */
    int64_t held; /* what arenas allocated less what they freed, so maybe below zero */
    bool refused; /* an allocation has failed because of the bound */
};

/* From now on, what the calling thread allocates and frees in any arena counts in `bound`;
 * NULL, the default: it is not counted. Returns the bound until now, to be restored. */
struct arena_bound *arena_count_in(struct arena_bound *bound);

/* Returns `size` bytes aligned to 8, not zeroed, or NULL if the arena has failed. */
void *arena_alloc(struct arena *a, size_t size);

/* Returns zeroed memory for `count` items of `size` bytes. Fails if the product
 * overflows. */
void *arena_zalloc(struct arena *a, size_t count, size_t size);

/* The slow path of arena_grow. */
void *arena_enlarge(struct arena *a, void *items, size_t *cap, size_t count, size_t size);

/* Grows the array `items` (NULL at first) to hold at least `count` items of `size`
 * bytes. *cap is its capacity in items; it at least doubles. Existing items stay, new
 * ones are not zeroed. Returns the array, which may have moved, or NULL on failure; the
 * old array then stays valid. */
static inline void *arena_grow(struct arena *a, void *items, size_t *cap, size_t count,
                               size_t size)
{
    return count <= *cap ? items : arena_enlarge(a, items, cap, count, size);
}

/* Frees a piece early if it is large enough to have a block of its own; otherwise the
 * arena keeps it. `size` is the size that was requested. `piece` may be NULL. */
void arena_release(struct arena *a, void *piece, size_t size);

/* Copies s into the arena. Returns the empty string on failure. */
struct str arena_str(struct arena *a, struct str s);

#endif
