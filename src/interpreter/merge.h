/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the native frames of a thread with its interpreted ones. From the leaf on, each
 * native frame of the interpreter's loop is replaced by the frames that it executes, up to the
 * next entry; other internal frames of the interpreter are left out. If there is one loop more
 * than entries, the innermost one is about to begin or to end a call: it is left out. So are
 * frames that are not executed yet (prepares_calls). */
#ifndef STOKE_INTERPRETER_MERGE_H
#define STOKE_INTERPRETER_MERGE_H

#include "interpreter/interpreter.h"

struct merged_frame {
    bool is_interpreted;
    uint32_t index; /* into the list of its kind */
};

enum merge_result {
    MERGE_EXACT,
    MERGE_PARTIAL,  /* one list is truncated; the other continues alone at its end */
    MERGE_DOUBTFUL, /* the numbers of native and interpreted entries differ: both lists
                       follow each other, the native one first, and nothing is left out */
};

/* Decides about native functions of the runtime without a name, leaf first: in a stripped
 * runtime, they are most often calls from the loop to the loop; those that the innermost loop
 * called may do work, unless they are a part of that loop. */
void interpreter_settle(const struct interpreter *interpreter,
                        enum interpreter_native *roles, size_t count);

/* `interpreter` is NULL if there are no interpreted frames. `roles` are those of the native
 * frames, leaf first. `is_whole`: the native stack reaches its
 * outermost frame. `out` has room for all frames of both lists; *count is set. */
enum merge_result interpreter_merge(const struct interpreter *interpreter,
                                    const enum interpreter_native *roles,
                                    size_t native_count, bool is_whole,
                                    const struct interpreter_stack *stack,
                                    struct merged_frame *out, size_t *count);

/* The same for a runtime whose frames are native frames (INTERPRETER_WALK_CHAIN): each replaces
 * the native frame with its address, in `addresses`. A builtin does so only if it has no native
 * name. Innermost frames without a native one are left out: they may have ended. DOUBTFUL: a
 * further frame has no native one, and is after the last frame that has one; or a loop has no
 * frame. */
enum merge_result interpreter_merge_chain(const enum interpreter_native *roles,
                                          const uint64_t *addresses, size_t native_count,
                                          bool is_whole,
                                          const struct interpreter_stack *stack,
                                          struct merged_frame *out, size_t *count);

#endif
