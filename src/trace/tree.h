/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of a trace, and the cycles spent in each.
 *
 * A tree of functions; a node is a stack. The children of the root are *bases*: a base
 * is the start of a task's stack whose callers are unknown. They may become known
 * later, when the outermost function returns: then the base is linked to the calling
 * stack, and earlier counts belong to the right stack. */
#ifndef STOKE_TRACE_TREE_H
#define STOKE_TRACE_TREE_H

#include "base/trie.h"

typedef uint32_t trace_node;

#define TRACE_BASE_KEY \
    0x80000000u /* flag in a node: the other bits are the number of the base */

struct trace_count {
    uint64_t cycles, instructions;
};

struct trace_base {
    uint32_t task;
    trace_node link;  /* the caller's stack, in the same tree; 0: no caller */
    trace_node after; /* of a handler: the base of another one before it; 0: none */
};

struct trace_tree {
    struct arena arena;
    struct trie trie; /* the key is a function, or a base */
    struct trace_count *counts;
    size_t count_cap;
    struct trace_base *bases;
    size_t base_count, base_cap;
};

/* False if out of memory; arena.failed is then set, and stays set. */
bool trace_tree_init(struct trace_tree *t);
void trace_tree_deinit(struct trace_tree *t);

/* Empties the tree and keeps its memory. */
void trace_tree_clear(struct trace_tree *t);

/* A new base of a task. */
trace_node trace_tree_base(struct trace_tree *t, uint32_t task);

static inline bool trace_node_is_base(const struct trace_tree *t, trace_node n)
{
    return t->trie.nodes[n].key & TRACE_BASE_KEY;
}

static inline trace_node trace_node_parent(const struct trace_tree *t, trace_node n)
{
    return t->trie.nodes[n].parent;
}

static inline trace_node trace_tree_child(struct trace_tree *t, trace_node parent,
                                          uint32_t function)
{
    return trie_child(&t->trie, parent, function);
}

/* Makes room for the counts of all nodes. False when out of memory. */
bool trace_tree_reserve(struct trace_tree *t);

/* Adds cycles and instructions to a node. */
static inline void trace_tree_add(struct trace_tree *t, trace_node n,
                                  struct trace_count c)
{
    if (n >= t->count_cap && !trace_tree_reserve(t))
        return;
    t->counts[n].cycles += c.cycles;
    t->counts[n].instructions += c.instructions;
}

#endif
