/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, returns, and jumps between functions.
 *
 * A search for a frame takes as many steps as there are frames above it. A successful
 * search removes these frames, so its cost is bounded by the calls that pushed them.
 * Each call also allows a number of steps for searches that fail, so the total time is
 * proportional to the length of the trace. */
#include "base/array.h"
#include "trace/tracer_parts.h"

#define CREDIT_PER_CALL 8
#define CREDIT_MAX ((size_t)64 << 20)
#define CREDIT_FREE 256 /* frames that every search may check */

/* --- Frames ------------------------------------------------------------------------ */

/* Unknown code is one frame, even if it calls itself. */
static trace_node node_for(struct tracer *t, trace_node parent, trace_node below,
                           trace_function_id below_function, trace_function_id function)
{
    bool same = function == below_function &&
                (t->code.functions[function].flags & TRACE_FUNCTION_UNKNOWN);
    return same ? below : trace_tree_child(tracer_tree(t), parent, function);
}

static void add_frame(struct tracer *t, struct trace_task *task, struct trace_frame f)
{
    struct trace_frame *frame =
        ARRAY_APPEND(&t->arena, task->frames, task->count, task->cap);
    if (!frame)
        return;
    *frame = f;
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

/* The stack of the caller of the innermost frame. */
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

static void begin_below(struct tracer *t, struct trace_task *task, trace_node base,
                        trace_function_id function)
{
    trace_node node = trace_tree_child(tracer_tree(t), base, function);
    task->count = task->trap_count = 0;
    task->beyond = 0;
    task->begun = function;
    add_frame(t, task, (struct trace_frame){0, node, function});
}

void tracer_begin_stack(struct tracer *t, struct trace_task *task,
                        trace_function_id function)
{
    begin_below(t, task, trace_tree_base(tracer_tree(t), (uint32_t)(task - t->tasks)),
                function);
}

void tracer_begin_again(struct tracer *t, struct trace_task *task,
                        const struct trace_step *s)
{
    const struct trace_tree *tree = tracer_tree(t);
    trace_node base = task->count ? trace_node_parent(tree, task->frames[0].node) : 0;
    bool is_equal = base && task->begun == s->function && task->begun_from == s->from &&
                    task->begun_to == s->to && trace_node_is_base(tree, base) &&
                    tree->bases[tree->trie.nodes[base].key & ~TRACE_BASE_KEY].link == 0;
    if (is_equal)
        begin_below(t, task, base, s->function);
    else
        tracer_begin_stack(t, task, s->function);
    task->begun_from = s->from;
    task->begun_to = s->to;
}

/* --- Searches ---------------------------------------------------------------------- */

/* How many frames a search may check. */
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

/* Stores where a function that returns twice was called. */
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

/* longjmp: the newest call of a function that returns twice at this address, in a
 * frame that is still on the stack. */
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

/* The outermost known frame returns, so the function at the return address is its
 * caller: the counts of its stack belong to a stack one frame deeper. */
void tracer_infer_caller(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    struct trace_tree *tree = tracer_tree(t);
    trace_node base = trace_node_parent(tree, task->frames[0].node);
    bool known = trace_node_is_base(tree, base);
    t->report.callers += !t->on_trial.is_on;
    task->callers++;
    tracer_begin_stack(t, task, s->function);
    trace_location_id call = tracer_call_before(t, s);
    trace_location_id location = call ? call : s->to_site->location;
    trace_node caller = tracer_leaf(t, &task->frames[0], location);
    if (known)
        tree->bases[tree->trie.nodes[base].key & ~TRACE_BASE_KEY].link = caller;
}

/* An exception: 1 + the index of the innermost frame with a landing pad there for its
 * current call; 0: none. */
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

/* longjmp or an exception, when several frames of the function can continue: the
 * innermost, but not the current one. */
static size_t find_caught(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    size_t found = find_landing(t, s);
    if (!found)
        found = tracer_find_function(t, s->function);
    return found < task->count ? found : 0;
}

/* Code can use a link register for jumps, too. */
static bool is_behind_call(struct tracer *t, const struct trace_step *s)
{
    return s->to_site->kind == INSTRUCTION_UNKNOWN || tracer_call_before(t, s);
}

/* A new task returns from its first function to the start of another one: the creator
 * of the task has set the return address as if that function had made the call. */
static bool goes_on_beyond(const struct trace_task *task, const struct trace_step *s)
{
    return task->is_born && !task->begins_in_trap &&
           (s->to_site->flags & TRACE_SITE_ENTRY);
}

/* Unknown code is one frame, even if it returns to itself. */
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

/* A return without a matching call: longjmp, an exception, or code that sets the
 * return address. */
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
    } else if (tracer_return_to_trampoline(t, s) || tracer_resume(t, s)) {
        return;
    } else if (!tracer_in_trap(task) && (found = find_caught(t, s)) > 0) {
        unwind_to(t, found);
    } else if (!tracer_return_to_handler(t, s)) {
        if (s->function == TRACE_UNKNOWN_USER)
            tracer_return_from_handler(t, s);
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

/* A coroutine continues after its last swap and replaces the current one; or the
 * current one called it. */
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
        tracer_pop_to(t, task->count -
                             1); /* a return by another register than a link register */
        return;
    }
    if (s->from_site->kind == INSTRUCTION_JUMP_REGISTER && tracer_leave_handler(t, s))
        return;
    t->report.tails++;
    tracer_replace(t, s->function);
    tracer_name_task(t, s);
}
