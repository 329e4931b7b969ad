/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are elements of an array (INTERPRETER_WALK_ARRAY), from outside the process. */
#ifndef STOKE_INTERPRETER_WALK_ARRAY_H
#define STOKE_INTERPRETER_WALK_ARRAY_H

#include "interpreter/memory.h"

/* The frames of a thread: from the innermost one to the end of the stack. False if they are not
 * valid. */
bool interpreter_array_bounds(struct memory *m, const struct interpreter_walk *l,
                              uint64_t state, uint64_t *first, uint64_t *end);

/* Reads a frame; false if there is none: below the outermost frame, or, with m->failed, not
 * readable. `bytes` are layout->frame_size of them. *is_stale is set if the frame was replaced
 * meanwhile: its method is another one than that of its code, and is left out. */
bool interpreter_array_frame(struct memory *m, const struct interpreter_walk *l,
                             const unsigned char *bytes,
                             struct interpreter_walk_frame *frame, bool *is_stale);

/* The code that a method executes. */
uint64_t interpreter_array_code(struct memory *m, uint64_t method);

/* As interpreter_walk_thread (walk.h). */
enum interpreter_end interpreter_array_walk(const struct interpreter_access *access,
                                            const struct interpreter_walk *layout,
                                            uint64_t state,
                                            struct interpreter_walk_frame *frames,
                                            size_t *count);

#endif
