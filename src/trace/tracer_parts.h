/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the tracer share. */
#ifndef STOKE_TRACE_TRACER_PARTS_H
#define STOKE_TRACE_TRACER_PARTS_H

#include "trace/tracer.h"

static inline struct trace_task *tracer_task(struct tracer *t)
{
    return &t->tasks[t->current];
}

static inline struct trace_frame *tracer_top(struct tracer *t)
{
    struct trace_task *task = tracer_task(t);
    return &task->frames[task->count - 1];
}

/* The tree that the current task's nodes are in. */
static inline struct trace_tree *tracer_tree(struct tracer *t)
{
    return t->on_trial.is_on ? &t->trial : &t->tree;
}

/* The innermost function returns as another task. What a function does to its stack is
 * looked at where the trace does not tell. */
static inline bool tracer_switches(const struct tracer *t)
{
    const struct trace_task *task = &t->tasks[t->current];
    unsigned flags = t->code.functions[task->frames[task->count - 1].function].flags;
    return (flags & TRACE_FUNCTION_SWITCH) ||
           ((flags & TRACE_FUNCTION_SWAPS) && !t->has_contexts);
}

/* The place of the call that returns to s->to, or 0. */
static inline trace_place_id tracer_call_before(struct tracer *t,
                                                const struct trace_step *s)
{
    return trace_code_call_before(&t->code, s->to, t->code.functions[s->function].binary);
}

/* The handler of a trap is the innermost frame. */
static inline bool tracer_in_trap(const struct trace_task *task)
{
    return task->trap_count && task->traps[task->trap_count - 1].frame + 1 == task->count;
}

/* Where what was interrupted goes on: it is tried again, or is done. */
static inline bool trace_trap_leads_to(const struct trace_trap *trap, uint64_t address)
{
    return address == trap->again || (trap->next && address == trap->next) ||
           (trap->site.kind == INSTRUCTION_BRANCH &&
            address == trap->again + (uint64_t)(int64_t)trap->site.displacement);
}

/* --- tracer.c ---------------------------------------------------------------------- */

/* Counts what was spent up to now. */
void tracer_charge(struct tracer *t);

/* Where a frame's own stack is at a place in it: with what is inlined there. */
trace_node tracer_leaf(struct tracer *t, const struct trace_frame *f,
                       trace_place_id place);

/* Has that step done, once more or now, when what is under way is finished. */
void tracer_repeat(struct tracer *t, const struct trace_step *s);

/* --- tracer_flow.c ----------------------------------------------------------------- */

void tracer_push(struct tracer *t, trace_function_id function, uint64_t returns);

/* Leaves the `count` outermost frames. */
void tracer_pop_to(struct tracer *t, size_t count);

/* The innermost frame is now of that function. */
void tracer_replace(struct tracer *t, trace_function_id function);

/* Begins a stack of which no caller is known. */
void tracer_begin_stack(struct tracer *t, struct trace_task *task,
                        trace_function_id function);

void tracer_call(struct tracer *t, const struct trace_step *s, uint64_t returns);
void tracer_return(struct tracer *t, const struct trace_step *s);
void tracer_swap(struct tracer *t, const struct trace_step *s);

/* The flow goes on in s->function, by a jump or because it follows. */
void tracer_flow(struct tracer *t, const struct trace_step *s);

/* The outermost frame known returns to s->to: a caller of it is known now. */
void tracer_infer_caller(struct tracer *t, const struct trace_step *s);

/* One more than the number of the innermost frame that returns to an address, or that is
 * of a function; 0 where there is none. */
size_t tracer_find_return(struct tracer *t, uint64_t address);
size_t tracer_find_function(struct tracer *t, trace_function_id function);

/* --- tracer_program.c --------------------------------------------------------------- */

/* A trap is taken at s->from: the stack is kept, where it is a program's call. */
void tracer_keep_ecall(struct tracer *t, const struct trace_step *s);

/* The current task, of which no stack is known, goes on at s->to: true where a program
 * was forked there, whose stack is now the task's. */
bool tracer_fork(struct tracer *t, const struct trace_step *s);

/* The task is called as the program that starts at s->to, if one does. */
void tracer_name_task(struct tracer *t, const struct trace_step *s);

/* s->to is where a program starts: true, and its stack is begun, where it is a user's. */
bool tracer_exec(struct tracer *t, const struct trace_step *s);

/* --- tracer_trap.c ----------------------------------------------------------------- */

/* s->to does not follow from the instruction at s->from. */
void tracer_stray(struct tracer *t, const struct trace_step *s);

/* s->to follows code that is not known. */
void tracer_unknown(struct tracer *t, const struct trace_step *s);

void tracer_trap_return(struct tracer *t, const struct trace_step *s);

/* An interrupt instead of where the instruction leads to; true where that was it. */
bool tracer_interrupted(struct tracer *t, const struct trace_step *s);

/* A return that leads to a function's entry: true where it was interrupted there, by a
 * handler that is not known yet. */
bool tracer_return_to_handler(struct tracer *t, const struct trace_step *s);

/* The innermost frame returns to code that is not known, although its caller is: it is
 * the handler of a signal. */
void tracer_return_from_handler(struct tracer *t);

/* A trap that began at or below that frame returned. */
bool tracer_resume(struct tracer *t, const struct trace_step *s);

/* The task's innermost trap below `depth` frames returns to s->to. */
bool tracer_trap_resumes(const struct trace_task *task, size_t depth,
                         const struct trace_step *s);

/* A trap's return to where no trap was: a task begins there. */
bool tracer_begins_by_trap(const struct tracer *t, const struct trace_task *task,
                           const struct trace_step *s);

/* --- tracer_context.c --------------------------------------------------------------- */

/* A context was loaded: changes the stack where the step does. True where nothing else is
 * to be done for it. */
bool tracer_change_stack(struct tracer *t, const struct trace_step *s);

/* The current task is left for another one, of which `depth` frames are kept. */
void tracer_resume_task(struct tracer *t, uint32_t number, size_t depth);

/* The current task is left for one that begins at s->to. */
void tracer_start_task(struct tracer *t, const struct trace_step *s);

/* --- tracer_share.c ----------------------------------------------------------------- */

/* Gives a task an identity of its own. */
void tracer_identify_task(struct tracer *t, uint32_t number);

/* The current task goes on here. */
void tracer_hold_task(struct tracer *t);

/* The current task has stored the context of that key. */
void tracer_share_context(struct tracer *t, uint64_t key);

/* The context that was stored last with that key, in any tracer, or NULL. Its task is one
 * of this tracer. It may be put into *copy. */
const struct trace_context *tracer_find_context(struct tracer *t, uint64_t key,
                                                struct trace_context *copy);

/* --- tracer_task.c ----------------------------------------------------------------- */

/* A new task without frames; its number. */
uint32_t tracer_new_task(struct tracer *t);

/* The same, or one that is away for long, where there are too many. */
uint32_t tracer_free_task(struct tracer *t);

/* The function that switches tasks returns. */
void tracer_switch(struct tracer *t, const struct trace_step *s);

/* The outermost frame known of the task on trial returns. */
void tracer_trial_return(struct tracer *t, const struct trace_step *s);

/* Decides which task is on trial, by what is known now. */
void tracer_decide(struct tracer *t);

#endif
