/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks made of runs of frames: an address with all functions inlined there.
 *
 * A node is a run of frames below another node. Its stack is made once; later references
 * to the node cost one step, not one for each frame. Hostile files refer to long runs in
 * always different orders: limits.expansion limits the number of pushed frames. */
#ifndef STOKE_IMPORT_RUNS_H
#define STOKE_IMPORT_RUNS_H

#include "base/trie.h"
#include "model/builder.h"

struct runs {
    struct builder *b;
    struct trie tree;
    stack_id *stacks; /* by node; the root's is 0 */
    size_t cap;
    uint64_t in;       /* bytes of the input */
    uint64_t expanded; /* frames so far */
};

/* The arena owns the memory. False when out of memory. */
bool runs_init(struct runs *r, struct builder *b, struct arena *a);

/* The node of the frames below `parent` (0: the root). `key`, not 0, is the caller's number
 * of the run: the same number always means the same frames. Above the limits the frames
 * are left out, and counted in a warning. If no node can be made, returns the parent. */
uint32_t runs_push(struct runs *r, uint32_t parent, uint32_t key, const frame_id *frames,
                   size_t count);

/* The stack of a node. */
static inline stack_id runs_stack(const struct runs *r, uint32_t node)
{
    return r->stacks[node];
}

/* Discards all nodes if there are many, which makes their numbers invalid. For readers
 * that hold no nodes between samples. */
void runs_forget_many(struct runs *r);

/* Reports the nodes that the limits left out. Call it after the last run. */
void runs_end(struct runs *r);

#endif
