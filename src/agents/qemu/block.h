/* SPDX-License-Identifier: Apache-2.0 */
/* Translated blocks: each distinct one (address, bytes, map) is described once in the
 * trace, and known by its id from then on.
 *
 * QEMU may translate at the same time in several threads: block_of locks. */
#ifndef STOKE_AGENTS_QEMU_BLOCK_H
#define STOKE_AGENTS_QEMU_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An instruction that turns the trigger, after itself. */
struct block_mark {
    uint32_t index;
    uint32_t on; /* all ones, or 0: as in struct lane */
};

struct block {
    uint64_t address;
    uint32_t id;
    uint32_t map;
    uint32_t size;  /* in bytes */
    uint32_t count; /* of instructions */
    uint32_t begin; /* how many count as begun when it is entered */
    uint32_t whole; /* count; 0 where there are marks */
    const struct block_mark *marks;
    uint32_t mark_count;
    unsigned char bytes[];
};

/* The longest that is described: more than QEMU translates at once (512 instructions). */
enum { BLOCK_INSTRUCTIONS = 1024, BLOCK_BYTES = 4 * BLOCK_INSTRUCTIONS };

/* A block as QEMU has it, filled in by the plugin. */
struct block_draft {
    uint64_t address;
    uint32_t map, size, count;
    uint32_t at[BLOCK_INSTRUCTIONS]; /* where each begins in `bytes` */
    unsigned char bytes[BLOCK_BYTES];
};

/* Whether an instruction may trap, so that the block is left in the middle. Said of all
 * but those of which it is known that they never do: arithmetic on integers, and jumps.
 */
bool instruction_may_trap(const unsigned char *bytes, size_t size);

/* An instruction that stores or loads the context of a stack: see qemu_format.h. */
enum block_context { CONTEXT_NONE, CONTEXT_SAVE, CONTEXT_LOAD };

enum block_context block_context_at(const struct block_draft *d, uint32_t index);

/* The block of a draft, described in the trace when it is new. It lives until the end.
 * NULL when memory is short, or the ids are used up. */
const struct block *block_of(const struct block_draft *draft);

/* Describes them all again: a forked guest begins a trace of its own. */
void blocks_describe_again(void);

/* The lock, around a fork. */
void blocks_lock(void);
void blocks_unlock(void);

#endif
