/* SPDX-License-Identifier: Apache-2.0 */
/* Translated blocks: each distinct block (address, bytes, map) is described once in
 * the trace, and has an id.
 *
 * Several threads of QEMU may translate at the same time: block_of locks. */
#ifndef STOKE_AGENTS_QEMU_BLOCK_H
#define STOKE_AGENTS_QEMU_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An instruction that changes the trigger; the new state applies after it. */
struct block_mark {
    uint32_t index;
    uint32_t on; /* new state, all ones or 0: as in struct lane */
};

struct block {
    uint64_t address;
    uint32_t id;
    uint32_t map;
    uint32_t size;  /* in bytes */
    uint32_t count; /* of instructions */
    uint32_t begin; /* number of instructions that count as started at the entry */
    uint32_t whole; /* `count`; 0 if there are marks */
    const struct block_mark *marks;
    uint32_t mark_count;
    unsigned char bytes[];
};

/* Maximum length: more than QEMU translates at once (512 instructions). */
enum { BLOCK_INSTRUCTIONS = 1024, BLOCK_BYTES = 4 * BLOCK_INSTRUCTIONS };

/* A block as QEMU has it, filled in by the plugin. */
struct block_draft {
    uint64_t address;
    uint32_t map, size, count;
    uint32_t at[BLOCK_INSTRUCTIONS]; /* offset of each instruction in `bytes` */
    unsigned char bytes[BLOCK_BYTES];
};

/* Whether an instruction may trap, which ends the block early. True for all except
 * those that are known not to trap: integer arithmetic, and jumps. */
bool instruction_may_trap(const unsigned char *bytes, size_t size);

/* Whether an instruction stores or loads the context of a stack: see qemu_format.h. */
enum block_context { CONTEXT_NONE, CONTEXT_SAVE, CONTEXT_LOAD };

enum block_context block_context_at(const struct block_draft *d, uint32_t index);

/* The block of a draft. A new block is described in the trace. It is valid until the
 * end. NULL if out of memory, or all ids are used. */
const struct block *block_of(const struct block_draft *draft);

/* Describes all blocks again: a forked guest begins its own trace. */
void blocks_describe_again(void);

/* Lock and unlock around a fork. */
void blocks_lock(void);
void blocks_unlock(void);

#endif
