/* SPDX-License-Identifier: Apache-2.0 */
/* New stacks of a window as bytes. A stack is its parent's id and a frame; ids count up, and a
 * parent has a smaller id. The bytes are two columns, compressed with zstd; stoke-store(5)
 * specifies them. The bytes of a store are hostile input. */
#ifndef STOKE_STORE_STACKS_H
#define STOKE_STORE_STACKS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/output.h"

#define STORE_STACKS_MAX ((size_t)1 << 24) /* of one window */

struct store_stack {
    uint32_t parent, frame; /* ids of the store */
};

/* Appends the bytes of stacks with the ids from `first` on. False if out of memory. */
bool store_stacks_encode(const struct store_stack *stacks, size_t count, uint64_t first,
                         struct output *out, struct error *err);

/* Reads `count` stacks into the arena. False with err set if the bytes are damaged, or
 * if out of memory. */
bool store_stacks_decode(struct str bytes, uint64_t first, size_t count,
                         struct arena *arena, struct store_stack **stacks,
                         struct error *err);

#endif
