/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that an input gives its things, to what a reader made of them. Any 64-bit
 * number will do, so a hostile one costs no more than another. */
#ifndef STOKE_BASE_IDMAP_H
#define STOKE_BASE_IDMAP_H

#include "base/index.h"

struct idmap_entry {
    uint64_t id;
    uint64_t value;
};

struct idmap {
    struct idmap_entry *entries; /* [0] is none */
    size_t count, cap;
    struct index index;
};

/* The value of that number, to be set; it is 0 where the number is new. Good until the
 * next call. NULL when memory is short. The memory is the arena's. */
uint64_t *idmap_put(struct idmap *m, struct arena *a, uint64_t id);

/* The value of that number, NULL where it was never put. */
const uint64_t *idmap_find(const struct idmap *m, uint64_t id);

#endif
