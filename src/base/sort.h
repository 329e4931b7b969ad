/* SPDX-License-Identifier: Apache-2.0 */
/* A stable merge sort of numbers by an order of the caller's. Ours, because libc's qsort
 * is not stable, allocates, and is slow in the browser. */
#ifndef STOKE_BASE_SORT_H
#define STOKE_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Puts items in order, so that before(context, b, a) holds for no a in front of b.
 * `scratch` has room for as many. Takes n log n comparisons, and n where the items are in
 * order already. */
void sort_u32(uint32_t *items, size_t count, uint32_t *scratch,
              bool (*before)(const void *context, uint32_t a, uint32_t b),
              const void *context);

/* An item by its number. */
struct sort_key {
    uint64_t key;
    uint32_t id;
};

/* Puts items in the order of their keys, those with the same key as they were. Takes a
 * pass for every byte in which keys differ, one where they are in order already. */
void sort_keys(struct sort_key *items, size_t count, struct sort_key *scratch);

#endif
