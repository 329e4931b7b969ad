/* SPDX-License-Identifier: Apache-2.0 */
/* Limits the depth of stacks: the innermost frames remain, as with perf's --max-stack. */
#include "transform/rewrite.h"

struct limit {
    uint32_t most;
    stack_id *known; /* by old stack: the new one, 0: not made yet */
    stack_id *path;  /* the frames of the current stack, from the leaf */
};

static stack_id shortened_stack(struct rewrite *r, struct sample *s)
{
    struct limit *l = r->context;
    stack_id stack = l->known[s->stack];
    uint32_t count = 0;
    if (stack)
        return stack;
    for (stack_id i = s->stack; i && count < l->most; i = r->from->stacks[i].parent)
        l->path[count++] = i;
    while (count > 0)
        stack = builder_push(r->to, stack,
                             rewrite_frame(r, r->from->stacks[l->path[--count]].frame));
    l->known[s->stack] = stack;
    return stack;
}

/* The frames of the deepest stack; fills the number of frames of each. */
static uint32_t find_depths(const struct profile *from, uint32_t *depths)
{
    uint32_t most = 0;
    for (stack_id i = 1; i < from->stack_count; i++) {
        depths[i] = depths[from->stacks[i].parent] + 1;
        most = depths[i] > most ? depths[i] : most;
    }
    return most;
}

static bool max_stack_requested(const struct transform_options *o)
{
    return o->max_stack > 0;
}

static bool max_stack_run(const struct profile *from, const struct transform_options *o,
                          struct builder *to, struct error *err)
{
    struct rewrite r;
    struct limit l = {.most = o->max_stack};
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        uint32_t *depths = arena_zalloc(&r.arena, from->stack_count, sizeof *depths);
        l.known = arena_zalloc(&r.arena, from->stack_count, sizeof *l.known);
        uint32_t deepest = depths ? find_depths(from, depths) : 0;
        l.path = arena_zalloc(&r.arena, (size_t)deepest + 1, sizeof *l.path);
        r.context = &l;
        if (deepest > l.most) /* otherwise all stacks remain as they are */
            r.make_stack = shortened_stack;
        ok = depths && l.known && l.path ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_max_stack = {
    .name = "max-stack",
    .summary = "only the innermost frames of each stack",
    .requested = max_stack_requested,
    .run = max_stack_run,
};
