/* SPDX-License-Identifier: Apache-2.0 */
/* A table of distinct strings. Each has one id, so equal names have equal ids.
 *
 * Id 0 is the empty string. The bytes are copied into the arena. A string that
 * strings_get returned is found again without its bytes being hashed, so that many
 * references to one long string cost no more than to a short one. */
#ifndef STOKE_BASE_STRINGS_H
#define STOKE_BASE_STRINGS_H

#include "base/idmap.h"

typedef uint32_t string_id;

struct strings {
    struct arena *arena;
    struct str *items; /* by id; items[0] is empty */
    size_t count, cap;
    struct index index;
    struct idmap
        long_items; /* the numbers of long strings, by the address of their copy */
};

/* False when out of memory. The arena must outlive the table. */
bool strings_init(struct strings *t, struct arena *a);

/* Returns the id of s, new or existing; 0 on failure (see the arena's `failed`). */
string_id strings_add(struct strings *t, struct str s);

/* Returns the id of s, or 0 if it was never added (or is empty). */
string_id strings_find(const struct strings *t, struct str s);

/* Sorts ids in the bytewise order of their texts. Reads each text a few times, only as
 * far as it equals its neighbours. False when out of memory. */
bool strings_sort(const struct strings *t, string_id *ids, size_t count,
                  struct arena *scratch);

static inline struct str strings_get(const struct strings *t, string_id id)
{
    return t->items[id];
}

#endif
