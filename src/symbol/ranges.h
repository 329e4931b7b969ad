/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of addresses that lie over each other, laid flat: for each part of the address
 * space the one that is the answer there, found by a binary search.
 *
 * Laying flat takes n log n, whatever lies over what, and gives at most 2n + 1 parts. */
#ifndef STOKE_SYMBOL_RANGES_H
#define STOKE_SYMBOL_RANGES_H

#include "base/arena.h"

#define RANGE_NONE UINT32_MAX

struct range {
    uint64_t start, end; /* [start, end); empty where end <= start */
    uint32_t rank;  /* where several lie over an address, the highest is the answer */
    uint32_t owner; /* what is answered, not RANGE_NONE */
};

struct ranges {
    uint64_t *starts; /* ascending */
    uint32_t *owners; /* of [starts[i], starts[i + 1]); RANGE_NONE: a gap */
    size_t count;
};

/* Room in the arena for the parts of `count` ranges; of a large one what is not used costs
 * no memory but addresses. Then they may be laid one by one, in order of their starts, where none lies
 * over another. */
bool ranges_begin(struct ranges *r, size_t count, struct arena *arena);
void ranges_lay(struct ranges *r, uint64_t start, uint64_t end, uint32_t owner);

/* Lays `count` ranges flat, which must be in the order of their starts. The result is the
 * arena's. False when memory is short. */
bool ranges_init(struct ranges *r, const struct range *items, size_t count,
                 struct arena *arena);

/* The owner at an address, or RANGE_NONE. Any number of threads may ask. */
uint32_t ranges_find(const struct ranges *r, uint64_t address);

/* Where the part, or the gap, begins that an address is in; 0 before the first. */
uint64_t ranges_start(const struct ranges *r, uint64_t address);

#endif
