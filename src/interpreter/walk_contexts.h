/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are contexts of calls (INTERPRETER_WALK_CONTEXTS), from outside the process. */
#ifndef STOKE_INTERPRETER_WALK_CONTEXTS_H
#define STOKE_INTERPRETER_WALK_CONTEXTS_H

#include "interpreter/memory.h"

/* As interpreter_walk_thread (walk.h). */
enum interpreter_end interpreter_contexts_walk(const struct interpreter_access *access,
                                               const struct interpreter_walk *layout,
                                               uint64_t state,
                                               struct interpreter_walk_frame *frames,
                                               size_t *count);

#endif
