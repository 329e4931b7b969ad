/* SPDX-License-Identifier: Apache-2.0 */
/* Traps: an address that no instruction leads to, until sret or mret. */
#include "trace/tracer_parts.h"

/* How many of the traps under way a return from one may end at once. */
#define TRAPS_SEARCHED 64

/* --- What is under way ------------------------------------------------------------- */

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
        if (!trace_trap_leads_to(trap, s->to) || trap->frame == 0)
            continue;
        leave_trap(t, trap, s->to);
        return true;
    }
    return false;
}

bool tracer_trap_resumes(const struct trace_task *task, size_t depth,
                         const struct trace_step *s)
{
    for (size_t i = task->trap_count; i-- > 0;) {
        const struct trace_trap *trap = &task->traps[i];
        if (trap->frame < depth)
            return trap->frame > 0 &&
                   (trap->next == 0 || trace_trap_leads_to(trap, s->to) ||
                    task->frames[trap->frame - 1].function == s->function);
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

/* A kernel returns to a program, and calls its handlers of signals. But where the one who
 * returns is of the same binary as what goes on, both are tasks of one program. */
bool tracer_begins_by_trap(const struct tracer *t, const struct trace_task *task,
                           const struct trace_step *s)
{
    const struct trace_function *functions = t->code.functions;
    uint32_t binary = functions[task->frames[task->count - 1].function].binary;
    const struct trace_trap *trap =
        task->trap_count ? &task->traps[task->trap_count - 1] : NULL;
    if (is_vector(t, s->to) || (trap && trap->entry == s->to))
        return false; /* a trap at once */
    return binary && binary == functions[s->function].binary &&
           !trace_code_binary(&t->code, binary)->is_user;
}

static void add_trap(struct tracer *t, struct trace_trap trap)
{
    struct trace_task *task = tracer_task(t);
    struct trace_trap *traps = arena_grow(&t->arena, task->traps, &task->trap_cap,
                                          task->trap_count + 1, sizeof *traps);
    if (!traps)
        return;
    task->traps = traps;
    traps[task->trap_count++] = trap;
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
    add_trap(t, (struct trace_trap){frame, s->from, s->next, s->to, *s->from_site});
    /* Patched code may call where a trap might be. */
    task->frames[frame].returns = s->next;
}

/* A return was interrupted when it was done: it has led to the caller. */
static void return_interrupted(struct tracer *t, const struct trace_step *s)
{
    struct trace_step after = *s;
    tracer_charge(t);
    t->report.returns++;
    after.next = tracer_top(t)->returns;
    tracer_pop_to(t, tracer_task(t)->count - 1);
    const struct trace_site *site = trace_code_find(&t->code, after.next);
    t->leaf = tracer_leaf(t, tracer_top(t), site->place);
    enter_trap(t, &after);
}

/* A jump by a register was interrupted: where it led is known when the trap returns. Until
 * then what the handler spends is that of a base. */
static void jump_interrupted(struct tracer *t, const struct trace_step *s)
{
    size_t frame = tracer_task(t)->count;
    trace_node before = t->leaf;
    enter_trap(t, s);
    if (t->on_trial.is_on || tracer_task(t)->count == frame)
        return;
    trace_node base = trace_tree_base(&t->tree, t->current);
    if (!base)
        return;
    t->tree.bases[t->tree.trie.nodes[base].key & ~TRACE_BASE_KEY].link = before;
    tracer_top(t)->node = trace_tree_child(&t->tree, base, s->function);
}

static void interrupt(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    bool returns = s->from_site->kind == INSTRUCTION_RETURN && task->count > 1 &&
                   !task->beyond && tracer_top(t)->returns && !tracer_switches(t);
    if (returns)
        return_interrupted(t, s);
    else if (s->next == 0 && s->from_site->kind != INSTRUCTION_RETURN)
        jump_interrupted(t, s);
    else
        enter_trap(t, s);
}

bool tracer_interrupted(struct tracer *t, const struct trace_step *s)
{
    if (!is_vector(t, s->to) || tracer_top(t)->returns == s->to)
        return false;
    interrupt(t, s);
    return true;
}

bool tracer_return_to_handler(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    if (!(s->to_site->flags & TRACE_SITE_ENTRY) || task->count < 2 || t->on_trial.is_on ||
        tracer_in_trap(task) || !tracer_top(t)->returns)
        return false;
    interrupt(t, s);
    return true;
}

/* The call of a handler looked like that of a function. What it came from called, or
 * jumped, by a register: it still does when the handler has returned. */
void tracer_return_from_handler(struct tracer *t)
{
    const struct trace_task *task = tracer_task(t);
    uint64_t returns = tracer_top(t)->returns;
    if (task->count < 2 || !returns || tracer_in_trap(task))
        return;
    struct trace_trap trap = {.frame = task->count - 1,
                              .again = returns - 4,
                              .site = {.kind = INSTRUCTION_CALL_REGISTER, .length = 4}};
    trap.site.place = t->code.functions[task->frames[trap.frame - 1].function].place;
    add_trap(t, trap);
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

/* --- Returning --------------------------------------------------------------------- */

/* The trap began before the trace did, so all that was seen was above what it returns to;
 * but a return to where a function begins is how a system starts what runs above it. */
static void return_beyond(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    struct trace_tree *tree = tracer_tree(t);
    trace_node base = trace_node_parent(tree, task->frames[0].node);
    bool starts =
        (s->to_site->flags & TRACE_SITE_ENTRY) || task->is_born || task->is_boot;
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
    task->begins_in_trap = task->is_boot = false;
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

/* The stack that the interrupted jump by a register led to. */
static trace_node led_to(struct tracer *t, const struct trace_trap *trap,
                         const struct trace_step *s)
{
    const struct trace_frame *top = tracer_top(t);
    const struct trace_task *task = tracer_task(t);
    bool entry = s->to_site->flags & TRACE_SITE_ENTRY;
    if (trap->site.kind == INSTRUCTION_CALL_REGISTER)
        return trace_tree_child(&t->tree, t->leaf, s->function);
    if (trap->site.kind != INSTRUCTION_JUMP_REGISTER)
        return t->leaf;
    if (top->function == s->function)
        return tracer_leaf(t, top, s->to_site->place);
    if (!entry && task->count > 1 && top->returns == s->to)
        return tracer_leaf(t, top - 1, s->to_site->place);
    return trace_tree_child(&t->tree, trace_node_parent(&t->tree, top->node),
                            s->function);
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
    const struct trace_tree *tree = &t->tree;
    trace_node base =
        t->on_trial.is_on
            ? 0
            : trace_node_parent(tree, tracer_task(t)->frames[trap.frame].node);
    tracer_charge(t);
    leave_trap(t, &trap, 0);
    t->leaf = tracer_leaf(t, tracer_top(t), trap.site.place);
    if (base && trace_node_is_base(tree, base))
        t->tree.bases[tree->trie.nodes[base].key & ~TRACE_BASE_KEY].link =
            led_to(t, &trap, s);
    tracer_repeat(t, &late);
}

/* The interrupted jump, of which it is not known where it led, led here. */
static bool fits_late(const struct tracer *t, const struct trace_trap *trap,
                      const struct trace_step *s)
{
    const struct trace_task *task = &t->tasks[t->current];
    if (trap->next || trap->frame == 0)
        return false;
    switch ((enum instruction_kind)trap->site.kind) {
    case INSTRUCTION_RETURN:
        return task->frames[trap->frame - 1].returns == s->to;
    case INSTRUCTION_CALL_REGISTER:
        return s->to_site->flags & TRACE_SITE_ENTRY;
    case INSTRUCTION_JUMP_REGISTER:
        return task->frames[trap->frame - 1].function == s->function ||
               task->frames[trap->frame - 1].returns == s->to;
    default:
        return false;
    }
}

/* Another task that a trap has interrupted there, and that was left in the handler: the
 * one that is away longest; the current one where there is none. */
static uint32_t find_interrupted(const struct tracer *t, const struct trace_step *s)
{
    uint32_t found = t->current;
    for (uint32_t i = 0; i < t->task_count; i++) {
        const struct trace_task *task = &t->tasks[i];
        const struct trace_trap *trap =
            task->trap_count ? &task->traps[task->trap_count - 1] : NULL;
        if (!task->is_away || i == t->current || !trap || trap->frame == 0 ||
            trap->frame + 1 != task->count || !trace_trap_leads_to(trap, s->to))
            continue;
        if (found == t->current || task->left < t->tasks[found].left)
            found = i;
    }
    return found;
}

/* The handler returns to a task that is not the one that was interrupted: both are of the
 * handler's own program. */
static bool switch_by_trap(struct tracer *t, const struct trace_trap *trap,
                           const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    if (t->on_trial.is_on || trap->frame + 1 != task->count || fits_late(t, trap, s) ||
        !tracer_begins_by_trap(t, task, s))
        return false;
    uint32_t other = find_interrupted(t, s);
    if (other != t->current) {
        tracer_resume_task(t, other, t->tasks[other].count);
        return tracer_resume(t, s);
    }
    if (!(s->to_site->flags & TRACE_SITE_ENTRY))
        return false;
    tracer_start_task(t, s);
    return true;
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
    if (tracer_exec(t, s) || tracer_resume(t, s) || switch_by_trap(t, trap, s))
        return;
    if (trap->next == 0)
        transfer_late(t, trap, s);
    else if (passes_over(t, trap, s))
        leave_trap(t, trap, s->to);
    else
        return_elsewhere(t, trap, s);
}

/* --- Where no instruction leads ------------------------------------------------------ */

/* rt_sigreturn, or the unknown code that calls it, ends the handler that it was called
 * from. */
static bool return_from_signal(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    if (!tracer_in_trap(task))
        return false;
    struct trace_trap *trap = &task->traps[task->trap_count - 1];
    if (trap->frame == 0)
        return false;
    tracer_charge(t);
    learn_vector(t, trap->entry);
    if (is_vector(t, s->to) || (trap->next && (s->to_site->flags & TRACE_SITE_ENTRY) &&
                                !trace_trap_leads_to(trap, s->to))) {
        trap->entry = s->to; /* the next signal has waited for the end of this one */
        tracer_replace(t, s->function);
        return true;
    }
    if (trap->next == 0 && (trap->again != s->to || trap->again == 0))
        transfer_late(t, trap, s);
    else if (trace_trap_leads_to(trap, s->to) || passes_over(t, trap, s))
        leave_trap(t, trap, s->to);
    else
        return false;
    return true;
}

/* rt_sigreturn is called by code that is in no program: the kernel's own. */
static bool may_end_signal(const struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = &t->tasks[t->current];
    trace_function_id function = task->frames[task->count - 1].function;
    return (s->from_site->flags & TRACE_SITE_SIGRETURN) ||
           (s->from_site->kind == INSTRUCTION_ENVIRONMENT &&
            (t->code.functions[function].flags & TRACE_FUNCTION_UNKNOWN));
}

void tracer_stray(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    size_t found;
    if (may_end_signal(t, s) && return_from_signal(t, s))
        return;
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

/* --- Unknown code ------------------------------------------------------------------ */

void tracer_unknown(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    bool from_low = !(s->from >> 63), to_high = s->to >> 63;
    bool entry = s->to_site->flags & TRACE_SITE_ENTRY;
    size_t found;
    if (s->function != tracer_top(t)->function && return_from_signal(t, s))
        return;
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
