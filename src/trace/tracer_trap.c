/* Traps: an address that no instruction leads to, until sret or mret. */
#include "trace/tracer_parts.h"

/* How many of the traps under way a return from one may end at once. */
#define TRAPS_SEARCHED 64

/* --- What is under way ------------------------------------------------------------- */

static bool resumes_at(const struct trace_trap *trap, uint64_t address)
{
    return address == trap->again || (trap->next && address == trap->next);
}

/* Leaves the trap's handler. What is tried again was a call perhaps, which is then still
 * to be made. */
static void leave_trap(struct tracer *t, const struct trace_trap *left, uint64_t address)
{
    struct trace_task *task = tracer_task(t);
    const struct trace_trap trap = *left;
    t->report.unwound += task->count - 1 - trap.frame;
    tracer_pop_to(t, trap.frame);
    if (address == trap.again && trap.site.kind == INSTRUCTION_CALL && task->count > 1 &&
        tracer_top(t)->returns == trap.again + trap.site.length)
        tracer_pop_to(t, task->count - 1);
}

bool tracer_resume(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    size_t limit = TRAPS_SEARCHED;
    for (size_t i = task->trap_count; i > 0 && limit > 0; i--, limit--) {
        const struct trace_trap *trap = &task->traps[i - 1];
        if (!resumes_at(trap, s->to) || trap->frame == 0)
            continue;
        leave_trap(t, trap, s->to);
        return true;
    }
    return false;
}

/* --- Entering ---------------------------------------------------------------------- */

static bool is_vector(const struct tracer *t, uint64_t address)
{
    for (size_t i = 0; i < t->vector_count; i++)
        if (t->vectors[i] == address)
            return true;
    return false;
}

/* The entry of a handler that has come to its end is one for sure. */
static void learn_vector(struct tracer *t, uint64_t address)
{
    if (is_vector(t, address))
        return;
    if (t->vector_count == TRACE_VECTORS_MAX)
        memmove(t->vectors, t->vectors + 1, --t->vector_count * sizeof *t->vectors);
    t->vectors[t->vector_count++] = address;
}

static void enter_trap(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    size_t frame = task->count;
    t->report.traps++;
    tracer_keep_ecall(t, s);
    tracer_push(t, s->function, 0);
    if (task->count == frame)
        return; /* too deep */
    struct trace_trap *traps = arena_grow(&t->arena, task->traps, &task->trap_cap,
                                          task->trap_count + 1, sizeof *traps);
    if (!traps)
        return;
    task->traps = traps;
    traps[task->trap_count++] =
        (struct trace_trap){frame, s->from, s->next, s->to, *s->from_site};
    /* Patched code may call where a trap might be. */
    task->frames[frame].returns = s->next;
}

bool tracer_interrupted(struct tracer *t, const struct trace_step *s)
{
    if (!is_vector(t, s->to) || tracer_top(t)->returns == s->to)
        return false;
    enter_trap(t, s);
    return true;
}

/* Where a handler may begin. */
static bool is_handler(const struct tracer *t, const struct trace_step *s)
{
    if (is_vector(t, s->to) || s->from_site->kind == INSTRUCTION_ENVIRONMENT)
        return true;
    if (s->to_site->kind == INSTRUCTION_UNKNOWN)
        return true;
    return s->to_site->flags & TRACE_SITE_ENTRY;
}

/* A table of handlers is made of jumps. */
static bool is_vector_table(const struct trace_step *s)
{
    return s->to_site->kind == INSTRUCTION_JUMP && s->to % 4 == 0;
}

void tracer_stray(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    size_t found;
    if (tracer_resume(t, s))
        return;
    if (is_handler(t, s)) {
        enter_trap(t, s);
        return;
    }
    t->report.jumps++;
    if (s->function == tracer_top(t)->function)
        return; /* code that was patched: the binary has no jump there */
    if ((found = tracer_find_return(t, s->to)) > 1)
        tracer_pop_to(t, found - 1);
    else if ((found = tracer_find_function(t, s->function)) > 0)
        tracer_pop_to(t, found);
    else if (is_vector_table(s))
        enter_trap(t, s);
    else if (task->count > 0)
        tracer_replace(t, s->function);
}

/* --- Returning --------------------------------------------------------------------- */

/* The trap began before the trace did, so all that was seen was above what it returns to;
 * but a return to where a function begins is how a system starts what runs above it. */
static void return_beyond(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    struct trace_tree *tree = tracer_tree(t);
    trace_node base = trace_node_parent(tree, task->frames[0].node);
    bool starts = (s->to_site->flags & TRACE_SITE_ENTRY) || task->is_born;
    if (t->on_trial.is_on && starts) {
        tracer_decide(t);
        tracer_repeat(t, s);
        return;
    }
    if (t->on_trial.is_on) {
        tracer_trial_return(t, s);
        return;
    }
    if (!(s->to_site->flags & TRACE_SITE_ENTRY) && tracer_fork(t, s))
        return;
    bool interrupts = !starts || task->begins_in_trap;
    task->begins_in_trap = false;
    task->before = 0;
    tracer_begin_stack(t, task, s->function);
    if (!interrupts || !trace_node_is_base(tree, base) ||
        task->callers >= TRACE_CALLERS_MAX)
        return;
    task->callers++;
    t->report.callers++;
    trace_node caller = tracer_leaf(t, &task->frames[0], s->to_site->place);
    tree->bases[tree->trie.nodes[base].key & ~TRACE_BASE_KEY].link = caller;
}

/* It goes on in the function that was interrupted: the handler did what an instruction
 * was to do, and passed over it. */
static bool passes_over(struct tracer *t, const struct trace_trap *trap,
                        const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    return trap->frame > 0 && task->frames[trap->frame - 1].function == s->function &&
           !(s->to_site->flags & TRACE_SITE_ENTRY);
}

/* The interrupted instruction led elsewhere than to the handler: now it does. */
static void transfer_late(struct tracer *t, const struct trace_trap *left,
                          const struct trace_step *s)
{
    const struct trace_trap trap = *left;
    struct trace_step late = {.from = trap.again,
                              .to = s->to,
                              .from_site = &trap.site,
                              .to_site = s->to_site,
                              .function = s->function};
    leave_trap(t, &trap, 0);
    t->leaf = tracer_leaf(t, tracer_top(t), trap.site.place);
    tracer_repeat(t, &late);
}

/* A handler returns to neither of the two: it is a signal's, that the kernel has called,
 * or the start of another program. */
static void return_elsewhere(struct tracer *t, const struct trace_trap *trap,
                             const struct trace_step *s)
{
    if (s->to_site->flags & TRACE_SITE_ENTRY) {
        struct trace_trap kept = *trap;
        tracer_pop_to(t, kept.frame + 1);
        tracer_replace(t, s->function);
        tracer_top(t)->returns = 0;
        return;
    }
    t->report.astray++;
    tracer_pop_to(t, trap->frame > 0 ? trap->frame : 1);
    tracer_replace(t, s->function);
}

/* Where it returned to, the first instruction has trapped before it was seen: it is the
 * same place still that the handler was called from. */
static void trap_again(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    if (task->trap_count == 0 && !task->begins_in_trap) {
        task->before = task->frames[0].node;
        tracer_begin_stack(t, task, s->function);
        task->begins_in_trap = true;
        return;
    }
    size_t frame = task->trap_count ? task->traps[task->trap_count - 1].frame : 0;
    tracer_pop_to(t, frame + 1);
    tracer_replace(t, s->function);
}

void tracer_trap_return(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    if (t->on_trial.is_on && task->trap_count == 0 && is_vector(t, s->to)) {
        tracer_decide(t);
        tracer_repeat(t, s);
        return;
    }
    if (is_vector(t, s->to)) {
        trap_again(t, s);
        return;
    }
    if (task->trap_count == 0) {
        if (!tracer_exec(t, s))
            return_beyond(t, s);
        return;
    }
    const struct trace_trap *trap = &task->traps[task->trap_count - 1];
    learn_vector(t, trap->entry);
    /* What is being spent is the handler's still. */
    tracer_charge(t);
    if (tracer_exec(t, s) || tracer_resume(t, s))
        return;
    if (trap->next == 0)
        transfer_late(t, trap, s);
    else if (passes_over(t, trap, s))
        leave_trap(t, trap, s->to);
    else
        return_elsewhere(t, trap, s);
}

/* --- Unknown code ------------------------------------------------------------------ */

void tracer_unknown(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    bool from_low = !(s->from >> 63), to_high = s->to >> 63;
    bool entry = s->to_site->flags & TRACE_SITE_ENTRY;
    size_t found;
    if (tracer_resume(t, s) || s->function == tracer_top(t)->function)
        return;
    if ((s->to_site->flags & TRACE_SITE_START) && task->trap_count == 0 &&
        !t->on_trial.is_on) {
        tracer_begin_stack(t, task, s->function); /* what boots it is no caller */
        return;
    }
    if (is_vector(t, s->to) || (from_low && to_high && entry && task->trap_count == 0))
        enter_trap(t, s);
    else if ((found = tracer_find_return(t, s->to)) > 1)
        tracer_pop_to(t, found - 1);
    else if (entry)
        tracer_call(t, s, 0);
    else if ((found = tracer_find_function(t, s->function)) > 0)
        tracer_pop_to(t, found);
    else
        tracer_replace(t, s->function);
}
