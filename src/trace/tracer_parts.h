/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the tracer. */
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

/* The tree with the nodes of the current task. */
static inline struct trace_tree *tracer_tree(struct tracer *t)
{
    return t->on_trial.is_on ? &t->trial : &t->tree;
}

static inline bool tracer_has_contexts(const struct tracer *t)
{
    return t->shared ? t->shared->has_contexts : t->has_contexts;
}

/* Whether the innermost frame is the handler of a trap. */
static inline bool tracer_in_trap(const struct trace_task *task)
{
    return task->trap_count && task->traps[task->trap_count - 1].frame + 1 == task->count;
}

/* Whether the innermost function returns in another task. The code of a function shows
 * this if the trace has no contexts; a trap handler continues on the kernel's stack. */
static inline bool tracer_switches(const struct tracer *t)
{
    const struct trace_task *task = &t->tasks[t->current];
    unsigned flags = t->code.functions[task->frames[task->count - 1].function].flags;
    return (flags & TRACE_FUNCTION_SWITCH) ||
           ((flags & TRACE_FUNCTION_SWAPS) && !tracer_has_contexts(t) &&
            !tracer_in_trap(task) && !(task->begins_in_trap && task->count == 1));
}

/* The location of the call that returns to s->to, or 0. */
static inline trace_location_id tracer_call_before(struct tracer *t,
                                                   const struct trace_step *s)
{
    return trace_code_call_before(&t->code, s->to, t->code.functions[s->function].binary);
}

/* Whether s->to continues the interrupted instruction: it is executed again, or is
 * complete. */
static inline bool trace_trap_leads_to(const struct trace_trap *trap, uint64_t address)
{
    return address == trap->again || (trap->next && address == trap->next) ||
           (trap->site.kind == INSTRUCTION_BRANCH &&
            address == trap->again + (uint64_t)(int64_t)trap->site.displacement);
}

/* Whether the interrupted instruction called or jumped to a function by register: its
 * target may be the function at s->to. */
static inline bool trace_trap_may_enter(const struct trace_trap *trap,
                                        const struct trace_step *s)
{
    bool by_register = trap->site.kind == INSTRUCTION_CALL_REGISTER ||
                       trap->site.kind == INSTRUCTION_JUMP_REGISTER;
    return by_register && trap->next == 0 && !trap->load &&
           (s->to_site->flags & TRACE_SITE_ENTRY);
}

/* --- tracer.c ---------------------------------------------------------------------- */

/* Counts the cycles up to now. */
void tracer_charge(struct tracer *t);

/* The node of a frame at a location, including inlined calls. */
trace_node tracer_leaf(struct tracer *t, const struct trace_frame *f,
                       trace_location_id location);

/* Repeats the step after the current one is complete. */
void tracer_repeat(struct tracer *t, const struct trace_step *s);

/* --- tracer_flow.c ----------------------------------------------------------------- */

void tracer_push(struct tracer *t, trace_function_id function, uint64_t returns);

/* Removes the `count` outermost frames. */
void tracer_pop_to(struct tracer *t, size_t count);

/* Changes the function of the innermost frame. */
void tracer_replace(struct tracer *t, trace_function_id function);

/* Begins a stack without a known caller. */
void tracer_begin_stack(struct tracer *t, struct trace_task *task,
                        trace_function_id function);

/* The same, if the stack before it does not get a caller from it. A stack that began
 * with the same step uses the same base, so repetitions need no memory. */
void tracer_begin_again(struct tracer *t, struct trace_task *task,
                        const struct trace_step *s);

void tracer_call(struct tracer *t, const struct trace_step *s, uint64_t returns);
void tracer_return(struct tracer *t, const struct trace_step *s);
void tracer_swap(struct tracer *t, const struct trace_step *s);

/* Execution continues in s->function, by a jump or without one. */
void tracer_flow(struct tracer *t, const struct trace_step *s);

/* The outermost known frame returns to s->to, so one of its callers is known now. */
void tracer_infer_caller(struct tracer *t, const struct trace_step *s);

/* 1 + the index of the innermost frame that returns to an address, or that has this
 * function; 0: none. */
size_t tracer_find_return(struct tracer *t, uint64_t address);
size_t tracer_find_function(struct tracer *t, trace_function_id function);

/* --- tracer_program.c --------------------------------------------------------------- */

/* A trap occurs at s->from: the stack is copied, if it is a system call of a program. */
void tracer_keep_ecall(struct tracer *t, const struct trace_step *s);

/* The current task, whose stack is unknown, continues at s->to. True if a program was
 * forked there; its stack is then the task's. */
bool tracer_fork(struct tracer *t, const struct trace_step *s);

/* Names the task after the program that starts at s->to, if there is one. */
void tracer_name_task(struct tracer *t, const struct trace_step *s);

/* Whether a program starts at s->to. If it is a user program, its stack begins. */
bool tracer_exec(struct tracer *t, const struct trace_step *s);

/* --- tracer_trap.c ----------------------------------------------------------------- */

/* s->to does not follow from the instruction at s->from. */
void tracer_stray(struct tracer *t, const struct trace_step *s);

/* s->to follows unknown code. */
void tracer_unknown(struct tracer *t, const struct trace_step *s);

void tracer_trap_return(struct tracer *t, const struct trace_step *s);

/* Whether s->to is the start of a trap handler that has returned before. */
bool tracer_is_vector(const struct tracer *t, uint64_t address);

/* The innermost frame is a handler that jumps back to the interrupted code. True if
 * so. */
bool tracer_leave_handler(struct tracer *t, const struct trace_step *s);

/* An interrupt occurs before the target of the instruction. True if so. */
bool tracer_interrupted(struct tracer *t, const struct trace_step *s);

/* A return leads to the start of a function. True if a handler that is not known yet
 * interrupted it there. */
bool tracer_return_to_handler(struct tracer *t, const struct trace_step *s);

/* A trap that began at this frame or a lower one returned. */
bool tracer_resume(struct tracer *t, const struct trace_step *s);

/* The innermost trap of the task below `depth` frames returns to s->to. */
bool tracer_trap_resumes(const struct trace_task *task, size_t depth,
                         const struct trace_step *s);

/* A trap returns to an address without a trap: a task begins there. */
bool tracer_begins_by_trap(const struct tracer *t, const struct trace_task *task,
                           const struct trace_step *s);

/* A trap occurs after the instruction at s->from, before s->next. */
void tracer_enter_trap(struct tracer *t, const struct trace_step *s);
void tracer_add_trap(struct tracer *t, struct trace_trap trap);

/* Leaves the trap handler. The instruction that is executed again may be a call, which
 * is then still to do. */
void tracer_leave_trap(struct tracer *t, const struct trace_trap *left, uint64_t address);

/* The start address of a handler that has returned is certain. */
void tracer_learn_vector(struct tracer *t, uint64_t address);

/* The target of the interrupted instruction was another one than the handler: sets it. */
void tracer_transfer_late(struct tracer *t, const struct trace_trap *left,
                          const struct trace_step *s);

/* It continues in the interrupted function: the handler emulated an instruction, and
 * skipped it. */
bool tracer_passes_over(struct tracer *t, const struct trace_trap *trap,
                        const struct trace_step *s);

/* --- tracer_signal.c ---------------------------------------------------------------- */

/* The second instruction of the signal trampoline is at that address. */
bool tracer_is_sigreturn(const struct tracer *t, uint64_t pc);

/* A handler returns to the trampoline. True if so. */
bool tracer_return_to_trampoline(struct tracer *t, const struct trace_step *s);

/* The innermost frame returns to unknown code, although its caller is known: it is a
 * signal handler, whose start looked like a call. The instruction before it was a call
 * or jump by register, which is still to do after the handler returns. */
void tracer_return_from_handler(struct tracer *t, const struct trace_step *s);

/* The return of a handler was interrupted at the first instruction of the trampoline.
 * True if so. */
bool tracer_interrupt_trampoline(struct tracer *t, const struct trace_step *s);

/* The same, at the second instruction of a trampoline whose bytes are unknown. */
bool tracer_interrupt_sigreturn(struct tracer *t, const struct trace_step *s);

/* Whether rt_sigreturn can cause the step. */
bool tracer_may_end_signal(const struct tracer *t, const struct trace_step *s);

/* rt_sigreturn, or the unknown code that calls it, ends the signal handler before it.
 * True if so. */
bool tracer_end_signal(struct tracer *t, const struct trace_step *s);

/* --- tracer_context.c --------------------------------------------------------------- */

/* A context was loaded: changes the stack if the step does. True if nothing else is to
 * do. */
bool tracer_change_stack(struct tracer *t, const struct trace_step *s);

/* The function that stored the context can return: its stack is known. */
bool tracer_can_return_to(const struct tracer *t, const struct trace_loaded *load);

/* It returns to that address. */
uint64_t tracer_return_to(struct tracer *t, const struct trace_loaded *load);

/* Switches from the current task to another one, of which `depth` frames remain. */
void tracer_resume_task(struct tracer *t, uint32_t number, size_t depth);

/* Switches from the current task to a new one that begins at s->to. */
void tracer_start_task(struct tracer *t, const struct trace_step *s);

/* --- tracer_share.c ----------------------------------------------------------------- */

/* Gives a task its own identity. */
void tracer_identify_task(struct tracer *t, uint32_t number);

/* The current task continues on this core. */
void tracer_hold_task(struct tracer *t);

/* The current task has stored the context of that key. */
void tracer_share_context(struct tracer *t, uint64_t key);

/* The context that was stored last with that key, in any tracer, or NULL. Its task is
 * a task of this tracer. *copy may be used for the result. */
const struct trace_context *tracer_find_context(struct tracer *t, uint64_t key,
                                                struct trace_context *copy);

/* Copies the frames of a program that called its kernel, from another tracer, to a
 * task of this one, below a separate base. False if out of memory. */
bool tracer_adopt_ecall(struct tracer *t, const struct tracer *from,
                        const struct trace_ecall *e, struct trace_frame *frames);

/* --- tracer_task.c ----------------------------------------------------------------- */

/* Adds a task without frames, and returns its number. */
uint32_t tracer_new_task(struct tracer *t);

/* The same, or reuses the task that was suspended for the longest time, if there are
 * too many. */
uint32_t tracer_free_task(struct tracer *t);

/* The function that switches tasks returns. */
void tracer_switch(struct tracer *t, const struct trace_step *s);

/* The outermost known frame of the task on trial returns. */
void tracer_trial_return(struct tracer *t, const struct trace_step *s);

/* Identifies the task on trial from what is known now. */
void tracer_decide(struct tracer *t);

#endif
