/* SPDX-License-Identifier: Apache-2.0 */
/* Threads as frames: each stack begins with its thread's name, as folded stacks do. */
#include "base/hash.h"
#include "transform/rewrite.h"

/* An old stack on top of a new root, and the new stack that it is there. */
struct graft {
    stack_id root, old, stack;
};

struct grafting {
    frame_id *of_thread;
    struct graft *grafts; /* from 1 on */
    size_t count, cap;
    struct index index;
    stack_id *climb; /* stacks that are still to be made, leaf first */
    size_t climb_cap;
};

static bool same_graft(const void *context, uint32_t id)
{
    const struct graft *const *wanted = context;
    const struct graft *a = &wanted[0][id], *b = wanted[1];
    return a->root == b->root && a->old == b->old;
}

static struct index_slot *find_graft(struct rewrite *r, const struct graft *wanted,
                                     uint32_t *hash)
{
    struct grafting *g = r->context;
    const struct graft *const context[] = {g->grafts, wanted};
    if (!index_reserve(&g->index, &r->arena, 1))
        return NULL;
    *hash = (uint32_t)hash_pair(wanted->root, wanted->old);
    return index_find(&g->index, *hash, same_graft, context);
}

static bool add_graft(struct rewrite *r, const struct graft *graft)
{
    struct grafting *g = r->context;
    struct graft *grafts =
        arena_grow(&r->arena, g->grafts, &g->cap, g->count + 2, sizeof *grafts);
    uint32_t hash;
    if (!grafts)
        return false;
    g->grafts = grafts;
    struct index_slot *slot = find_graft(r, graft, &hash);
    if (!slot)
        return false;
    grafts[++g->count] = *graft;
    index_fill(&g->index, slot, hash, (uint32_t)g->count);
    return true;
}

/* Collects the callers of `old` up to one that is known on this root; gives what that one
 * is, or the root. */
static stack_id climb_up(struct rewrite *r, stack_id root, stack_id old, size_t *count)
{
    struct grafting *g = r->context;
    *count = 0;
    for (; old; old = r->from->stacks[old].parent) {
        uint32_t hash;
        const struct graft wanted = {.root = root, .old = old};
        struct index_slot *slot = find_graft(r, &wanted, &hash);
        if (slot && slot->id)
            return g->grafts[slot->id].stack;
        stack_id *climb =
            arena_grow(&r->arena, g->climb, &g->climb_cap, *count + 1, sizeof *climb);
        if (!slot || !climb)
            return root;
        g->climb = climb;
        climb[(*count)++] = old;
    }
    return root;
}

static stack_id place_on_thread(struct rewrite *r, struct sample *s)
{
    struct grafting *g = r->context;
    stack_id root = builder_push(r->to, 0, g->of_thread[s->thread]);
    size_t count;
    struct graft graft = {.root = root};
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

static bool threads_wanted(const struct transform_options *o)
{
    return o->thread_frames || o->reverse;
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
        r.place = place_on_thread;
        ok = g.of_thread ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_threads = {
    .name = "threads",
    .summary = "begin stacks with the thread's name",
    .wanted = threads_wanted,
    .run = threads_run,
};
