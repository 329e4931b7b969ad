/* SPDX-License-Identifier: Apache-2.0 */
/* A map from the numbers that an input uses as ids to values of the reader. Any 64-bit
 * id is accepted; hostile ids cost no more than others. */
#ifndef STOKE_BASE_IDMAP_H
#define STOKE_BASE_IDMAP_H

#include "base/index.h"

struct idmap_entry {
    uint64_t id;
    uint64_t value;
};

struct idmap {
    struct idmap_entry *entries; /* [0] is unused */
    size_t count, cap;
    struct index index;
};

/* Returns the value of `id`, for the caller to set; it is 0 if the id is new. The
 * pointer is valid until the next call. Returns NULL when out of memory. The arena
 * owns the memory. */
uint64_t *idmap_put(struct idmap *m, struct arena *a, uint64_t id);

/* Returns the value of `id`, or NULL if it was never added. */
const uint64_t *idmap_find(const struct idmap *m, uint64_t id);

#endif
