/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the frames of a thread from outside, while it may run: what the kernel does at a sample
 * (os/interpreter_stacks.h), where its programs are not allowed.
 *
 * The frames are read in few pieces. Then the innermost frame must be the same as before, or
 * a caller of it, or a function that it has called; otherwise the thread has executed too
 * much since, and the frames are read again. */
#ifndef STOKE_INTERPRETER_WALK_H
#define STOKE_INTERPRETER_WALK_H

#include "interpreter/interpreter.h"

/* Frames that are read at most. */
#define INTERPRETER_WALK_MAX 2048

/* Reads the stack of the thread whose structure is at `state`, leaf first, into `frames`, which
 * has room for INTERPRETER_WALK_MAX. TORN: the frames contradict each other, or there are none;
 * *count is 0. */
enum interpreter_end interpreter_walk_thread(const struct interpreter_access *access,
                                             const struct interpreter_walk *layout,
                                             uint64_t state,
                                             struct interpreter_walk_frame *frames,
                                             size_t *count);

/* The same, with names: replaces the frames of `stack` (interpreter.h). False when out of
 * memory. */
bool interpreter_walk_stack(struct interpreter_runtime *r,
                            const struct interpreter_walk *layout, uint64_t state,
                            struct interpreter_stack *stack, struct arena *scratch);

#endif
