/* SPDX-License-Identifier: Apache-2.0 */
/* Programs above a kernel: how they start, and how they are forked. */
#include "base/array.h"
#include "trace/tracer_parts.h"

static size_t slot_of(uint64_t next)
{
    return next / 2 % TRACE_ECALLS;
}

void tracer_keep_ecall(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    bool is_call = s->from_site->kind == INSTRUCTION_ENVIRONMENT && !(s->from >> 63);
    if (!is_call || t->on_trial.is_on || task->count > TRACE_ECALL_FRAMES || !s->next)
        return;
    struct trace_ecall *e = &t->ecalls[slot_of(s->next)];
    if (!ARRAY_RESERVE(&t->arena, e->frames, e->cap, task->count))
        return;
    e->count = task->count;
    e->next = s->next;
    e->name = task->name;
    memcpy(e->frames, task->frames, task->count * sizeof *e->frames);
    if (t->shared)
        t->shared->ecalls[slot_of(s->next)] = t;
}

/* --- Fork -------------------------------------------------------------------------- */

#define BETWEEN_MAX 66 /* nodes from a frame to the next: its own, and inlined calls */

/* Copies the nodes of a stack below another base, and assigns the copies to the
 * frames. */
static void copy_nodes(struct tracer *t, struct trace_frame *frames, size_t count,
                       trace_node base)
{
    struct trace_tree *tree = &t->tree;
    trace_node outer = trace_node_parent(tree, frames[0].node), at = base;
    for (size_t i = 0; i < count; i++) {
        uint32_t keys[BETWEEN_MAX];
        size_t depth = 0;
        trace_node mine = frames[i].node;
        for (trace_node n = mine; n != outer && n && depth < BETWEEN_MAX;
             n = trace_node_parent(tree, n))
            keys[depth++] = tree->trie.nodes[n].key;
        while (depth > 0)
            at = trace_tree_child(tree, at, keys[--depth]);
        frames[i].node = at;
        outer = mine;
    }
}

/* The outermost known stack of the task was called from the address at which it
 * continues. */
static void link_base(struct tracer *t, trace_node first, const struct trace_step *s)
{
    struct trace_tree *tree = &t->tree;
    trace_node base = trace_node_parent(tree, first);
    if (trace_node_is_base(tree, base))
        tree->bases[tree->trie.nodes[base].key & ~TRACE_BASE_KEY].link =
            tracer_leaf(t, tracer_top(t), s->to_site->location);
}

/* The tracer with the last kernel call that returns to an address. */
static struct tracer *tracer_of_ecall(struct tracer *t, uint64_t next)
{
    struct tracer *last = t->shared ? t->shared->ecalls[slot_of(next)] : t;
    return last ? last : t;
}

/* Copies the frames of the call to the task. */
static bool copy_ecall(struct tracer *t, const struct tracer *from,
                       const struct trace_ecall *e)
{
    struct trace_task *task = tracer_task(t);
    if (!ARRAY_RESERVE(&t->arena, task->frames, task->cap, e->count))
        return false;
    struct trace_frame *frames = task->frames;
    if (from != t)
        return tracer_adopt_ecall(t, from, e, frames);
    trace_node base = trace_tree_base(&t->tree, t->current);
    if (!base)
        return false;
    memcpy(frames, e->frames, e->count * sizeof *frames);
    t->tree.bases[t->tree.trie.nodes[base].key & ~TRACE_BASE_KEY].link =
        trace_node_parent(&t->tree, frames[0].node);
    copy_nodes(t, frames, e->count, base);
    return true;
}

/* Whether the call was made in the function that continues. */
static bool is_in_function(const struct tracer *t, const struct tracer *from,
                           const struct trace_ecall *e, trace_function_id function)
{
    const struct trace_function *mine = &t->code.functions[function];
    const struct trace_function *theirs =
        &from->code.functions[e->frames[e->count - 1].function];
    return mine->start == theirs->start && str_equal(mine->name, theirs->name) &&
           trace_code_binary(&t->code, mine->binary) ==
               trace_code_binary(&from->code, theirs->binary);
}

bool tracer_fork(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    const struct tracer *from = tracer_of_ecall(t, s->to);
    const struct trace_ecall *e = &from->ecalls[slot_of(s->to)];
    if (t->on_trial.is_on || !s->to || e->next != s->to || e->count == 0 ||
        !is_in_function(t, from, e, s->function) || t->credit < e->count)
        return false;
    trace_node first = task->frames[0].node;
    if (!copy_ecall(t, from, e))
        return false;
    t->credit -= e->count; /* calls limit the cost of copied stacks */
    task->begun = 0;
    task->count = e->count;
    task->trap_count = 0;
    task->beyond = 0;
    task->is_born = false;
    if (task->name.len == 0)
        task->name = e->name;
    link_base(t, first, s);
    if (task->before)
        link_base(t, task->before, s);
    task->before = 0;
    task->begins_in_trap = false;
    t->report.forks++;
    return true;
}

/* --- Exec -------------------------------------------------------------------------- */

void tracer_name_task(struct tracer *t, const struct trace_step *s)
{
    uint32_t binary = t->code.functions[s->function].binary;
    if ((s->to_site->flags & TRACE_SITE_START) && binary &&
        trace_code_binary(&t->code, binary)->is_user)
        tracer_task(t)->name = trace_code_binary(&t->code, binary)->name;
}

bool tracer_exec(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    uint32_t binary = t->code.functions[s->function].binary;
    if (!(s->to_site->flags & TRACE_SITE_START) || !binary ||
        !trace_code_binary(&t->code, binary)->is_user)
        return false;
    if (t->on_trial.is_on) {
        tracer_decide(t);
        tracer_repeat(t, s);
        return true;
    }
    bool linked = task->begins_in_trap && task->trap_count == 0;
    trace_node first = task->frames[0].node;
    if (linked)
        tracer_begin_stack(t, task, s->function);
    else
        tracer_begin_again(t, task, s);
    task->program = binary;
    task->begins_in_trap = task->is_born = false;
    task->before = 0;
    tracer_name_task(t, s);
    if (linked)
        link_base(t, first, s);
    return true;
}
