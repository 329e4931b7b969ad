/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps or drops the stacks with a matching frame. */
#include "transform/pattern.h"
#include "transform/rewrite.h"

/* By stack: the patterns that match one of its frames. */
static uint32_t *match_stacks(struct rewrite *r, const struct transform_words *patterns,
                              struct error *err)
{
    const struct profile *from = r->from;
    uint32_t *of_frame = pattern_match_frames(&r->arena, from, patterns, err);
    uint32_t *of_stack = arena_zalloc(&r->arena, from->stack_count, sizeof *of_stack);
    if (of_frame && !of_stack)
        error_memory(err);
    if (!of_frame || !of_stack)
        return NULL;
    for (stack_id i = 1; i < from->stack_count; i++)
        of_stack[i] = of_stack[from->stacks[i].parent] | of_frame[from->stacks[i].frame];
    return of_stack;
}

struct choice {
    const uint32_t *of_stack;
    uint32_t all; /* the bits of all patterns */
};

static bool matches_all(const struct rewrite *r, struct sample *s)
{
    const struct choice *c = r->context;
    return c->of_stack[s->stack] == c->all;
}

static bool matches_none(const struct rewrite *r, struct sample *s)
{
    const struct choice *c = r->context;
    return c->of_stack[s->stack] == 0;
}

static bool choose(const struct profile *from, const struct transform_words *patterns,
                   bool (*row)(const struct rewrite *, struct sample *),
                   struct builder *to, struct error *err)
{
    struct rewrite r;
    struct choice c = {.all = UINT32_MAX >> (TRANSFORM_WORDS_MAX - patterns->count)};
    bool ok = rewrite_init(&r, from, to, err) &&
              (c.of_stack = match_stacks(&r, patterns, err)) != NULL;
    r.context = &c;
    r.row = row;
    ok = ok && rewrite_run(&r, err);
    rewrite_deinit(&r);
    return ok;
}

static bool focus_requested(const struct transform_options *o)
{
    return o->focus.count > 0;
}

static bool focus_run(const struct profile *from, const struct transform_options *o,
                      struct builder *to, struct error *err)
{
    return choose(from, &o->focus, matches_all, to, err);
}

static bool ignore_requested(const struct transform_options *o)
{
    return o->ignore.count > 0;
}

static bool ignore_run(const struct profile *from, const struct transform_options *o,
                       struct builder *to, struct error *err)
{
    return choose(from, &o->ignore, matches_none, to, err);
}

const struct transform transform_focus = {
    .name = "focus",
    .summary = "keep the stacks with a frame that matches",
    .requested = focus_requested,
    .run = focus_run,
};

const struct transform transform_ignore = {
    .name = "ignore",
    .summary = "drop the stacks with a frame that matches",
    .requested = ignore_requested,
    .run = ignore_run,
};
