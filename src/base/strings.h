/* SPDX-License-Identifier: Apache-2.0 */
/* A table of distinct strings: each has one number, so that equal names are equal
 * numbers.
 *
 * Number 0 is the empty string. The bytes are copied into the arena. */
#ifndef STOKE_BASE_STRINGS_H
#define STOKE_BASE_STRINGS_H

#include "base/index.h"

typedef uint32_t string_id;

struct strings {
    struct arena *arena;
    struct str *items; /* by id; items[0] is empty */
    size_t count, cap;
    struct index index;
};

/* False when memory is short. The arena must outlive the table. */
bool strings_init(struct strings *t, struct arena *a);

/* The number of s, new or known; 0 on failure (the arena's `failed` tells). */
string_id strings_add(struct strings *t, struct str s);

/* The number of s, or 0 where it was never added (or is empty). */
string_id strings_find(const struct strings *t, struct str s);

/* Puts numbers in the bytewise order of their texts. Reads each text a few times as far as
 * it is like those beside it. False when memory is short. */
bool strings_sort(const struct strings *t, string_id *ids, size_t count,
                  struct arena *scratch);

static inline struct str strings_get(const struct strings *t, string_id id)
{
    return t->items[id];
}

#endif
