/* SPDX-License-Identifier: Apache-2.0 */
/* Makes threads frames: each stack starts with the name of its thread, as in folded
 * stacks. */
#include "base/array.h"
#include "base/hash.h"
#include "base/sort.h"
#include "transform/rewrite.h"

/* An old stack below a new root, and its new stack there. */
struct graft {
    stack_id root, old, stack;
};

struct grafting {
    frame_id *of_thread;
    frame_id *of_process; /* by thread; NULL: only of_thread */
    struct graft *grafts; /* from 1 on */
    size_t count, cap;
    struct index index;
    stack_id *climb; /* stacks to make, leaf first */
    size_t climb_cap;
};

static bool same_graft(const void *context, uint32_t id)
{
    const struct graft *const *requested = context;
    const struct graft *a = &requested[0][id], *b = requested[1];
    return a->root == b->root && a->old == b->old;
}

static struct index_slot *find_graft(struct rewrite *r, const struct graft *requested,
                                     uint32_t *hash)
{
    struct grafting *g = r->context;
    const struct graft *const context[] = {g->grafts, requested};
    if (!index_reserve(&g->index, &r->arena, 1))
        return NULL;
    *hash = (uint32_t)hash_pair(requested->root, requested->old);
    return index_find(&g->index, *hash, same_graft, context);
}

static bool add_graft(struct rewrite *r, const struct graft *graft)
{
    struct grafting *g = r->context;
    uint32_t hash;
    if (!ARRAY_RESERVE(&r->arena, g->grafts, g->cap, g->count + 2))
        return false;
    struct index_slot *slot = find_graft(r, graft, &hash);
    if (!slot)
        return false;
    g->grafts[++g->count] = *graft;
    index_fill(&g->index, slot, hash, (uint32_t)g->count);
    return true;
}

/* Collects the callers of `old` up to one that is known below this root; returns its new
 * stack, or the root. */
static stack_id climb_up(struct rewrite *r, stack_id root, stack_id old, size_t *count)
{
    struct grafting *g = r->context;
    *count = 0;
    for (; old; old = r->from->stacks[old].parent) {
        uint32_t hash;
        const struct graft requested = {.root = root, .old = old};
        struct index_slot *slot = find_graft(r, &requested, &hash);
        if (slot && slot->id)
            return g->grafts[slot->id].stack;
        stack_id *at = ARRAY_APPEND(&r->arena, g->climb, *count, g->climb_cap);
        if (!slot || !at)
            return root;
        *at = old;
    }
    return root;
}

/* The outermost frames of a thread's samples. */
static stack_id root_of(struct rewrite *r, thread_id thread)
{
    const struct grafting *g = r->context;
    stack_id root = 0;
    if (g->of_process && g->of_process[thread])
        root = builder_push(r->to, root, g->of_process[thread]);
    return g->of_thread[thread] || !root ? builder_push(r->to, root, g->of_thread[thread])
                                         : root;
}

static stack_id stack_below_thread(struct rewrite *r, struct sample *s)
{
    struct grafting *g = r->context;
    stack_id root = root_of(r, s->thread);
    size_t count;
    struct graft graft = {.root = root};
    if (!g->of_process)
        s->thread = 0;
    graft.stack = climb_up(r, root, s->stack, &count);
    while (count-- > 0 && !r->arena.failed) {
        graft.old = g->climb[count];
        graft.stack = builder_push(r->to, graft.stack,
                                   rewrite_frame(r, r->from->stacks[graft.old].frame));
        add_graft(r, &graft);
    }
    return graft.stack;
}

static bool threads_requested(const struct transform_options *o)
{
    return o->thread_frames || o->reverse;
}

static bool before_by_process(const void *context, uint32_t a, uint32_t b)
{
    const struct thread *threads = context;
    return threads[a].pid != threads[b].pid ? threads[a].pid < threads[b].pid
                                            : threads[a].tid < threads[b].tid;
}

/* The frame of each process, with the name of its main thread, otherwise of its first
 * one. A thread without siblings needs no frame of its own. */
static bool make_process_frames(struct rewrite *r, struct grafting *g)
{
    const struct profile *from = r->from;
    size_t count = from->thread_count - 1; /* [0] is "none" */
    uint32_t *order = arena_alloc(&r->arena, 2 * (count + 1) * sizeof *order);
    frame_id *named = rewrite_thread_frames(r, THREAD_PID);
    g->of_process = arena_zalloc(&r->arena, count + 1, sizeof *g->of_process);
    if (!order || !named || !g->of_process)
        return false;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i + 1;
    sort_u32(order, count, order + count, before_by_process, from->threads);
    for (size_t i = 0, end; i < count; i = end) {
        const struct thread *first = &from->threads[order[i]];
        uint32_t main = order[i];
        for (end = i; end < count && from->threads[order[end]].pid == first->pid; end++)
            if (from->threads[order[end]].tid == first->pid)
                main = order[end];
        if (first->pid == ID_NONE)
            continue; /* threads of unknown processes */
        for (size_t k = i; k < end; k++)
            g->of_process[order[k]] = named[main];
        if (end - i == 1)
            g->of_thread[main] = 0;
    }
    return true;
}

static bool threads_run(const struct profile *from, const struct transform_options *o,
                        struct builder *to, struct error *err)
{
    struct rewrite r;
    struct grafting g = {0};
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        g.of_thread = rewrite_thread_frames(&r, o->threads);
        r.context = &g;
        r.make_stack = stack_below_thread;
        ok = g.of_thread && (!o->process_frames || make_process_frames(&r, &g));
        ok = ok ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_threads = {
    .name = "threads",
    .summary = "begin stacks with the thread's name",
    .requested = threads_requested,
    .run = threads_run,
};
