/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded memory of texts seen before: from the 128-bit hash of some bytes to a number.
 *
 * Profiles repeat themselves: the same frame lines, the same callers. A reader asks here
 * before it parses. The texts are not kept: two of a thousand million different ones have
 * the same 128 bits with a chance of 1e-21. It starts small and grows to a bound; from
 * there on old entries are overwritten, so its size does not depend on what is read. */
#ifndef STOKE_BASE_MEMO_H
#define STOKE_BASE_MEMO_H

#include "base/arena.h"
#include "base/hash.h"

struct memo_entry {
    struct hash128 key;
    uint64_t value;
};

struct memo {
    struct memo_entry *entries; /* pairs of two */
    size_t mask;                /* pairs - 1 */
    size_t puts, pairs_max;
    struct arena *arena;
};

/* The bound, `pairs_max` pairs of entries, is a power of two. The memory is the arena's.
 */
bool memo_init(struct memo *m, struct arena *a, size_t pairs_max);

/* Makes the memo larger, where it may be and there is memory. */
void memo_grow(struct memo *m);

/* Where the key's value is, or NULL. */
static inline const uint64_t *memo_find(const struct memo *m, struct hash128 key)
{
    const struct memo_entry *e = &m->entries[(key.lo & m->mask) * 2];
    if (e[0].key.lo == key.lo && e[0].key.hi == key.hi)
        return &e[0].value;
    if (e[1].key.lo == key.lo && e[1].key.hi == key.hi)
        return &e[1].value;
    return NULL;
}

/* Asks the machine to fetch what memo_find will look at. */
static inline void memo_prefetch(const struct memo *m, struct hash128 key)
{
    __builtin_prefetch(&m->entries[(key.lo & m->mask) * 2]);
}

/* Remembers in the memory as large as it is: what memo_put does after it has grown. */
static inline void memo_place(struct memo *m, struct hash128 key, uint64_t value)
{
    struct memo_entry *e = &m->entries[(key.lo & m->mask) * 2];
    e[1] = e[0];
    e[0] = (struct memo_entry){key, value};
}

/* Remembers; the older entry of the pair makes way. */
static inline void memo_put(struct memo *m, struct hash128 key, uint64_t value)
{
    if (++m->puts > m->mask && m->mask + 1 < m->pairs_max)
        memo_grow(m);
    memo_place(m, key, value);
}

#endif
