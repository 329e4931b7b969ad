/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/tree.h"
#include "base/array.h"

bool trace_tree_init(struct trace_tree *t)
{
    *t = (struct trace_tree){.arena = ARENA_INIT};
    return trie_init(&t->trie, &t->arena);
}

void trace_tree_deinit(struct trace_tree *t)
{
    arena_deinit(&t->arena);
}

void trace_tree_clear(struct trace_tree *t)
{
    struct index *branches = &t->trie.branches;
    if (branches->used)
        memset(branches->slots, 0, (branches->mask + 1) * sizeof *branches->slots);
    if (t->count_cap) {
        size_t used = t->trie.count < t->count_cap ? t->trie.count : t->count_cap;
        memset(t->counts, 0, used * sizeof *t->counts);
    }
    branches->used = 0;
    t->trie.count = 1;
    t->base_count = 0;
}

trace_node trace_tree_base(struct trace_tree *t, uint32_t task)
{
    if (t->base_count >= TRACE_BASE_KEY ||
        !ARRAY_RESERVE(&t->arena, t->bases, t->base_cap, t->base_count + 1))
        return 0;
    t->bases[t->base_count] = (struct trace_base){.task = task};
    return trie_child(&t->trie, 0, TRACE_BASE_KEY | (uint32_t)t->base_count++);
}

bool trace_tree_reserve(struct trace_tree *t)
{
    return ARRAY_RESERVE_ZEROED(&t->arena, t->counts, t->count_cap, t->trie.count);
}
