/* SPDX-License-Identifier: Apache-2.0 */
/* Removes frames. A stack without remaining frames is dropped with its samples, as in
 * pprof. */
#include "transform/pattern.h"
#include "transform/rewrite.h"

/* The remaining stack of each stack: without the hidden frames. */
static stack_id *stacks_shown(struct rewrite *r, const uint32_t *of_frame, bool shown)
{
    const struct profile *from = r->from;
    stack_id *instead = arena_zalloc(&r->arena, from->stack_count, sizeof *instead);
    if (!instead)
        return NULL;
    for (stack_id i = 1; i < from->stack_count; i++) {
        const struct stack *s = &from->stacks[i];
        if ((of_frame[s->frame] != 0) == shown)
            instead[i] = i;
        else
            instead[i] = s->parent ? instead[s->parent] : STACK_DROPPED;
    }
    instead[0] = shown ? STACK_DROPPED : 0;
    return instead;
}

/* By frame: the patterns that match it. */
typedef uint32_t *match_frames(struct arena *a, const struct profile *p,
                               const struct transform_words *patterns, struct error *err);

static uint32_t *match_frames_of_modules(struct arena *a, const struct profile *p,
                                         const struct transform_words *patterns,
                                         struct error *err)
{
    const uint32_t *of_module = pattern_match_modules(a, p, patterns, err);
    uint32_t *of_frame = arena_alloc(a, p->frame_count * sizeof *of_frame);
    if (!of_module)
        return NULL;
    for (frame_id f = 0; of_frame && f < p->frame_count; f++)
        of_frame[f] = of_module[p->frames[f].module];
    if (!of_frame)
        error_memory(err);
    return of_frame;
}

static bool choose(const struct profile *from, match_frames *match,
                   const struct transform_words *patterns, bool shown, struct builder *to,
                   struct error *err)
{
    struct rewrite r;
    const uint32_t *of_frame = NULL;
    bool ok = rewrite_init(&r, from, to, err) &&
              (of_frame = match(&r.arena, from, patterns, err)) != NULL;
    if (ok) {
        r.instead = stacks_shown(&r, of_frame, shown);
        ok = r.instead ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

static bool hide_requested(const struct transform_options *o)
{
    return o->hide.count > 0;
}

static bool hide_run(const struct profile *from, const struct transform_options *o,
                     struct builder *to, struct error *err)
{
    return choose(from, pattern_match_frames, &o->hide, false, to, err);
}

static bool show_requested(const struct transform_options *o)
{
    return o->show.count > 0;
}

static bool show_run(const struct profile *from, const struct transform_options *o,
                     struct builder *to, struct error *err)
{
    return choose(from, pattern_match_frames, &o->show, true, to, err);
}

static bool show_module_requested(const struct transform_options *o)
{
    return o->show_module.count > 0;
}

static bool show_module_run(const struct profile *from, const struct transform_options *o,
                            struct builder *to, struct error *err)
{
    return choose(from, match_frames_of_modules, &o->show_module, true, to, err);
}

const struct transform transform_hide = {
    .name = "hide",
    .summary = "leave out the frames that match",
    .requested = hide_requested,
    .run = hide_run,
};

const struct transform transform_show = {
    .name = "show",
    .summary = "leave out the frames that do not match",
    .requested = show_requested,
    .run = show_run,
};

const struct transform transform_show_module = {
    .name = "show-module",
    .summary = "leave out the frames of other modules",
    .requested = show_module_requested,
    .run = show_module_run,
};
