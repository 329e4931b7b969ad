/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of a user program: a handler runs like that of a trap. It returns to the
 * trampoline: two instructions, usually outside all files, which call rt_sigreturn. A
 * signal can also arrive in the trampoline; then its handler interrupts the
 * trampoline. */
#include "trace/tracer_parts.h"

#define SECOND_OF_TRAMPOLINE 4 /* bytes from its first instruction */

/* Maximum number of handlers that get a base of their own (begin_waited): each needs
 * memory. */
#define WAITED_MAX ((uint32_t)1 << 16)

static bool in_signal(const struct trace_task *task)
{
    return tracer_in_trap(task) && task->traps[task->trap_count - 1].frame > 0;
}

/* --- The trampoline ---------------------------------------------------------------- */

static uint64_t trampoline_of(const struct tracer *t)
{
    return t->shared ? t->shared->trampoline : t->trampoline;
}

static void set_trampoline(struct tracer *t, uint64_t address)
{
    t->trampoline = address;
    if (t->shared)
        t->shared->trampoline = address;
}

bool tracer_is_sigreturn(const struct tracer *t, uint64_t pc)
{
    uint64_t trampoline = trampoline_of(t);
    return trampoline && pc == trampoline + SECOND_OF_TRAMPOLINE;
}

bool tracer_return_to_trampoline(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    if (!in_signal(task))
        return false;
    bool known = s->to == trampoline_of(t) || trace_site_begins_sigreturn(s->to_site);
    if (!known && (s->function != TRACE_UNKNOWN_USER ||
                   trace_trap_leads_to(&task->traps[task->trap_count - 1], s->to)))
        return false;
    set_trampoline(t, s->to);
    tracer_replace(t, s->function);
    return true;
}

void tracer_return_from_handler(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    uint64_t returns = tracer_top(t)->returns;
    if (task->count < 2 || !returns || tracer_in_trap(task))
        return;
    struct trace_trap trap = {.frame = task->count - 1,
                              .again = returns - 4,
                              .site = {.kind = INSTRUCTION_CALL_REGISTER, .length = 4}};
    trap.site.location =
        t->code.functions[task->frames[trap.frame - 1].function].location;
    tracer_add_trap(t, trap);
    set_trampoline(t, s->to);
}

bool tracer_interrupt_trampoline(struct tracer *t, const struct trace_step *s)
{
    uint64_t trampoline = trampoline_of(t);
    if (s->from_site->kind != INSTRUCTION_RETURN || !trampoline ||
        !in_signal(tracer_task(t)) || s->from >> 63 != trampoline >> 63)
        return false;
    const struct trace_site *site = trace_code_find(&t->code, trampoline);
    struct trace_step after = *s;
    tracer_charge(t);
    t->report.returns++;
    tracer_replace(t, trace_site_function(&t->code, site));
    t->leaf = tracer_leaf(t, tracer_top(t), site->location);
    after.from = after.next = trampoline;
    after.from_site = site;
    tracer_enter_trap(t, &after);
    return true;
}

bool tracer_interrupt_sigreturn(struct tracer *t, const struct trace_step *s)
{
    struct trace_step after = *s;
    if (!in_signal(tracer_task(t)) || s->from != trampoline_of(t))
        return false;
    after.next = s->from + SECOND_OF_TRAMPOLINE;
    tracer_enter_trap(t, &after);
    return true;
}

/* --- The end of a signal ----------------------------------------------------------- */

/* rt_sigreturn is called by code outside all programs: the kernel provides it. */
bool tracer_may_end_signal(const struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = &t->tasks[t->current];
    trace_function_id function = task->frames[task->count - 1].function;
    return (s->from_site->flags & TRACE_SITE_SIGRETURN) ||
           (s->from_site->kind == INSTRUCTION_ENVIRONMENT &&
            (t->code.functions[function].flags & TRACE_FUNCTION_UNKNOWN));
}

/* The handler has changed the return address of the signal. */
static void end_signal_elsewhere(struct tracer *t, const struct trace_trap *trap,
                                 const struct trace_step *s)
{
    t->report.astray++;
    tracer_leave_trap(t, trap, 0);
    size_t found = tracer_find_function(t, s->function);
    if (found)
        tracer_pop_to(t, found);
    else
        tracer_replace(t, s->function);
}

/* Whether a task began in that function before. */
static bool is_start_of_task(const struct tracer *t, trace_function_id function)
{
    for (uint32_t i = 0; i < t->task_count; i++)
        if (t->tasks[i].begun == function)
            return true;
    return false;
}

/* The signal arrived when the stack was switched. Its handler makes the stack call a
 * function before it continues, as Go's runtime does to preempt. True if so. */
static bool call_from_signal(struct tracer *t, const struct trace_trap *left,
                             const struct trace_step *s)
{
    const struct trace_trap trap = *left;
    struct trace_step call = *s;
    if (!trap.load || trap.load != t->interrupted_loads ||
        !tracer_can_return_to(t, &t->interrupted) ||
        !(s->to_site->flags & TRACE_SITE_ENTRY) || is_start_of_task(t, s->function))
        return false;
    tracer_leave_trap(t, &trap, 0);
    call.next = tracer_return_to(t, &t->interrupted);
    call.from = trap.again;
    call.from_site = &trap.site;
    tracer_enter_trap(t, &call);
    return true;
}

/* --- Consecutive signals ------------------------------------------------------------ */

static struct trace_base *base_at(struct tracer *t, trace_node node)
{
    return &t->tree.bases[t->tree.trie.nodes[node].key & ~TRACE_BASE_KEY];
}

/* Unknown code is one frame, even if it calls itself. */
static trace_node node_in(struct tracer *t, trace_node caller, trace_function_id function)
{
    bool same = t->tree.trie.nodes[caller].key == function &&
                (t->code.functions[function].flags & TRACE_FUNCTION_UNKNOWN);
    return same ? caller : trace_tree_child(&t->tree, caller, function);
}

/* The next signal was pending when this one ended; or it arrived before rt_sigreturn,
 * which is then called again: see call_again. Until this is known, its handler has its
 * own base. */
static void begin_waited(struct tracer *t, struct trace_trap *trap,
                         const struct trace_step *s)
{
    trace_node last = trap->waited;
    trap->entry = s->to;
    trap->waited = 0;
    tracer_replace(t, s->function);
    if (t->on_trial.is_on || t->waited == WAITED_MAX)
        return;
    trace_node before = trace_node_parent(&t->tree, tracer_top(t)->node);
    trace_node base = trace_tree_base(&t->tree, t->current);
    if (!base)
        return;
    t->waited++;
    base_at(t, base)->link = last ? base_at(t, last)->link : before;
    base_at(t, base)->after = last;
    tracer_top(t)->node = trace_tree_child(&t->tree, base, s->function);
    trap->waited = base;
}

/* rt_sigreturn is called again: the handler between was called from the trampoline. Of
 * several handlers since, it is the last one whose caller is still open: a trace does not
 * show more. */
static void call_again(struct tracer *t, struct trace_trap *trap,
                       const struct trace_step *s)
{
    tracer_replace(t, s->function);
    if (!trap->waited || t->on_trial.is_on)
        return;
    struct trace_base *base = base_at(t, trap->waited);
    base->link = tracer_top(t)->node = node_in(t, base->link, s->function);
    trap->waited = base->after;
}

/* The code that calls rt_sigreturn calls it again. */
static bool is_called_again(const struct tracer *t, const struct trace_trap *trap,
                            const struct trace_step *s)
{
    return s->to == s->from && !trace_trap_leads_to(trap, s->to) &&
           (tracer_is_sigreturn(t, s->to) || tracer_may_end_signal(t, s));
}

bool tracer_end_signal(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    if (!in_signal(task))
        return false;
    struct trace_trap *trap = &task->traps[task->trap_count - 1];
    if (trap->by_kernel || (s->to >> 63 && !(s->from >> 63)))
        return false; /* it calls the kernel, which is in the trace */
    tracer_charge(t);
    if (is_called_again(t, trap, s)) {
        call_again(t, trap, s);
        return true;
    }
    tracer_learn_vector(t, trap->entry);
    if (tracer_is_vector(t, s->to) ||
        (trap->next && (s->to_site->flags & TRACE_SITE_ENTRY) &&
         !trace_trap_leads_to(trap, s->to))) {
        begin_waited(t, trap, s);
        return true;
    }
    if (call_from_signal(t, trap, s))
        return true;
    if (trap->next == 0 && (trap->again != s->to || trap->again == 0))
        tracer_transfer_late(t, trap, s);
    else if (trace_trap_leads_to(trap, s->to) || tracer_passes_over(t, trap, s))
        tracer_leave_trap(t, trap, s->to);
    else if (tracer_may_end_signal(t, s) && !(s->to_site->flags & TRACE_SITE_ENTRY))
        end_signal_elsewhere(t, trap, s);
    else
        return false;
    return true;
}
