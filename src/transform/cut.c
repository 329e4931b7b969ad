/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the callers of a frame. */
#include "transform/pattern.h"
#include "transform/rewrite.h"

/* --- show-from: starts at the outermost match; other stacks are dropped ------------ */

/* By stack: itself if it or a caller has a matching frame, else dropped. */
static stack_id *stacks_from_outermost(struct rewrite *r, const uint32_t *of_frame)
{
    const struct profile *from = r->from;
    stack_id *instead = arena_zalloc(&r->arena, from->stack_count, sizeof *instead);
    if (!instead)
        return NULL;
    instead[0] = STACK_DROPPED;
    for (stack_id i = 1; i < from->stack_count; i++) {
        const struct stack *s = &from->stacks[i];
        bool begun = instead[s->parent] != STACK_DROPPED || of_frame[s->frame];
        instead[i] = begun ? i : STACK_DROPPED;
    }
    return instead;
}

static bool show_from_requested(const struct transform_options *o)
{
    return o->show_from.count > 0;
}

static bool show_from_run(const struct profile *from, const struct transform_options *o,
                          struct builder *to, struct error *err)
{
    struct rewrite r;
    const uint32_t *of_frame = NULL;
    bool ok =
        rewrite_init(&r, from, to, err) &&
        (of_frame = pattern_match_frames(&r.arena, from, &o->show_from, err)) != NULL;
    if (ok) {
        r.instead = stacks_from_outermost(&r, of_frame);
        ok = r.instead ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

/* --- base: starts at the innermost match; other stacks are dropped ----------------- */

static uint32_t *find_bases(struct rewrite *r, const struct transform_words *names)
{
    const struct profile *from = r->from;
    uint32_t *is_base = arena_zalloc(&r->arena, from->frame_count, sizeof *is_base);
    for (frame_id f = 1; is_base && f < from->frame_count; f++) {
        struct str name = profile_string(from, from->frames[f].name);
        for (size_t i = 0; i < names->count; i++)
            is_base[f] |= str_equal(name, str_of(names->items[i])) ||
                          str_equal(label_without_suffix(name), str_of(names->items[i]));
    }
    return is_base;
}

static bool base_requested(const struct transform_options *o)
{
    return o->base.count > 0;
}

static bool base_run(const struct profile *from, const struct transform_options *o,
                     struct builder *to, struct error *err)
{
    struct rewrite r;
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        r.begins = find_bases(&r, &o->base);
        r.instead = r.begins ? stacks_from_outermost(&r, r.begins) : NULL;
        ok = r.instead ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_show_from = {
    .name = "show-from",
    .summary = "begin stacks at the outermost frame that matches",
    .requested = show_from_requested,
    .run = show_from_run,
};

const struct transform transform_base = {
    .name = "base",
    .summary = "only stacks with a matching function; begin them at the innermost match",
    .requested = base_requested,
    .run = base_run,
};
