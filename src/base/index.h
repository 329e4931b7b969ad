/* SPDX-License-Identifier: Apache-2.0 */
/* A hash index over a column: finds the id of an item by a key that the column itself
 * stores.
 *
 * The index stores {hash, id} pairs only; the caller compares keys. Ids are never 0, so
 * 0 marks an empty slot. Items are never removed. */
#ifndef STOKE_BASE_INDEX_H
#define STOKE_BASE_INDEX_H

#include "base/arena.h"

struct index_slot {
    uint32_t hash;
    uint32_t id;
};

struct index {
    struct index_slot *slots; /* owned by the arena */
    size_t mask;              /* slots - 1; the number of slots is a power of two */
    size_t used;
};

/* Makes room for `more` items, so that index_find always finds a slot. Returns false
 * when out of memory; the index stays valid. */
bool index_grow(struct index *ix, struct arena *a, size_t more);

static inline bool index_reserve(struct index *ix, struct arena *a, size_t more)
{
    if (ix->slots && (ix->used + more) * 4 <= (ix->mask + 1) * 3)
        return true;
    return index_grow(ix, a, more);
}

/* Returns the slot of the item for which same(context, id) is true, or the empty slot
 * where that item belongs. The index must have room. Inlined together with `same`. */
static inline struct index_slot *index_find(const struct index *ix, uint32_t hash,
                                            bool (*same)(const void *context,
                                                         uint32_t id),
                                            const void *context)
{
    for (size_t at = hash & ix->mask;; at = (at + 1) & ix->mask) {
        struct index_slot *slot = &ix->slots[at];
        if (slot->id == 0 || (slot->hash == hash && same(context, slot->id)))
            return slot;
    }
}

/* Prefetches the first slot that index_find reads. */
static inline void index_prefetch(const struct index *ix, uint32_t hash)
{
    __builtin_prefetch(&ix->slots[hash & ix->mask]);
}

/* Fills the empty slot that index_find returned. */
static inline void index_fill(struct index *ix, struct index_slot *slot, uint32_t hash,
                              uint32_t id)
{
    *slot = (struct index_slot){hash, id};
    ix->used++;
}

#endif
