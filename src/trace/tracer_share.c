/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that continue on another core.
 *
 * Each core has a tracer with its own tasks. A task that runs on several cores has the
 * same identity in all tracers. One tracer owns it: the one that ran it last, whose
 * frames are right. When a context is loaded that another tracer stored, or whose task
 * another tracer owns, the frames are copied from that tracer. */
#include "base/array.h"
#include "trace/tracer_parts.h"

static struct tracer *tracer_in(const struct idmap *m, uint64_t key)
{
    const uint64_t *value = idmap_find(m, key);
    return value ? (struct tracer *)(uintptr_t)*value : NULL;
}

static void set_tracer(struct trace_shared *shared, struct idmap *m, uint64_t key,
                       struct tracer *t)
{
    uint64_t *value = idmap_put(m, &shared->arena, key);
    if (value)
        *value = (uint64_t)(uintptr_t)t;
}

/* --- Identities -------------------------------------------------------------------- */

static void identify(struct tracer *t, uint32_t number, uint64_t identity)
{
    uint64_t *value = idmap_put(&t->by_identity, &t->arena, identity);
    if (!value)
        return;
    *value = (uint64_t)number + 1;
    t->tasks[number].identity = identity;
}

void tracer_identify_task(struct tracer *t, uint32_t number)
{
    if (t->shared)
        identify(t, number, ++t->shared->identities);
}

/* The number of the task with that identity; t->task_count if there is none. */
static uint32_t number_of(const struct tracer *t, uint64_t identity)
{
    const uint64_t *value = idmap_find(&t->by_identity, identity);
    uint32_t number = value ? (uint32_t)*value - 1 : 0;
    bool is_it = value && number < t->task_count && t->tasks[number].identity == identity;
    return is_it ? number : (uint32_t)t->task_count;
}

void tracer_hold_task(struct tracer *t)
{
    if (t->shared)
        set_tracer(t->shared, &t->shared->holders, tracer_task(t)->identity, t);
}

void tracer_share_context(struct tracer *t, uint64_t key)
{
    if (!t->shared)
        return;
    /* The task has continued on another core: the code that still runs here is not
     * part of it. */
    const struct tracer *holder =
        tracer_in(&t->shared->holders, tracer_task(t)->identity);
    if (holder && holder != t)
        tracer_identify_task(t, t->current);
    tracer_hold_task(t);
    set_tracer(t->shared, &t->shared->owners, key, t);
}

/* --- Copying ----------------------------------------------------------------------- */

static trace_function_id adopt_function(struct tracer *t, const struct tracer *from,
                                        trace_function_id id)
{
    uint64_t key = (uint64_t)(uintptr_t)from << 20 ^ id;
    uint64_t *known = idmap_put(&t->adopted, &t->arena, key);
    if (!known)
        return TRACE_UNKNOWN_USER;
    if (*known == 0)
        *known = trace_code_adopt(&t->code, &from->code, id);
    return *known ? (trace_function_id)*known : TRACE_UNKNOWN_USER;
}

#define BETWEEN_MAX 66 /* nodes from a frame to the next: its own, and inlined calls */

static void adopt_nodes(struct tracer *t, const struct tracer *from,
                        const struct trace_frame *theirs, size_t count,
                        struct trace_frame *frames, trace_node at)
{
    const struct trace_tree *tree = &from->tree;
    trace_node outer = trace_node_parent(tree, theirs[0].node);
    for (size_t i = 0; i < count; i++) {
        uint32_t keys[BETWEEN_MAX];
        size_t depth = 0;
        trace_node mine = theirs[i].node;
        for (trace_node n = mine; n != outer && n && depth < BETWEEN_MAX;
             n = trace_node_parent(tree, n))
            keys[depth++] = tree->trie.nodes[n].key;
        while (depth > 0)
            if (!(keys[--depth] & TRACE_BASE_KEY))
                at = trace_tree_child(&t->tree, at, adopt_function(t, from, keys[depth]));
        frames[i] = theirs[i];
        frames[i].node = at;
        frames[i].function = adopt_function(t, from, frames[i].function);
        outer = mine;
    }
}

bool tracer_adopt_ecall(struct tracer *t, const struct tracer *from,
                        const struct trace_ecall *e, struct trace_frame *frames)
{
    trace_node base = trace_tree_base(&t->tree, t->current);
    if (base)
        adopt_nodes(t, from, e->frames, e->count, frames, base);
    return base && !tracer_failed(t);
}

static void adopt_traps(struct tracer *t, const struct trace_task *from,
                        struct trace_task *to)
{
    for (size_t i = 0; i < from->trap_count; i++) {
        struct trace_trap trap = from->traps[i];
        trap.load = 0;
        trap.waited = 0;
        trace_function_id function =
            to->frames[trap.frame > 0 ? trap.frame - 1 : 0].function;
        trap.site.location = trace_code_find(&t->code, trap.again)->location;
        if (trace_location_function(&t->code, trap.site.location) != function)
            trap.site.location = t->code.functions[function].location;
        to->traps[i] = trap;
    }
    to->trap_count = from->trap_count;
}

/* The base of a task that was copied. */
static trace_node base_of(struct tracer *t, uint32_t number)
{
    struct trace_tree *tree = &t->tree;
    trace_node base = t->tasks[number].base;
    bool is_free =
        base && tree->bases[tree->trie.nodes[base].key & ~TRACE_BASE_KEY].link == 0;
    if (!is_free)
        base = t->tasks[number].base = trace_tree_base(tree, number);
    return base;
}

static bool copy_task(struct tracer *t, uint32_t number, const struct tracer *from,
                      uint32_t theirs)
{
    const struct trace_task *source = &from->tasks[theirs];
    struct trace_task *task = &t->tasks[number];
    trace_node base = base_of(t, number);
    if (!ARRAY_RESERVE(&t->arena, task->frames, task->cap, source->count) ||
        !ARRAY_RESERVE(&t->arena, task->traps, task->trap_cap, source->trap_count + 1) ||
        !base)
        return false;
    adopt_nodes(t, from, source->frames, source->count, task->frames, base);
    task->count = source->count;
    task->beyond = source->beyond;
    adopt_traps(t, source, task);
    task->callers = source->callers;
    task->begins_in_trap = source->begins_in_trap;
    task->is_boot = source->is_boot;
    task->is_born = source->is_born;
    task->name = source->name;
    task->before = task->begun = 0;
    task->is_away = true;
    task->left = t->counted;
    task->program =
        source->program
            ? trace_code_add(&t->code, trace_code_binary(&from->code, source->program))
            : 0;
    return !tracer_failed(t);
}

/* The task that receives a copy: the one with that identity, or a new one. */
static uint32_t task_for_copy(struct tracer *t, uint64_t identity)
{
    uint32_t number = number_of(t, identity);
    if (number < t->task_count && number == t->current) {
        tracer_identify_task(t, number); /* it continues instead of the task */
        number = (uint32_t)t->task_count;
    }
    if (number < t->task_count)
        return number;
    number = tracer_free_task(t);
    if (number < t->task_count)
        identify(t, number, identity);
    return number;
}

/* --- Contexts ---------------------------------------------------------------------- */

static bool is_on_trial(const struct tracer *t, uint32_t number)
{
    return t->on_trial.task && number == t->on_trial.task;
}

/* Copies the task of a context from its owner. Returns the number of the task in this
 * tracer; t->task_count if there is none. */
static uint32_t fetch_task(struct tracer *t, struct tracer *holder, uint64_t identity)
{
    uint32_t none = (uint32_t)t->task_count;
    if (holder == t)
        return number_of(t, identity);
    uint32_t theirs = number_of(holder, identity);
    if (theirs >= holder->task_count || holder->tasks[theirs].count == 0 ||
        is_on_trial(holder, theirs))
        return none;
    uint32_t number = task_for_copy(t, identity);
    return number < t->task_count && copy_task(t, number, holder, theirs)
               ? number
               : (uint32_t)t->task_count;
}

const struct trace_context *tracer_find_context(struct tracer *t, uint64_t key,
                                                struct trace_context *copy)
{
    struct tracer *owner = t->shared ? tracer_in(&t->shared->owners, key) : t;
    const uint64_t *slot = owner ? idmap_find(&owner->by_address, key) : NULL;
    if (!slot || *slot == 0)
        return NULL;
    const struct trace_context *c = &owner->contexts[*slot - 1];
    struct tracer *holder = t->shared ? tracer_in(&t->shared->holders, c->identity) : t;
    if (owner == t && (holder == t || !holder))
        return c;
    uint32_t number = fetch_task(t, holder ? holder : owner, c->identity);
    if (number >= t->task_count)
        return NULL;
    *copy = *c;
    copy->task = number;
    if (owner != t) {
        copy->function = adopt_function(t, owner, c->function);
        copy->caller = c->caller ? adopt_function(t, owner, c->caller) : 0;
    }
    return copy;
}
