/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: the registers that a suspended stack stores in memory.
 *
 * A trace can contain the addresses at which contexts are stored and loaded. A load
 * prepares a switch of the stack, which the next jump out of the function makes: to the
 * stack that stored the context last, down to the frame that stored it. Task switches,
 * swaps of coroutines and longjmp work so. A context that was never stored belongs to a
 * new task. */
#include "base/array.h"
#include "trace/tracer_parts.h"

static uint64_t context_key(struct tracer *t, uint64_t address)
{
    /* Programs may be at the same addresses. */
    return address ^ (uint64_t)tracer_task(t)->program << 48;
}

static void set_has_contexts(struct tracer *t)
{
    t->has_contexts = true;
    if (t->shared)
        t->shared->has_contexts = true;
}

void tracer_save_context(struct tracer *t, uint64_t address)
{
    set_has_contexts(t);
    if (t->task_count == 0 || t->on_trial.is_on ||
        !ARRAY_RESERVE(&t->arena, t->contexts, t->context_cap, t->context_count + 1))
        return;
    uint64_t key = context_key(t, address);
    uint64_t *slot = idmap_put(&t->by_address, &t->arena, key);
    if (!slot)
        return;
    tracer_share_context(t, key);
    if (*slot == 0)
        *slot = ++t->context_count;
    const struct trace_task *task = tracer_task(t);
    const struct trace_frame *top = tracer_top(t);
    struct trace_context *c = &t->contexts[*slot - 1];
    *c = (struct trace_context){.task = t->current,
                                .depth = task->count,
                                .returns = top->returns,
                                .function = top->function,
                                .identity = task->identity};
    if (task->count > 1) {
        c->caller = top[-1].function;
        c->caller_returns = top[-1].returns;
    }
}

/* Checks that the frames below the one that stored the context are unchanged. */
static bool is_there(const struct tracer *t, const struct trace_context *c)
{
    const struct trace_task *task = &t->tasks[c->task];
    size_t below = c->depth - 1;
    bool on_trial = t->on_trial.task && c->task == t->on_trial.task;
    if (on_trial || below > task->count || task->count == 0)
        return false;
    return below == 0 || (task->frames[below - 1].function == c->caller &&
                          task->frames[below - 1].returns == c->caller_returns);
}

static bool has_trap_at(const struct trace_task *task, size_t frame)
{
    size_t i = task->trap_count;
    while (i > 0 && task->traps[i - 1].frame > frame)
        i--;
    return i > 0 && task->traps[i - 1].frame == frame;
}

/* Checks that the frame that stored the context is unchanged, too. A handler continues
 * at labels. */
static bool is_whole(const struct tracer *t, const struct trace_context *c)
{
    const struct trace_task *task = &t->tasks[c->task];
    size_t at = c->depth - 1;
    return at < task->count && task->frames[at].returns == c->returns &&
           (task->frames[at].function == c->function || has_trap_at(task, at));
}

void tracer_load_context(struct tracer *t, uint64_t address)
{
    set_has_contexts(t);
    if (t->task_count == 0 || t->on_trial.is_on)
        return;
    struct trace_context copy;
    const struct trace_context *c =
        tracer_find_context(t, context_key(t, address), &copy);
    if (c && !is_there(t, c))
        c = NULL;
    if (!c && t->load.is_on)
        return; /* several words of a context are reported; one identifies it better */
    t->load.is_on = true;
    t->load.is_known = c != NULL;
    if (c)
        t->load.context = *c;
}

/* --- Changing the stack ------------------------------------------------------------ */

static void leave_task(struct tracer *t, uint32_t to)
{
    struct trace_task *task = tracer_task(t);
    tracer_charge(t);
    t->report.switches++;
    task->is_away = true;
    task->left = t->counted;
    t->current = to;
    t->tasks[to].is_away = false;
}

void tracer_resume_task(struct tracer *t, uint32_t number, size_t depth)
{
    tracer_charge(t);
    if (number != t->current) {
        leave_task(t, number);
        t->report.resumed++;
    }
    if (depth > 0 && depth < tracer_task(t)->count) {
        t->report.unwound += number == t->current ? tracer_task(t)->count - depth : 0;
        tracer_pop_to(t, depth);
    }
    t->leaf = tracer_top(t)->node;
    tracer_hold_task(t);
}

void tracer_start_task(struct tracer *t, const struct trace_step *s)
{
    uint32_t number = tracer_free_task(t);
    if (t->task_count <= number || number == t->current)
        return;
    leave_task(t, number);
    struct trace_task *task = tracer_task(t);
    task->is_born = true;
    tracer_begin_stack(t, task, s->function);
    t->leaf = tracer_top(t)->node;
}

static bool leads_anywhere(enum instruction_kind kind)
{
    return kind == INSTRUCTION_JUMP_REGISTER || kind == INSTRUCTION_RETURN ||
           kind == INSTRUCTION_SWAP;
}

bool tracer_can_return_to(const struct tracer *t, const struct trace_loaded *load)
{
    return load->is_known && load->context.depth > 1 && is_there(t, &load->context);
}

uint64_t tracer_return_to(struct tracer *t, const struct trace_loaded *load)
{
    const struct trace_context c = load->context;
    t->load.is_on = t->load.is_known = false;
    tracer_resume_task(t, c.task, c.depth - 1);
    t->report.returns++;
    return c.returns;
}

/* Continues in the stack that stored the context; true if nothing else is to do. */
static bool go_on(struct tracer *t, const struct trace_step *s)
{
    const struct trace_context *c = &t->load.context;
    enum instruction_kind kind = s->from_site->kind;
    const struct trace_task *task = &t->tasks[c->task];
    bool whole = is_whole(t, c);
    if (leads_anywhere(kind) && s->to == c->returns && c->depth > 1) {
        tracer_resume_task(t, c->task, c->depth - 1); /* the function returns */
        t->report.returns++;
        return true;
    }
    if (leads_anywhere(kind) && whole && s->function == c->function &&
        !(s->to_site->flags & TRACE_SITE_ENTRY)) {
        tracer_resume_task(t, c->task, c->depth); /* after the switch */
        return true;
    }
    if (leads_anywhere(kind) && c->depth == 1 && whole &&
        !(s->to_site->flags & TRACE_SITE_ENTRY)) {
        tracer_resume_task(t, c->task, 1); /* its callers are unknown */
        return false;
    }
    if (kind == INSTRUCTION_TRAP_RETURN && c->task != t->current && whole &&
        tracer_trap_resumes(task, c->depth, s)) {
        tracer_resume_task(t, c->task, c->depth);
        return false;
    }
    if (instruction_is_call(kind) && c->task != t->current && whole) {
        tracer_resume_task(t, c->task, c->depth);
        return false;
    }
    t->load.is_known = c->task == t->current && whole; /* it continues without a change */
    return false;
}

/* The return of the trap continues in the interrupted stack. */
static bool is_resumed(const struct trace_task *task, const struct trace_step *s)
{
    const struct trace_trap *trap =
        task->trap_count ? &task->traps[task->trap_count - 1] : NULL;
    if (!trap || trap->frame == 0)
        return false;
    const struct trace_frame *interrupted = &task->frames[trap->frame - 1];
    return trace_trap_leads_to(trap, s->to) || trace_trap_may_enter(trap, s) ||
           (trap->next == 0 && interrupted->returns == s->to) ||
           (interrupted->function == s->function &&
            !(s->to_site->flags & TRACE_SITE_ENTRY));
}

/* A prepared stack begins at an address that the loading stack cannot reach. A trap
 * handler loads the stack that it continues on. */
static bool is_start(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    enum instruction_kind kind = s->from_site->kind;
    bool entry = s->to_site->flags & TRACE_SITE_ENTRY;
    if (kind == INSTRUCTION_TRAP_RETURN)
        return !is_resumed(task, s) && tracer_begins_by_trap(t, task, s);
    bool in_trap = tracer_in_trap(task) || (task->begins_in_trap && task->count == 1);
    if (!leads_anywhere(kind) || in_trap || s->to == tracer_top(t)->returns ||
        s->function == tracer_top(t)->function || tracer_find_return(t, s->to) > 1)
        return false;
    return entry || (task->count > 1 && !tracer_find_function(t, s->function) &&
                     s->to_site->kind != INSTRUCTION_UNKNOWN);
}

bool tracer_change_stack(struct tracer *t, const struct trace_step *s)
{
    enum instruction_kind kind = s->from_site->kind;
    bool done = false;
    if (kind == INSTRUCTION_PLAIN || kind == INSTRUCTION_BRANCH ||
        kind == INSTRUCTION_JUMP || kind == INSTRUCTION_UNKNOWN ||
        (kind == INSTRUCTION_JUMP_REGISTER && s->to != t->load.context.returns &&
         s->function == tracer_top(t)->function &&
         !(s->to_site->flags & TRACE_SITE_ENTRY)))
        return false;
    if (leads_anywhere(kind) && tracer_is_vector(t, s->to) &&
        s->to != tracer_top(t)->returns)
        return false; /* interrupted at the target */
    if (t->load.is_known)
        done = go_on(t, s);
    if (!done && !t->load.is_known && is_start(t, s)) {
        tracer_start_task(t, s);
        done = true;
    }
    t->load.is_on = t->load.is_known = false;
    return done;
}
