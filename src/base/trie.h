/* SPDX-License-Identifier: Apache-2.0 */
/* A tree in which a node is found by its parent and a key: the stacks of a profile, the
 * paths of its labels, the raw addresses of a recording.
 *
 * Nodes are columns of {parent, key}. Node 0 is the root, and a parent comes before its
 * children. Most nodes are the only child of their parent and were created right after
 * it, so the node after the parent is checked first and is never indexed: the hash
 * index holds the other nodes only. */
#ifndef STOKE_BASE_TRIE_H
#define STOKE_BASE_TRIE_H

#include "base/hash.h"
#include "base/index.h"

/* Other layers use the nodes as their own columns, such as a profile's stacks. */
struct __attribute__((may_alias)) trie_node {
    uint32_t parent, key;
};

struct trie {
    struct trie_node *nodes;
    size_t count, cap;
    size_t limit;          /* maximum number of nodes, set by the owner */
    size_t refused;        /* nodes that were not created because of that maximum */
    struct index branches; /* nodes that do not directly follow their parent */
    struct arena *arena;
};

/* Makes a tree with only the root; the arena owns its memory. False when out of memory.
 * With `limit` nodes, at first limits_default.frames, no more are created: a deeper
 * path ends at its last existing node and is counted in `refused`. */
bool trie_init(struct trie *t, struct arena *a);

/* Frees the index; no node may be searched or created after that. */
void trie_seal(struct trie *t);

static inline uint32_t trie_hash(uint32_t parent, uint32_t key)
{
    return (uint32_t)hash_pair(parent, key);
}

/* The slow path of trie_child: the child is not the node after its parent. */
uint32_t trie_branch(struct trie *t, uint32_t parent, uint32_t key);

/* Prefetches the slot that trie_branch reads. */
static inline void trie_prefetch(const struct trie *t, uint32_t parent, uint32_t key)
{
    if (t->branches.slots)
        index_prefetch(&t->branches, trie_hash(parent, key));
}

/* Returns the child of `parent` with that key; creates it if there is none. Returns
 * `parent` when out of memory (see the arena's `failed`). */
static inline uint32_t trie_child(struct trie *t, uint32_t parent, uint32_t key)
{
    size_t next = (size_t)parent + 1;
    if (next < t->count && t->nodes[next].key == key && t->nodes[next].parent == parent)
        return (uint32_t)next;
    return trie_branch(t, parent, key);
}

/* Finds or creates a path of children below `parent`, one per key, and returns the last
 * node; a key of 0 is skipped. `nodes` (count entries), if not NULL, receives the node
 * of each key. When out of memory, the path ends early (see the arena's `failed`). */
uint32_t trie_descend(struct trie *t, uint32_t parent, const uint32_t *keys, size_t count,
                      uint32_t *nodes);

/* The same if no key is 0 and only the last node is needed. Faster if `parent` is the
 * newest node, because all nodes below it are then new. */
static inline uint32_t trie_extend(struct trie *t, uint32_t parent, const uint32_t *keys,
                                   size_t count)
{
    size_t end = t->count + count;
    if ((size_t)parent + 1 != t->count || end > t->cap || end > t->limit)
        return trie_descend(t, parent, keys, count, NULL);
    struct trie_node *made = &t->nodes[t->count];
    for (size_t i = 0; i < count; i++)
        made[i] = (struct trie_node){parent + (uint32_t)i, keys[i]};
    t->count = end;
    return parent + (uint32_t)count;
}

#endif
