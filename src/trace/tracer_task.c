/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: each has a stack.
 *
 * A kernel switches tasks in one function. One task calls it, and another one returns
 * from it, to the same address in all tasks. The task is identified when the calling
 * functions return: each returns to an address at which one of the suspended tasks
 * called it. Until then the task is *on trial*: its cycles are counted in a separate
 * tree, which is moved below the stack of the right task when it is known. */
#include "base/array.h"
#include "trace/tracer_parts.h"
#include <stdlib.h>

#define TASKS_MAX 4096

uint32_t tracer_new_task(struct tracer *t)
{
    if (!ARRAY_RESERVE(&t->arena, t->tasks, t->task_cap, t->task_count + 1))
        return 0;
    t->tasks[t->task_count] = (struct trace_task){.name = STR("")};
    tracer_identify_task(t, (uint32_t)t->task_count);
    return (uint32_t)t->task_count++;
}

uint32_t tracer_free_task(struct tracer *t)
{
    if (t->task_count < TASKS_MAX)
        return tracer_new_task(t);
    do
        t->reused = (t->reused + 1) % TASKS_MAX;
    while (t->reused == t->current || t->reused == t->on_trial.task || t->reused == 0);
    struct trace_task *task = &t->tasks[t->reused];
    task->count = task->trap_count = 0;
    task->callers = 0;
    task->begins_in_trap = task->is_away = false;
    task->before = task->base = 0;
    tracer_identify_task(t, t->reused);
    return t->reused;
}

/* The numbers of nodes have another meaning from here on. */
static void forget_leaves(struct tracer *t)
{
    memset(t->leaves, 0, sizeof t->leaves);
}

/* --- The end of a trial ------------------------------------------------------------ */

/* Maps nodes of the tree of the trial to the main tree. */
struct move {
    struct tracer *t;
    struct trace_task *to; /* owner of the stack; NULL: a new task */
    uint32_t task;
    trace_node *nodes;
};

/* The frame of the task that corresponds to the outermost one of a base of the trial. */
static size_t frame_of_base(const struct trace_task *to, size_t base)
{
    return to->count - 2 - base;
}

static trace_node caller_of(struct tracer *t, const struct trace_task *task, size_t frame)
{
    const struct trace_frame *f = &task->frames[frame];
    if (frame > 0 && f[-1].node == f->node)
        return f->node;
    return trace_node_parent(&t->tree, f->node);
}

static trace_node move_node(struct move *m, trace_node n)
{
    struct tracer *t = m->t;
    struct trie_node node = t->trial.trie.nodes[n];
    if (!(node.key & TRACE_BASE_KEY))
        return trace_tree_child(&t->tree, m->nodes[node.parent], node.key);
    if (!m->to)
        return trace_tree_base(&t->tree, m->task);
    return caller_of(t, m->to, frame_of_base(m->to, node.key & ~TRACE_BASE_KEY));
}

/* The bases of a new task have the same callers as those on trial. */
static void move_links(struct move *m)
{
    struct tracer *t = m->t;
    for (trace_node n = 1; n < t->trial.trie.count; n++) {
        uint32_t key = t->trial.trie.nodes[n].key;
        trace_node to = m->nodes[n];
        if (!(key & TRACE_BASE_KEY) || !to)
            continue;
        trace_node link = t->trial.bases[key & ~TRACE_BASE_KEY].link;
        t->tree.bases[t->tree.trie.nodes[to].key & ~TRACE_BASE_KEY].link = m->nodes[link];
    }
}

static void move_tree(struct move *m)
{
    struct tracer *t = m->t;
    struct trace_tree *trial = &t->trial;
    for (trace_node n = 1; n < trial->trie.count; n++) {
        m->nodes[n] = move_node(m, n);
        if (n < trial->count_cap &&
            (trial->counts[n].cycles || trial->counts[n].instructions))
            trace_tree_add(&t->tree, m->nodes[n], trial->counts[n]);
    }
    if (!m->to)
        move_links(m);
    for (size_t i = t->on_trial.stretches; i < t->stretch_count; i++)
        t->stretches[i].node = m->nodes[t->stretches[i].node];
    t->leaf = m->nodes[t->leaf];
}

/* The frames on trial become those of the task; the outermost of them replaces the
 * frame that it continues. */
static void move_frames(struct move *m, struct trace_task *to, size_t at)
{
    struct tracer *t = m->t;
    struct trace_task *from = &t->tasks[t->on_trial.task];
    uint64_t returns = at < to->count ? to->frames[at].returns : 0;
    struct trace_frame *frames =
        arena_grow(&t->arena, to->frames, &to->cap, at + from->count, sizeof *frames);
    struct trace_trap *traps =
        arena_grow(&t->arena, to->traps, &to->trap_cap, to->trap_count + from->trap_count,
                   sizeof *traps);
    if (!frames || (!traps && to->trap_count + from->trap_count))
        return;
    to->frames = frames;
    to->traps = traps;
    while (to->trap_count && traps[to->trap_count - 1].frame > at)
        to->trap_count--;
    for (size_t i = 0; i < from->trap_count; i++) {
        traps[to->trap_count] = from->traps[i];
        traps[to->trap_count++].frame += at;
    }
    for (size_t i = 0; i < from->count; i++) {
        frames[at + i] = from->frames[i];
        frames[at + i].node = m->nodes[from->frames[i].node];
    }
    frames[at].returns = from->frames[0].returns ? from->frames[0].returns : returns;
    if (at == 0)
        to->begun = 0;
    to->count = at + from->count;
    to->beyond = from->beyond;
    if (from->program)
        to->program = from->program;
}

/* Ends the trial: the task is `to`, or a new one if `to` is the number of the task on
 * trial. */
static void end_trial(struct tracer *t, uint32_t to)
{
    tracer_charge(t);
    bool is_new = to == t->on_trial.task;
    uint32_t number = is_new ? tracer_new_task(t) : to;
    struct move m = {.t = t, .task = number};
    m.nodes = calloc(t->trial.trie.count, sizeof *m.nodes);
    if (!m.nodes || tracer_failed(t)) {
        t->arena.failed = true;
        free(m.nodes);
        return;
    }
    struct trace_task *task = &t->tasks[number];
    size_t at = is_new ? 0 : frame_of_base(task, t->trial.base_count - 1);
    m.to = is_new ? NULL : task;
    move_tree(&m);
    move_frames(&m, task, at);
    free(m.nodes);
    task->is_away = false;
    t->current = number;
    t->on_trial.is_on = false;
    forget_leaves(t);
}

void tracer_decide(struct tracer *t)
{
    struct trial *trial = &t->on_trial;
    uint32_t best = trial->candidates[0];
    for (size_t i = 1; i < trial->count; i++)
        if (t->tasks[trial->candidates[i]].left < t->tasks[best].left)
            best = trial->candidates[i];
    t->report.resumed++;
    t->report.guessed += trial->count > 1;
    end_trial(t, best);
}

/* --- On trial ---------------------------------------------------------------------- */

static bool trap_resumes(const struct trace_task *task, size_t frame,
                         const struct trace_step *s)
{
    for (size_t i = task->trap_count; i-- > 0 && task->traps[i].frame >= frame;) {
        const struct trace_trap *trap = &task->traps[i];
        if (trap->frame == frame)
            return frame > 0 && (trace_trap_leads_to(trap, s->to) ||
                                 task->frames[frame - 1].function == s->function);
    }
    return false;
}

/* Whether the outermost frame on trial, which returns, can be a frame of the task. */
static bool may_be(const struct tracer *t, const struct trace_task *task,
                   const struct trace_step *s)
{
    size_t frame = task->count - 1 - t->on_trial.matched;
    if (frame == 0)
        return true;
    if (s->from_site->kind == INSTRUCTION_TRAP_RETURN)
        return trap_resumes(task, frame, s);
    return task->frames[frame].returns == s->to;
}

void tracer_trial_return(struct tracer *t, const struct trace_step *s)
{
    struct trial *trial = &t->on_trial;
    size_t remaining = 0;
    bool at_end = s->from_site->kind == INSTRUCTION_TRAP_RETURN;
    for (size_t i = 0; i < trial->count; i++) {
        const struct trace_task *task = &t->tasks[trial->candidates[i]];
        if (!may_be(t, task, s))
            continue;
        at_end |= task->count - 1 == trial->matched;
        trial->candidates[remaining++] = trial->candidates[i];
    }
    trial->count = remaining;
    if (remaining == 0)
        end_trial(t, trial->task); /* a task that was not seen before */
    else if (at_end)
        tracer_decide(t);
    if (remaining == 0 || at_end) {
        tracer_repeat(t, s);
        return;
    }
    trial->matched++;
    tracer_infer_caller(t, s);
}

/* --- Switching --------------------------------------------------------------------- */

static bool is_candidate(const struct tracer *t, uint32_t number, uint64_t returns)
{
    const struct trace_task *task = &t->tasks[number];
    return task->is_away && number != t->current && task->count > 1 &&
           task->frames[task->count - 1].returns == returns;
}

static bool find_candidates(struct tracer *t, uint64_t returns)
{
    struct trial *trial = &t->on_trial;
    trial->count = 0;
    for (uint32_t i = 0; i < t->task_count; i++) {
        if (!is_candidate(t, i, returns))
            continue;
        uint32_t *item =
            ARRAY_APPEND(&t->arena, trial->candidates, trial->count, trial->cap);
        if (!item)
            return false;
        *item = i;
    }
    return trial->count > 0;
}

/* A task that was not seen before. If it does not return to a call, it begins here. */
static void switch_to_new(struct tracer *t, const struct trace_step *s)
{
    bool called = tracer_call_before(t, s);
    t->current = tracer_new_task(t);
    tracer_task(t)->is_born = !called && s->to_site->kind != INSTRUCTION_UNKNOWN;
    tracer_begin_stack(t, tracer_task(t), s->function);
}

static void begin_trial(struct tracer *t, const struct trace_step *s)
{
    struct trial *trial = &t->on_trial;
    if (trial->task == 0)
        trial->task = tracer_new_task(t); /* never the first task */
    if (trial->task == 0)
        return;
    trace_tree_clear(&t->trial);
    trial->is_on = true;
    trial->matched = 1;
    trial->stretches = t->stretch_count;
    t->current = trial->task;
    tracer_task(t)->program = 0;
    tracer_begin_stack(t, tracer_task(t), s->function);
}

void tracer_switch(struct tracer *t, const struct trace_step *s)
{
    tracer_charge(t);
    t->report.switches++;
    if (t->on_trial.is_on)
        tracer_decide(t);
    struct trace_task *task = tracer_task(t);
    task->is_away = true;
    task->left = t->counted;
    if (find_candidates(t, s->to))
        begin_trial(t, s);
    else if (t->task_count < TASKS_MAX)
        switch_to_new(t, s);
    else
        task->is_away = false;
    forget_leaves(t);
}
