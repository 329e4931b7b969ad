/* SPDX-License-Identifier: Apache-2.0 */
/* A tree in which a node is found by its parent and a key: the stacks of a profile, the
 * paths of its labels, the raw addresses of a recording.
 *
 * Nodes are columns of {parent, key}; node 0 is the root, a parent comes before its
 * children. Most nodes are their parent's only child and were made right behind it, so
 * the child that has the next number is looked for there first and never indexed: only
 * where the tree branches does the hash index know more. */
#ifndef STOKE_BASE_TRIE_H
#define STOKE_BASE_TRIE_H

#include "base/hash.h"
#include "base/index.h"

/* Other layers see the nodes as columns of their own, such as a profile's stacks. */
struct __attribute__((may_alias)) trie_node {
    uint32_t parent, key;
};

struct trie {
    struct trie_node *nodes;
    size_t count, cap;
    size_t most;    /* nodes that may be made: the limit of the owner */
    size_t refused; /* that were not made, because there were as many already */
    struct index
        branches; /* the nodes that do not have the number behind their parent's */
    struct arena *arena;
};

/* A tree of the root alone, its memory the arena's. False when memory is short. Where the
 * tree has limits.frames nodes no more are made: what is below ends at its parent, and is
 * counted in `refused`. */
bool trie_init(struct trie *t, struct arena *a);

/* Gives the index back, when nothing more is to be found or made. */
void trie_seal(struct trie *t);

static inline uint32_t trie_hash(uint32_t parent, uint32_t key)
{
    return (uint32_t)hash_pair(parent, key);
}

/* What trie_child does where the child is not the node behind its parent. */
uint32_t trie_branch(struct trie *t, uint32_t parent, uint32_t key);

/* Asks the machine to fetch what trie_branch will look at. */
static inline void trie_prefetch(const struct trie *t, uint32_t parent, uint32_t key)
{
    if (t->branches.slots)
        index_prefetch(&t->branches, trie_hash(parent, key));
}

/* The child of `parent` with that key, made where there is none; `parent` itself when
 * memory is short, which the arena tells. */
static inline uint32_t trie_child(struct trie *t, uint32_t parent, uint32_t key)
{
    size_t next = (size_t)parent + 1;
    if (next < t->count && t->nodes[next].key == key && t->nodes[next].parent == parent)
        return (uint32_t)next;
    return trie_branch(t, parent, key);
}

/* A run of children, one below the other from `parent` on, found or made for each key in
 * turn; a key of 0 is passed over. The last one. With `nodes` (count entries), tells the
 * node of each. When memory is short it ends where it was, and the arena tells. */
uint32_t trie_descend(struct trie *t, uint32_t parent, const uint32_t *keys, size_t count,
                      uint32_t *nodes);

/* The same where no key is 0 and the last node alone is asked for: quicker where `parent`
 * is the newest node of all, and so all below it are to be made. */
static inline uint32_t trie_extend(struct trie *t, uint32_t parent, const uint32_t *keys,
                                   size_t count)
{
    size_t end = t->count + count;
    if ((size_t)parent + 1 != t->count || end > t->cap || end > t->most)
        return trie_descend(t, parent, keys, count, NULL);
    struct trie_node *made = &t->nodes[t->count];
    for (size_t i = 0; i < count; i++)
        made[i] = (struct trie_node){parent + (uint32_t)i, keys[i]};
    t->count = end;
    return parent + (uint32_t)count;
}

#endif
