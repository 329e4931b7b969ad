/* SPDX-License-Identifier: Apache-2.0 */
/* An arena: memory that is given back all at once.
 *
 * A profile, and everything else that is built once and read afterwards, owns one. Small
 * pieces are cut off a chunk; a large piece gets a block of its own, so that a growing
 * column is moved by realloc and leaves nothing behind.
 *
 * Failure sticks: once an allocation has failed every later one fails, so a builder may
 * go on and look at `failed` once, at its end.
 *
 * The arenas of a thread can be bounded together, so that a small input cannot take all
 * memory: see arena_allow. */
#ifndef STOKE_BASE_ARENA_H
#define STOKE_BASE_ARENA_H

#include "base/str.h"
#include <stdint.h>

struct arena {
    struct arena_chunk *chunks; /* the newest first */
    struct arena_block *blocks; /* large pieces */
    char *next, *end;           /* the free part of the newest chunk */
    size_t total;               /* bytes held, free parts included */
    bool failed;
};

#define ARENA_INIT ((struct arena){0})

/* Where the largest blocks are from, if not from malloc. */
struct arena_source {
    size_t least; /* bytes of the blocks that are taken from here */

    /* Zeroed, aligned to 16. NULL when memory is short. */
    void *(*take)(size_t size);

    /* As realloc: what is new is zero; NULL leaves the old block as it was. */
    void *(*resize)(void *block, size_t before, size_t size);
    void (*give_back)(void *block, size_t size);
};

/* Of all arenas, before any has allocated. */
void arena_take_from(const struct arena_source *source);

/* Gives everything back. The arena is then as new. */
void arena_deinit(struct arena *a);

/* Bytes that all arenas of the calling thread hold: what it allocated less what it gave
 * back, so below zero where another thread allocated that. */
int64_t arena_held(void);

/* From now on an allocation of the calling thread fails where arena_held would be more
 * than `most`; INT64_MAX, the default: never for that reason. */
void arena_allow(int64_t most);

/* Whether one has failed for that reason since the last arena_allow(INT64_MAX). */
bool arena_was_refused(void);

/* `size` bytes aligned to 8, not zeroed; NULL once the arena has failed. */
void *arena_alloc(struct arena *a, size_t size);

/* The same, zeroed, for `count` items; fails when the product does not fit. */
void *arena_zalloc(struct arena *a, size_t count, size_t size);

/* What arena_grow does when there is no room yet. */
void *arena_enlarge(struct arena *a, void *items, size_t *cap, size_t want, size_t size);

/* Makes room for `want` items of `size` bytes in the array `items` (NULL at first) whose
 * room is *cap items: at least doubles it, keeps what is there, does not zero the rest.
 * Returns the array, moved or not; NULL on failure, with the old array still good. */
static inline void *arena_grow(struct arena *a, void *items, size_t *cap, size_t want,
                               size_t size)
{
    return want <= *cap ? items : arena_enlarge(a, items, cap, want, size);
}

/* Gives a piece back early where it is large enough to have a block of its own; else it
 * stays until the end. `size` is the size it was asked for with. NULL is allowed. */
void arena_release(struct arena *a, void *piece, size_t size);

/* A copy of s in the arena; the empty string on failure. */
struct str arena_str(struct arena *a, struct str s);

#endif
