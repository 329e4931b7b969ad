/* SPDX-License-Identifier: Apache-2.0 */
/* Reverses stacks: the leaf comes first, its callers below it. */
#include "transform/rewrite.h"

/* Stacks with shared callers share nothing when reversed: a chain of n frames with
 * samples at each becomes n * n / 2 frames. Real profiles are far below this limit. */
#define FRAMES_MAX 400000000u

struct reversal {
    stack_id *known; /* by old stack: its reversal, 0: not made yet */
    uint64_t frames; /* frames visited so far */
};

static stack_id reversed_stack(struct rewrite *r, struct sample *s)
{
    struct reversal *v = r->context;
    stack_id stack = v->known[s->stack];
    if (stack || v->frames > FRAMES_MAX)
        return stack;
    for (stack_id i = s->stack; i; i = r->from->stacks[i].parent) {
        stack = builder_push(r->to, stack, rewrite_frame(r, r->from->stacks[i].frame));
        v->frames++;
    }
    v->known[s->stack] = stack;
    return stack;
}

static bool reverse_requested(const struct transform_options *o)
{
    return o->reverse;
}

static bool reverse_run(const struct profile *from, const struct transform_options *o,
                        struct builder *to, struct error *err)
{
    struct rewrite r;
    struct reversal v = {0};
    bool ok = rewrite_init(&r, from, to, err);
    (void)o;
    if (ok) {
        v.known = arena_zalloc(&r.arena, from->stack_count, sizeof *v.known);
        r.context = &v;
        r.make_stack = reversed_stack;
        ok = v.known ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    if (ok && v.frames > FRAMES_MAX) {
        error_set(err, "the stacks have too many frames to reverse");
        ok = error_hint(err, "shorten them with --base or --show-from");
    }
    return ok;
}

const struct transform transform_reverse = {
    .name = "reverse",
    .summary = "reverse the stacks: leaf first",
    .requested = reverse_requested,
    .run = reverse_run,
};
