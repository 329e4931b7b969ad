/* SPDX-License-Identifier: Apache-2.0 */
/* Programs above a kernel: how they start, and how they are forked. */
#include "trace/tracer_parts.h"

static struct trace_ecall *slot_of(struct tracer *t, uint64_t next)
{
    return &t->ecalls[next / 2 % TRACE_ECALLS];
}

void tracer_keep_ecall(struct tracer *t, const struct trace_step *s)
{
    const struct trace_task *task = tracer_task(t);
    bool is_call = s->from_site->kind == INSTRUCTION_ENVIRONMENT && !(s->from >> 63);
    if (!is_call || t->on_trial.is_on || task->count > TRACE_ECALL_FRAMES || !s->next)
        return;
    struct trace_ecall *e = slot_of(t, s->next);
    struct trace_frame *frames =
        arena_grow(&t->arena, e->frames, &e->cap, task->count, sizeof *frames);
    if (!frames)
        return;
    e->frames = frames;
    e->count = task->count;
    e->next = s->next;
    e->name = task->name;
    memcpy(frames, task->frames, task->count * sizeof *frames);
}

/* --- Fork -------------------------------------------------------------------------- */

#define BETWEEN_MAX 66 /* nodes from a frame to the next: itself, and what is inlined */

/* Makes the nodes of a stack once more, below another base; the frames then have them. */
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

/* The task's outermost stack so far is what was called from where it goes on. */
static void link_base(struct tracer *t, trace_node first, const struct trace_step *s)
{
    struct trace_tree *tree = &t->tree;
    trace_node base = trace_node_parent(tree, first);
    if (trace_node_is_base(tree, base))
        tree->bases[tree->trie.nodes[base].key & ~TRACE_BASE_KEY].link =
            tracer_leaf(t, tracer_top(t), s->to_site->place);
}

bool tracer_fork(struct tracer *t, const struct trace_step *s)
{
    struct trace_task *task = tracer_task(t);
    const struct trace_ecall *e = slot_of(t, s->to);
    if (t->on_trial.is_on || !s->to || e->next != s->to || e->count == 0 ||
        e->frames[e->count - 1].function != s->function)
        return false;
    trace_node first = task->frames[0].node;
    struct trace_frame *frames =
        arena_grow(&t->arena, task->frames, &task->cap, e->count, sizeof *frames);
    trace_node base = trace_tree_base(&t->tree, t->current);
    if (!frames || !base)
        return false;
    task->frames = frames;
    memcpy(frames, e->frames, e->count * sizeof *frames);
    t->tree.bases[t->tree.trie.nodes[base].key & ~TRACE_BASE_KEY].link =
        trace_node_parent(&t->tree, frames[0].node);
    copy_nodes(t, frames, e->count, base);
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
    tracer_begin_stack(t, task, s->function);
    task->program = binary;
    task->begins_in_trap = task->is_born = false;
    task->before = 0;
    tracer_name_task(t, s);
    if (linked)
        link_base(t, first, s);
    return true;
}
