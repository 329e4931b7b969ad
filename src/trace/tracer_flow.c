/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and returns, jumps from function to function.
 *
 * Looking for a frame costs as many steps as there are frames above it. A search that
 * finds one leaves those frames, so it is paid for; one that fails is paid for by calls:
 * each allows for some steps, so that no trace takes longer than its length. */
#include "trace/tracer_parts.h"

#define CREDIT_PER_CALL 8
#define CREDIT_MAX ((size_t)64 << 20)
#define CREDIT_FREE 256 /* frames that every search may look at */

/* --- Frames ------------------------------------------------------------------------ */

/* Unknown code is one frame, however it calls itself. */
static trace_node node_for(struct tracer *t, trace_node parent, trace_node below,
                           trace_function_id below_function, trace_function_id function)
{
    bool same = function == below_function &&
                (t->code.functions[function].flags & TRACE_FUNCTION_UNKNOWN);
    return same ? below : trace_tree_child(tracer_tree(t), parent, function);
}

static void add_frame(struct tracer *t, struct trace_task *task, struct trace_frame f)
{
    struct trace_frame *frames =
        arena_grow(&t->arena, task->frames, &task->cap, task->count + 1, sizeof *frames);
    if (!frames)
        return;
    task->frames = frames;
    frames[task->count++] = f;
    if (task->count > t->report.deepest)
        t->report.deepest = task->count;
}

void tracer_push(struct tracer *t, trace_function_id function, uint64_t returns)
{
    struct trace_task *task = tracer_task(t);
    const struct trace_frame *top = tracer_top(t);
    if (t->credit < CREDIT_MAX)
        t->credit += CREDIT_PER_CALL;
    if (task->count >= TRACE_FRAMES_MAX) {
        task->beyond++;
        t->report.too_deep++;
        return;
    }
    trace_node node = node_for(t, t->leaf, top->node, top->function, function);
    add_frame(t, task, (struct trace_frame){returns, node, function});
}

void tracer_pop_to(struct tracer *t, size_t count)
{
    struct trace_task *task = tracer_task(t);
    task->count = count;
    task->beyond = 0;
    while (task->trap_count && task->traps[task->trap_count - 1].frame >= count)
        task->trap_count--;
}

/* The stack that the innermost frame was called from. */
static trace_node caller_node(struct tracer *t)
{
    struct trace_task *task = tracer_task(t);
    const struct trace_frame *top = tracer_top(t);
    bool shared = task->count > 1 && top[-1].node == top->node;
    return shared ? top->node : trace_node_parent(tracer_tree(t), top->node);
}

void tracer_replace(struct tracer *t, trace_function_id function)
{
    struct trace_task *task = tracer_task(t);
    struct trace_frame *top = tracer_top(t);
    if (top->function == function)
        return;
    trace_node caller = caller_node(t);
    bool inner = task->count > 1;
    top->node = node_for(t, caller, inner ? top[-1].node : 0,
                         inner ? top[-1].function : 0, function);
    top->function = function;
}

void tracer_begin_stack(struct tracer *t, struct trace_task *task,
                        trace_function_id function)
{
    struct trace_tree *tree = tracer_tree(t);
    trace_node base = trace_tree_base(tree, (uint32_t)(task - t->tasks));
    task->count = task->trap_count = 0;
    task->beyond = 0;
    add_frame(t, task,
              (struct trace_frame){0, trace_tree_child(tree, base, function), function});
}

/* --- Searches ---------------------------------------------------------------------- */

/* How many frames may be looked at. */
static size_t search_limit(const struct tracer *t)
{
    return t->credit + CREDIT_FREE;
}

static size_t searched(struct tracer *t, size_t found, size_t steps)
{
    if (!found && steps > CREDIT_FREE)
        t->credit -= steps - CREDIT_FREE;
    return found;
}

size_t tracer_find_return(struct tracer *t, uint64_t address)
{
    const struct trace_task *task = tracer_task(t);
    size_t i = task->count, limit = search_limit(t);
    for (; i > 0 && task->count - i < limit; i--)
        if (task->frames[i - 1].returns == address)
            break;
    bool found = i > 0 && task->count - i < limit;
    return searched(t, found ? i : 0, task->count - i);
}

size_t tracer_find_function(struct tracer *t, trace_function_id function)
{
    const struct trace_task *task = tracer_task(t);
    size_t i = task->count, limit = search_limit(t);
    for (; i > 0 && task->count - i < limit; i--)
        if (task->frames[i - 1].function == function)
            break;
    bool found = i > 0 && task->count - i < limit;
    return searched(t, found ? i : 0, task->count - i);
}

/* --- Calls ------------------------------------------------------------------------- */

/* Remembers where a function that returns twice was called. */
static void mark_call(struct tracer *t, uint64_t returns)
{
    size_t max = sizeof t->marks / sizeof *t->marks;
    if (t->mark_count == max) {
        memmove(t->marks, t->marks + 1, (max - 1) * sizeof *t->marks);
        t->mark_count--;
    }
    t->marks[t->mark_count++] =
        (struct trace_mark){returns, tracer_task(t)->count, t->current};
}

void tracer_call(struct tracer *t, const struct trace_step *s, uint64_t returns)
{
    t->report.calls++;
    if (t->code.functions[s->function].flags & TRACE_FUNCTION_TWICE)
        mark_call(t, returns);
    tracer_push(t, s->function, returns);
}

/* --- Returns ----------------------------------------------------------------------- */

static void unwind_to(struct tracer *t, size_t count)
{
    struct trace_task *task = tracer_task(t);
    t->report.unwound += task->count - count;
    tracer_pop_to(t, count);
}

/* longjmp: the newest call that returns twice there, in a frame that is still on the
 * stack. */
static bool return_twice(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    for (size_t i = t->mark_count; i-- > 0;) {
        const struct trace_mark *m = &t->marks[i];
        if (m->returns != s->to || m->task != t->current || m->depth > task->count)
            continue;
        if (m->depth == 0 || task->frames[m->depth - 1].function != s->function)
            continue;
        unwind_to(t, m->depth);
        return true;
    }
    return false;
}

/* The outermost frame known returns, so it was called by what it returns to: what was
 * counted for its stack is that of a stack one frame deeper. */
void tracer_infer_caller(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    struct trace_tree *tree = tracer_tree(t);
    trace_node base = trace_node_parent(tree, task->frames[0].node);
    bool known = trace_node_is_base(tree, base);
    t->report.callers += !t->on_trial.is_on;
    task->callers++;
    tracer_begin_stack(t, task, s->function);
    trace_place_id call = tracer_call_before(t, s);
    trace_place_id place = call ? call : s->to_site->place;
    trace_node caller = tracer_leaf(t, &task->frames[0], place);
    if (known)
        tree->bases[tree->trie.nodes[base].key & ~TRACE_BASE_KEY].link = caller;
}

/* An exception: one more than the number of the innermost frame that has a landing pad
 * there for the call that it is in; 0 for none. */
static size_t find_landing(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    uint32_t binary = t->code.functions[s->function].binary;
    struct trace_where where = trace_code_where_in(&t->code, s->to, binary);
    if (!where.binary)
        return 0;
    const struct landing_table *landing = &trace_code_binary(&t->code, binary)->landing;
    size_t limit = search_limit(t), i = task->count - 1;
    for (; landing->count && i > 0 && task->count - i < limit; i--) {
        const struct trace_frame *f = &task->frames[i - 1];
        if (f->function == s->function &&
            landing_find(landing, f[1].returns - where.bias - 1) == s->to - where.bias)
            return i;
    }
    return searched(t, 0, landing->count ? task->count - i : 0);
}

/* longjmp or an exception, where nothing tells which of the function's frames it is that
 * goes on: the innermost, but not that which calls. */
static size_t find_caught(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    size_t found = find_landing(t, s);
    if (!found)
        found = tracer_find_function(t, s->function);
    return found < task->count ? found : 0;
}

/* Code may jump by a link register, too. */
static bool is_behind_call(struct tracer *t, const struct trace_step *s)
{
    return s->to_site->kind == INSTRUCTION_UNKNOWN || tracer_call_before(t, s);
}

/* A new task returns from the first function that it was in to where another begins: what
 * made the task has set it up so, as if it had been called from there. */
static bool goes_on_beyond(const struct trace_task *task, const struct trace_step *s)
{
    return task->is_born && !task->begins_in_trap &&
           (s->to_site->flags & TRACE_SITE_ENTRY);
}

/* Unknown code is one frame, however it returns to itself. */
static bool is_same_unknown(struct tracer *t, const struct trace_step *s)
{
    return tracer_top(t)->function == s->function &&
           (t->code.functions[s->function].flags & TRACE_FUNCTION_UNKNOWN);
}

static void lose_caller(struct tracer *t, const struct trace_step *s)
{
    t->report.unmatched++;
    tracer_replace(t, s->function);
}

/* A return that matches no call: longjmp, an exception, or code that sets the return
 * address itself. */
static void return_unmatched(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    size_t found;
    if (return_twice(t, s))
        return;
    if (task->count == 1) {
        if (is_same_unknown(t, s))
            return;
        if (!is_behind_call(t, s) && !goes_on_beyond(task, s))
            tracer_replace(t, s->function);
        else if (t->on_trial.is_on)
            tracer_trial_return(t, s);
        else if (task->callers < TRACE_CALLERS_MAX)
            tracer_infer_caller(t, s);
        else
            lose_caller(t, s);
    } else if (tracer_resume(t, s)) {
        return;
    } else if (!tracer_in_trap(task) && (found = find_caught(t, s)) > 0) {
        unwind_to(t, found);
    } else if (!tracer_return_to_handler(t, s)) {
        if (s->function == TRACE_UNKNOWN_USER)
            tracer_return_from_handler(t);
        t->report.unmatched += !tracer_in_trap(task);
        tracer_replace(t, s->function);
    }
}

void tracer_return(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    const struct trace_frame *top = tracer_top(t);
    size_t found;
    t->report.returns++;
    if (task->beyond) {
        task->beyond--;
        return;
    }
    if (tracer_switches(t)) {
        tracer_switch(t, s);
    } else if (top->returns == s->to && s->to && task->count > 1) {
        tracer_pop_to(t, task->count - 1);
    } else if (s->to && (found = tracer_find_return(t, s->to)) > 1) {
        unwind_to(t, found - 1);
    } else {
        return_unmatched(t, s);
    }
}

/* A coroutine goes on where it swapped away, in place of this one; or this one was called
 * from there. */
void tracer_swap(struct tracer *t, const struct trace_step *s)
{
    size_t count = tracer_task(t)->count;
    const struct trace_frame *top = tracer_top(t);
    if (top->returns == s->to && count > 1 && top[-1].function == s->function) {
        tracer_pop_to(t, count - 1);
        return;
    }
    tracer_replace(t, s->function);
    tracer_top(t)->returns = s->from + s->from_site->length;
}

/* --- Jumps ------------------------------------------------------------------------- */

void tracer_flow(struct tracer *t, const struct trace_step *s)
{
    const struct trace_frame *top = tracer_top(t);
    struct trace_task *task = tracer_task(t);
    if (s->function == top->function ||
        (t->code.functions[s->function].flags & TRACE_FUNCTION_LABEL))
        return;
    if (top->returns == s->to && s->to && task->count > 1 && !task->beyond &&
        s->from_site->kind == INSTRUCTION_JUMP_REGISTER) {
        tracer_pop_to(t, task->count - 1); /* a return by another register */
        return;
    }
    t->report.tails++;
    tracer_replace(t, s->function);
    tracer_name_task(t, s);
}
