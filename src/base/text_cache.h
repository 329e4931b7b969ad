/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of bounded size from texts to values. A text is identified by its address and
 * length, not by its bytes: finding one reads no text. For texts that stay at their
 * address and come many times, such as the names of a symbol table.
 *
 * Each text has one slot, and a new text replaces the old one there. Clear the cache
 * before the memory of its texts is reused for others. */
#ifndef STOKE_BASE_TEXT_CACHE_H
#define STOKE_BASE_TEXT_CACHE_H

#include "base/arena.h"
#include "base/hash.h"

struct text_cache_slot {
    struct str text; /* ptr NULL: empty */
    uint64_t tag;
    uint64_t value;
};

struct text_cache {
    struct text_cache_slot *slots; /* owned by the arena */
    size_t count;                  /* a power of two */
};

/* `count` slots; a power of two. False when out of memory. */
static inline bool text_cache_init(struct text_cache *c, struct arena *a, size_t count)
{
    *c = (struct text_cache){arena_zalloc(a, count, sizeof *c->slots), count};
    return c->slots != NULL;
}

/* The slot of a text. `tag` distinguishes several values of one text; else 0. */
static inline struct text_cache_slot *text_cache_slot(const struct text_cache *c,
                                                      struct str text, uint64_t tag)
{
    uint64_t address = (uint64_t)(uintptr_t)text.ptr;
    uint64_t hash = hash_mix(address ^ HASH_A, text.len ^ tag ^ HASH_B);
    return &c->slots[hash & (c->count - 1)];
}

/* Returns true if the slot has the value of this text. */
static inline bool text_cache_has(const struct text_cache_slot *slot, struct str text,
                                  uint64_t tag)
{
    return slot->text.ptr == text.ptr && slot->text.len == text.len && slot->tag == tag;
}

static inline void text_cache_clear(struct text_cache *c)
{
    memset(c->slots, 0, c->count * sizeof *c->slots);
}

#endif
