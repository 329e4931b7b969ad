/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded cache from texts to numbers, keyed by the 128-bit hash of the text.
 *
 * Profiles repeat themselves: the same frame lines, the same callers. A reader looks
 * here before it parses. The texts are not stored: the probability that two of 10^9
 * distinct texts have the same hash is 1e-21. The cache starts small and grows to a
 * bound; after that, new entries overwrite old ones, so its size does not depend on the
 * input. */
#ifndef STOKE_BASE_MEMO_H
#define STOKE_BASE_MEMO_H

#include "base/arena.h"
#include "base/hash.h"

struct memo_entry {
    struct hash128 key;
    uint64_t value;
};

struct memo {
    struct memo_entry *entries; /* in pairs */
    size_t mask;                /* pairs - 1 */
    size_t puts, pairs_max;
    struct arena *arena;
};

/* `pairs_max`, the bound in pairs of entries, is a power of two. The arena owns the
 * memory. */
bool memo_init(struct memo *m, struct arena *a, size_t pairs_max);

/* Doubles the cache if the bound and memory allow it. */
void memo_grow(struct memo *m);

/* Returns the key's value, or NULL. */
static inline const uint64_t *memo_find(const struct memo *m, struct hash128 key)
{
    const struct memo_entry *e = &m->entries[(key.lo & m->mask) * 2];
    if (e[0].key.lo == key.lo && e[0].key.hi == key.hi)
        return &e[0].value;
    if (e[1].key.lo == key.lo && e[1].key.hi == key.hi)
        return &e[1].value;
    return NULL;
}

/* Prefetches the entries that memo_find reads. */
static inline void memo_prefetch(const struct memo *m, struct hash128 key)
{
    __builtin_prefetch(&m->entries[(key.lo & m->mask) * 2]);
}

/* Stores a value without growing the cache; memo_put calls it after growing. */
static inline void memo_store(struct memo *m, struct hash128 key, uint64_t value)
{
    struct memo_entry *e = &m->entries[(key.lo & m->mask) * 2];
    e[1] = e[0];
    e[0] = (struct memo_entry){key, value};
}

/* Stores a value; it replaces the older entry of the pair. */
static inline void memo_put(struct memo *m, struct hash128 key, uint64_t value)
{
    if (++m->puts > m->mask && m->mask + 1 < m->pairs_max)
        memo_grow(m);
    memo_store(m, key, value);
}

#endif
