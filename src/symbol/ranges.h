/* SPDX-License-Identifier: Apache-2.0 */
/* Flattens overlapping address ranges: for each part of the address space, stores the
 * range that wins there; a lookup is a binary search.
 *
 * Flattening takes n log n for any overlaps, and produces at most 2n + 1 parts. */
#ifndef STOKE_SYMBOL_RANGES_H
#define STOKE_SYMBOL_RANGES_H

#include "base/arena.h"

#define RANGE_NONE UINT32_MAX

struct range {
    uint64_t start, end; /* [start, end); empty if end <= start */
    uint32_t rank;       /* if several cover an address, the highest rank wins */
    uint32_t owner;      /* the result of a lookup, not RANGE_NONE */
};

struct ranges {
    uint64_t *starts; /* ascending */
    uint32_t *owners; /* of [starts[i], starts[i + 1]); RANGE_NONE: a gap */
    size_t count;
};

/* Allocates room in the arena for the parts of `count` ranges; unused room of a large
 * allocation uses only address space. Then ranges_lay adds ranges that do not overlap,
 * in order of their starts. */
bool ranges_begin(struct ranges *r, size_t count, struct arena *arena);
void ranges_lay(struct ranges *r, uint64_t start, uint64_t end, uint32_t owner);

/* Flattens `count` ranges, which must be sorted by start. The arena owns the result.
 * False when out of memory. */
bool ranges_init(struct ranges *r, const struct range *items, size_t count,
                 struct arena *arena);

/* The owner at an address, or RANGE_NONE. Thread-safe. */
uint32_t ranges_find(const struct ranges *r, uint64_t address);

/* The start of the part, or gap, that contains an address; 0 before the first. */
uint64_t ranges_start(const struct ranges *r, uint64_t address);

/* The end of that part or gap; UINT64_MAX after the last. */
uint64_t ranges_end(const struct ranges *r, uint64_t address);

#endif
