/* SPDX-License-Identifier: Apache-2.0 */
/* Traps: an address that does not follow from the instruction before, until sret or
 * mret. */
#include "base/array.h"
#include "trace/tracer_parts.h"

/* Maximum number of nested traps that one return can end. */
#define TRAPS_SEARCHED 64

/* --- Nested traps ------------------------------------------------------------------- */

void tracer_leave_trap(struct tracer *t, const struct trace_trap *left, uint64_t address)
{
    struct trace_task *task = tracer_task(t);
    const struct trace_trap trap = *left;
    t->report.unwound += task->count - 1 - trap.frame;
    tracer_pop_to(t, trap.frame);
    if (trap.load && trap.load == t->interrupted_loads)
        t->load = t->interrupted;
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
        tracer_leave_trap(t, trap, s->to);
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

static bool has_vector(const uint64_t *vectors, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (vectors[i] == address)
            return true;
    return false;
}

bool tracer_is_vector(const struct tracer *t, uint64_t address)
{
    const struct trace_shared *shared = t->shared;
    return has_vector(t->vectors, t->vector_count, address) ||
           (shared && has_vector(shared->vectors, shared->vector_count, address));
}

static void add_vector(uint64_t *vectors, size_t *count, uint64_t address)
{
    if (has_vector(vectors, *count, address))
        return;
    if (*count == TRACE_VECTORS_MAX)
        memmove(vectors, vectors + 1, --*count * sizeof *vectors);
    vectors[(*count)++] = address;
}

void tracer_learn_vector(struct tracer *t, uint64_t address)
{
    add_vector(t->vectors, &t->vector_count, address);
    if (t->shared)
        add_vector(t->shared->vectors, &t->shared->vector_count, address);
}

/* A kernel returns to a program, and calls its signal handlers. But if the returning
 * code and the code that continues are in the same binary, both are tasks of one
 * program. */
bool tracer_begins_by_trap(const struct tracer *t, const struct trace_task *task,
                           const struct trace_step *s)
{
    const struct trace_function *functions = t->code.functions;
    uint32_t binary = functions[task->frames[task->count - 1].function].binary;
    const struct trace_trap *trap =
        task->trap_count ? &task->traps[task->trap_count - 1] : NULL;
    if (tracer_is_vector(t, s->to) || (trap && trap->entry == s->to))
        return false; /* a trap at the first instruction */
    return binary && binary == functions[s->function].binary &&
           !trace_code_binary(&t->code, binary)->is_user;
}

void tracer_add_trap(struct tracer *t, struct trace_trap trap)
{
    struct trace_task *task = tracer_task(t);
    struct trace_trap *added =
        ARRAY_APPEND(&t->arena, task->traps, task->trap_count, task->trap_cap);
    if (!added)
        return;
    *added = trap;
}

void tracer_enter_trap(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    size_t frame = task->count;
    t->report.traps++;
    tracer_keep_ecall(t, s);
    if (task->trap_count >= TRACE_TRAPS_MAX) {
        t->report.too_deep++;
        tracer_replace(t, s->function);
        return;
    }
    tracer_push(t, s->function, 0);
    if (task->count == frame)
        return; /* too deep */
    struct trace_trap trap = {.frame = frame,
                              .again = s->from,
                              .next = s->next,
                              .entry = s->to,
                              .site = *s->from_site};
    if (t->load.is_on) {
        t->interrupted = t->load;
        t->load.is_on = t->load.is_known = false;
        trap.load = ++t->interrupted_loads;
    }
    tracer_add_trap(t, trap);
    /* Patched code can call where this looks like a trap; a handler does not return to
     * a trampoline that it interrupted. */
    task->frames[frame].returns = s->next == s->from ? 0 : s->next;
}

/* A return was interrupted when it was complete: it has returned to the caller. */
static void return_interrupted(struct tracer *t, const struct trace_step *s)
{
    struct trace_step after = *s;
    tracer_charge(t);
    t->report.returns++;
    after.next = tracer_top(t)->returns;
    tracer_pop_to(t, tracer_task(t)->count - 1);
    const struct trace_site *site = trace_code_find(&t->code, after.next);
    t->leaf = tracer_leaf(t, tracer_top(t), site->location);
    tracer_enter_trap(t, &after);
}

/* A jump by register was interrupted: its target is known when the trap returns. Until
 * then the cycles of the handler belong to a base. */
static void jump_interrupted(struct tracer *t, const struct trace_step *s)
{
    size_t frame = tracer_task(t)->count;
    trace_node before = t->leaf;
    tracer_enter_trap(t, s);
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
    if (tracer_interrupt_trampoline(t, s))
        return;
    bool returns = s->from_site->kind == INSTRUCTION_RETURN && task->count > 1 &&
                   !task->beyond && tracer_top(t)->returns && !tracer_switches(t);
    bool is_own = t->load.is_known && t->load.context.task == t->current &&
                  t->load.context.returns == tracer_top(t)->returns;
    if (returns && is_own)
        t->load.is_on = t->load.is_known = false; /* it does not change the stack */
    bool jumps = s->next == 0 && s->from_site->kind != INSTRUCTION_RETURN;
    if (returns && !t->load.is_on)
        return_interrupted(t, s);
    else if (jumps && !t->load.is_on)
        jump_interrupted(t, s);
    else
        tracer_enter_trap(t, s);
}

bool tracer_interrupted(struct tracer *t, const struct trace_step *s)
{
    if (tracer_top(t)->returns == s->to)
        return false;
    if (!tracer_is_vector(t, s->to))
        return (s->to_site->flags & TRACE_SITE_ENTRY) &&
               tracer_interrupt_trampoline(t, s);
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

/* Whether a handler can begin here. */
static bool is_handler(const struct tracer *t, const struct trace_step *s)
{
    if (tracer_is_vector(t, s->to) || s->from_site->kind == INSTRUCTION_ENVIRONMENT)
        return true;
    if (s->to_site->kind == INSTRUCTION_UNKNOWN)
        return true;
    return s->to_site->flags & TRACE_SITE_ENTRY;
}

/* A table of handlers consists of jumps. */
static bool is_vector_table(const struct trace_step *s)
{
    return s->to_site->kind == INSTRUCTION_JUMP && s->to % 4 == 0;
}

/* --- Returning --------------------------------------------------------------------- */

/* The trap began before the trace, so all frames that were seen are above the return
 * address. But a return to the start of a function is how a system starts a program
 * above itself. */
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
    bool interrupts = (!starts || task->begins_in_trap) &&
                      trace_node_is_base(tree, base) && task->callers < TRACE_CALLERS_MAX;
    task->begins_in_trap = task->is_boot = false;
    task->before = 0;
    if (!interrupts) {
        tracer_begin_again(t, task, s);
        return;
    }
    tracer_begin_stack(t, task, s->function);
    task->callers++;
    t->report.callers++;
    trace_node caller = tracer_leaf(t, &task->frames[0], s->to_site->location);
    tree->bases[tree->trie.nodes[base].key & ~TRACE_BASE_KEY].link = caller;
}

bool tracer_passes_over(struct tracer *t, const struct trace_trap *trap,
                        const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    return trap->frame > 0 && task->frames[trap->frame - 1].function == s->function &&
           !(s->to_site->flags & TRACE_SITE_ENTRY);
}

/* The stack at the target of the interrupted jump by register. */
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
        return tracer_leaf(t, top, s->to_site->location);
    if (!entry && task->count > 1 && top->returns == s->to)
        return tracer_leaf(t, top - 1, s->to_site->location);
    return trace_tree_child(&t->tree, trace_node_parent(&t->tree, top->node),
                            s->function);
}

void tracer_transfer_late(struct tracer *t, const struct trace_trap *left,
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
    if (base && trap.waited)
        base = tree->bases[tree->trie.nodes[trap.waited].key & ~TRACE_BASE_KEY].link;
    tracer_charge(t);
    tracer_leave_trap(t, &trap, 0);
    t->leaf = tracer_leaf(t, tracer_top(t), trap.site.location);
    if (base && trace_node_is_base(tree, base))
        t->tree.bases[tree->trie.nodes[base].key & ~TRACE_BASE_KEY].link =
            led_to(t, &trap, s);
    tracer_repeat(t, &late);
}

/* The interrupted jump, whose target was unknown, led here. */
static bool fits_late(const struct tracer *t, const struct trace_trap *trap,
                      const struct trace_step *s)
{
    const struct trace_task *task = &t->tasks[t->current];
    if (trap->next || trap->frame == 0)
        return false;
    if (trap->load && trap->load == t->interrupted_loads)
        return t->interrupted.is_known ? s->to == t->interrupted.context.returns
                                       : s->to_site->flags & TRACE_SITE_ENTRY;
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

bool tracer_leave_handler(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    if (!tracer_in_trap(task))
        return false;
    const struct trace_trap *trap = &task->traps[task->trap_count - 1];
    /* A handler that ends with mret or sret to the start of a function calls it. */
    bool is_late = !tracer_is_vector(t, trap->entry) && fits_late(t, trap, s);
    if (trap->frame == 0 || (!is_late && !trace_trap_leads_to(trap, s->to)))
        return false;
    tracer_charge(t);
    if (is_late)
        tracer_transfer_late(t, trap, s);
    else
        tracer_leave_trap(t, trap, s->to);
    return true;
}

/* Another task that a trap interrupted there, and that was suspended in the handler:
 * the one that was suspended for the longest time; the current task if there is none. */
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

/* The handler returns to another task than the interrupted one: both belong to the
 * program of the handler. */
static bool switch_by_trap(struct tracer *t, const struct trace_trap *trap,
                           const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    if (t->on_trial.is_on || trap->frame + 1 != task->count || fits_late(t, trap, s) ||
        trace_trap_may_enter(trap, s) || !tracer_begins_by_trap(t, task, s))
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

/* The frame of the trap in which the kernel calls a signal handler. If rt_sigreturn
 * has called the kernel, it is the trap of that signal, which is over. */
static size_t first_of_signal(const struct tracer *t, const struct trace_trap *trap)
{
    bool ends =
        (trap->site.flags & TRACE_SITE_SIGRETURN) || tracer_is_sigreturn(t, trap->again);
    const struct trace_task *task = &t->tasks[t->current];
    bool has_signal =
        task->trap_count > 1 && trap[-1].by_kernel && trap[-1].frame + 1 == trap->frame;
    return ends && has_signal ? trap[-1].frame : trap->frame;
}

/* A handler returns neither to the interrupted instruction nor after it: the target is
 * a signal handler that the kernel calls, or the start of another program. */
static void return_elsewhere(struct tracer *t, const struct trace_trap *trap,
                             const struct trace_step *s)
{
    if (s->to_site->flags & TRACE_SITE_ENTRY) {
        struct trace_task *task = tracer_task(t);
        tracer_pop_to(t, first_of_signal(t, trap) + 1);
        tracer_replace(t, s->function);
        tracer_top(t)->returns = 0;
        task->traps[task->trap_count - 1].by_kernel = true;
        return;
    }
    t->report.astray++;
    tracer_pop_to(t, trap->frame > 0 ? trap->frame : 1);
    tracer_replace(t, s->function);
}

/* The first instruction at the return address trapped before it was seen: the location
 * of the handler's call is unchanged. */
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
    if (t->on_trial.is_on && task->trap_count == 0 && tracer_is_vector(t, s->to)) {
        tracer_decide(t);
        tracer_repeat(t, s);
        return;
    }
    if (tracer_is_vector(t, s->to)) {
        trap_again(t, s);
        return;
    }
    if (task->trap_count == 0) {
        if (!tracer_exec(t, s))
            return_beyond(t, s);
        return;
    }
    const struct trace_trap *trap = &task->traps[task->trap_count - 1];
    tracer_learn_vector(t, trap->entry);
    /* The current cycles still belong to the handler. */
    tracer_charge(t);
    if (tracer_exec(t, s) || tracer_resume(t, s) || switch_by_trap(t, trap, s))
        return;
    if (trap->next == 0 && !tracer_is_sigreturn(t, trap->again))
        tracer_transfer_late(t, trap, s);
    else if (tracer_passes_over(t, trap, s))
        tracer_leave_trap(t, trap, s->to);
    else
        return_elsewhere(t, trap, s);
}

/* --- Addresses that do not follow --------------------------------------------------- */

/* A handler begins; it may have been interrupted after its first instruction, but this
 * one is not executed again, because no instruction has returned to it. */
static bool begins_handler(const struct tracer *t, const struct trace_step *s)
{
    return s->from_site->kind != INSTRUCTION_ENVIRONMENT && tracer_is_vector(t, s->to);
}

void tracer_stray(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    size_t found;
    if (tracer_may_end_signal(t, s) && tracer_end_signal(t, s))
        return;
    if (!begins_handler(t, s) && tracer_resume(t, s))
        return;
    if (is_handler(t, s)) {
        tracer_enter_trap(t, s);
        return;
    }
    t->report.jumps++;
    if (s->function == tracer_top(t)->function)
        return; /* patched code: the binary has no jump there */
    if ((found = tracer_find_return(t, s->to)) > 1)
        tracer_pop_to(t, found - 1);
    else if ((found = tracer_find_function(t, s->function)) > 0)
        tracer_pop_to(t, found);
    else if (is_vector_table(s))
        tracer_enter_trap(t, s);
    else if (task->count > 0)
        tracer_replace(t, s->function);
}

/* --- Unknown code ------------------------------------------------------------------ */

/* True if a kernel begins in the middle of a function: code without a binary and without
 * a known caller continues at an address of the kernel, without a call or a trap. The
 * kernel has then enabled its virtual addresses. The code before is not called by it. */
static bool begins_kernel(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    return !(s->from >> 63) && s->to >> 63 && !(s->to_site->flags & TRACE_SITE_ENTRY) &&
           task->count == 1 && task->trap_count == 0 && !t->on_trial.is_on &&
           task->frames[0].function == TRACE_UNKNOWN_FIRMWARE &&
           trace_code_find(&t->code, s->to - 4)->kind != INSTRUCTION_ENVIRONMENT;
}

void tracer_unknown(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    bool from_low = !(s->from >> 63), to_high = s->to >> 63;
    bool entry = s->to_site->flags & TRACE_SITE_ENTRY;
    size_t found;
    bool ends = s->function != tracer_top(t)->function || tracer_is_sigreturn(t, s->from);
    if (tracer_interrupt_sigreturn(t, s) || (ends && tracer_end_signal(t, s)))
        return;
    if (tracer_resume(t, s) || s->function == tracer_top(t)->function)
        return;
    if ((s->to_site->flags & TRACE_SITE_START) && task->trap_count == 0 &&
        !t->on_trial.is_on) {
        tracer_begin_again(t, task, s); /* the boot code is not its caller */
        return;
    }
    if (begins_kernel(t, s)) {
        tracer_begin_again(t, task, s);
        return;
    }
    if (tracer_is_vector(t, s->to) ||
        (from_low && to_high && entry && task->trap_count == 0))
        tracer_enter_trap(t, s);
    else if ((found = tracer_find_return(t, s->to)) > 1)
        tracer_pop_to(t, found - 1);
    else if (entry)
        tracer_call(t, s, 0);
    else if ((found = tracer_find_function(t, s->function)) > 0)
        tracer_pop_to(t, found);
    else
        tracer_replace(t, s->function);
}
