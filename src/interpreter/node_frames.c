/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of JavaScript functions of a thread that is stopped. */
#include "base/array.h"
#include "interpreter/node.h"
#include "interpreter/walk_chain.h"

/* Names the frames of the chain; false when out of memory. */
static bool add_frames(struct interpreter_runtime *r, struct interpreter_chain *chain,
                       struct interpreter_stack *stack, struct arena *scratch)
{
    struct interpreter_walk_frame walked;
    uint64_t pc;
    while (interpreter_chain_next(chain, &walked, &pc)) {
        struct interpreter_frame frame;
        if (stack->count == INTERPRETER_FRAMES_MAX) {
            stack->end = INTERPRETER_TRUNCATED;
            return true;
        }
        if (!node_describe(r, &walked, &frame)) {
            stack->end = INTERPRETER_TORN;
            return !r->arena->failed;
        }
        frame.pc = pc;
        struct interpreter_frame *added =
            ARRAY_APPEND(scratch, stack->frames, stack->count, stack->cap);
        if (!added)
            return false;
        *added = frame;
    }
    if (chain->memory->exhausted)
        stack->end = INTERPRETER_TRUNCATED;
    return true;
}

bool node_stack(struct interpreter_runtime *r, const struct interpreter_thread *thread,
                struct interpreter_stack *stack, struct arena *scratch)
{
    const struct node *node = r->data;
    struct memory m = memory_of(r->access);
    struct interpreter_chain chain = {.memory = &m,
                                      .stack = &m,
                                      .layout = &node->walk,
                                      .frame = thread->frame,
                                      .pc = thread->pc};
    stack->count = 0;
    stack->end = INTERPRETER_WHOLE;
    if (!add_frames(r, &chain, stack, scratch))
        return false;
    if (stack->count == 0 && interpreter_chain_search(&chain, thread->stack))
        return add_frames(r, &chain, stack, scratch);
    return true;
}
