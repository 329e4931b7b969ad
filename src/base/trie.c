/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trie.h"
#include "base/array.h"
#include "base/limits.h"

bool trie_init(struct trie *t, struct arena *a)
{
    *t = (struct trie){.arena = a, .limit = (size_t)limits_default.frames};
    t->nodes = arena_grow(a, NULL, &t->cap, 256, sizeof *t->nodes);
    if (!t->nodes)
        return false;
    t->nodes[0] = (struct trie_node){0, 0};
    t->count = 1;
    return true;
}

void trie_seal(struct trie *t)
{
    struct index *ix = &t->branches;
    arena_release(t->arena, ix->slots, (ix->mask + 1) * sizeof *ix->slots);
    *ix = (struct index){0};
}

struct lookup {
    const struct trie_node *nodes;
    uint32_t parent, key;
};

static bool same_node(const void *context, uint32_t id)
{
    const struct lookup *w = context;
    return w->nodes[id].parent == w->parent && w->nodes[id].key == w->key;
}

static uint32_t append(struct trie *t, uint32_t parent, uint32_t key)
{
    if (t->count >= t->limit) {
        t->refused++;
        return parent;
    }
    if (!ARRAY_RESERVE(t->arena, t->nodes, t->cap, t->count + 1)) {
        t->arena->failed = true;
        return parent;
    }
    t->nodes[t->count] = (struct trie_node){parent, key};
    return (uint32_t)t->count++;
}

uint32_t trie_branch(struct trie *t, uint32_t parent, uint32_t key)
{
    if ((size_t)parent + 1 == t->count)
        return append(t, parent, key);
    if (!t->nodes || !index_reserve(&t->branches, t->arena, 1))
        return parent;
    uint32_t hash = trie_hash(parent, key);
    struct index_slot *slot = index_find(&t->branches, hash, same_node,
                                         &(struct lookup){t->nodes, parent, key});
    if (slot->id)
        return slot->id;
    uint32_t made = append(t, parent, key);
    if (made != parent)
        index_fill(&t->branches, slot, hash, made);
    return made;
}

/* Appends the rest of a run after the newest node: it has no children, so all nodes are
 * new. */
static uint32_t lengthen(struct trie *t, const uint32_t *keys, size_t count,
                         uint32_t *nodes)
{
    uint32_t last = (uint32_t)(t->count - 1);
    size_t left = t->count < t->limit ? t->limit - t->count : 0;
    size_t want = t->count + (count < left ? count : left);
    struct trie_node *made = arena_grow(t->arena, t->nodes, &t->cap, want, sizeof *made);
    if (made)
        t->nodes = made;
    else
        t->arena->failed = true;
    for (size_t i = 0; i < count; i++) {
        if (made && keys[i] && last + 1 >= want) {
            t->refused++;
        } else if (made && keys[i]) {
            made[last + 1] = (struct trie_node){last, keys[i]};
            last++;
        }
        if (nodes)
            nodes[i] = last;
    }
    t->count = (size_t)last + 1;
    return last;
}

uint32_t trie_descend(struct trie *t, uint32_t parent, const uint32_t *keys, size_t count,
                      uint32_t *nodes)
{
    for (size_t i = 0; i < count; i++) {
        if ((size_t)parent + 1 == t->count)
            return lengthen(t, keys + i, count - i, nodes ? nodes + i : NULL);
        if (keys[i])
            parent = trie_child(t, parent, keys[i]);
        if (nodes)
            nodes[i] = parent;
    }
    return parent;
}
