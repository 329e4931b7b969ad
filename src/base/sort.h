/* SPDX-License-Identifier: Apache-2.0 */
/* A stable merge sort of ids with an order that the caller supplies. libc's qsort is
 * not used: it is not stable, allocates, and is slow in the browser. */
#ifndef STOKE_BASE_SORT_H
#define STOKE_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts items, so that before(context, b, a) is false for every a in front of b.
 * `scratch` has room for as many items. Takes n log n comparisons, or n if the items
 * are already in order. */
void sort_u32(uint32_t *items, size_t count, uint32_t *scratch,
              bool (*before)(const void *context, uint32_t a, uint32_t b),
              const void *context);

/* An item by its id. */
struct sort_key {
    uint64_t key;
    uint32_t id;
};

/* Sorts items by key; items with equal keys keep their order. Takes one pass per byte
 * in which keys differ, or one pass if the items are already in order. */
void sort_keys(struct sort_key *items, size_t count, struct sort_key *scratch);

#endif
