/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of interpreted and compiled functions in the native stack (INTERPRETER_WALK_CHAIN), from
 * outside the process: of a thread that is stopped, or of a part of its stack that was recorded
 * with its registers. */
#ifndef STOKE_INTERPRETER_WALK_CHAIN_H
#define STOKE_INTERPRETER_WALK_CHAIN_H

#include "interpreter/memory.h"

/* Where a walk is. */
struct interpreter_chain {
    struct memory *memory; /* of objects */
    struct memory *stack;  /* of frames; may be the same */
    const struct interpreter_walk *layout;
    uint64_t frame; /* the frame pointer; 0: no more frames */
    uint64_t pc;    /* what this frame executes */
    size_t steps;   /* frames so far, native ones, too */
    bool is_cut;    /* the frame is not readable */
};

/* Finds the next frame of a function, and moves to its caller: *frame, and the address that
 * it executes. False at the end of the stack, or with memory->failed after too much work. */
bool interpreter_chain_next(struct interpreter_chain *c,
                            struct interpreter_walk_frame *frame, uint64_t *pc);

/* Searches the stack from the stack pointer on for the frame pointer of a function, where native
 * code has none of its own; false if there is none. */
bool interpreter_chain_search(struct interpreter_chain *c, uint64_t stack);

#endif
