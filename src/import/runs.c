/* SPDX-License-Identifier: Apache-2.0 */
#include "import/runs.h"
#include "base/array.h"
#include "base/limits.h"

#define NODES_MANY ((size_t)4 << 20)

#define TOO_MUCH                                                                       \
    "references expand to more frames than the limit: the rest of the stack was left " \
    "out; --limits x8 raises it"

bool runs_init(struct runs *r, struct builder *b, struct arena *a)
{
    *r = (struct runs){.b = b};
    r->stacks = arena_grow(a, NULL, &r->cap, 256, sizeof *r->stacks);
    if (!r->stacks || !trie_init(&r->tree, a))
        return false;
    r->stacks[0] = 0;
    return true;
}

/* The stack of a node that is new. */
static stack_id make_stack(struct runs *r, stack_id parent, const frame_id *frames,
                           size_t count)
{
    if (limits_expansion_exceeded(r->b->limits, r->in, r->expanded + count)) {
        builder_warn_times(r->b, TOO_MUCH, count);
        r->b->profile->facts.truncated++;
        return parent;
    }
    r->expanded += count;
    return builder_push_run(r->b, parent, frames, count, NULL);
}

uint32_t runs_push(struct runs *r, uint32_t parent, uint32_t key, const frame_id *frames,
                   size_t count)
{
    size_t before = r->tree.count;
    uint32_t node = trie_child(&r->tree, parent, key);
    if (r->tree.count == before)
        return node;
    if (!ARRAY_RESERVE(r->tree.arena, r->stacks, r->cap, r->tree.count)) {
        r->tree.count = before; /* the arena reports it */
        return parent;
    }
    r->stacks[node] = make_stack(r, r->stacks[parent], frames, count);
    return node;
}

void runs_forget_many(struct runs *r)
{
    if (r->tree.count < NODES_MANY)
        return;
    trie_seal(&r->tree);
    r->tree.count = 1;
}

void runs_end(struct runs *r)
{
    builder_warn_times(r->b, TOO_MUCH, r->tree.refused);
    r->b->profile->facts.truncated += r->tree.refused > 0;
    r->tree.refused = 0;
}
