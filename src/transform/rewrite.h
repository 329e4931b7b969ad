/* SPDX-License-Identifier: Apache-2.0 */
/* The rewriting of a profile's stacks: what the verbs are made of.
 *
 * A verb says what differs from plain copying and calls rewrite_run. Only the stacks that
 * samples end up in, and their callers, are made in the new profile, parent before child;
 * their frames, modules and threads are taken over when they are first needed. */
#ifndef STOKE_TRANSFORM_REWRITE_H
#define STOKE_TRANSFORM_REWRITE_H

#include "transform/transform.h"

/* No stack: its samples are left out. */
#define STACK_DROPPED UINT32_MAX

struct rewrite {
    const struct profile *from;
    struct builder *to;
    void *context;      /* the verb's own */
    struct arena arena; /* scratch; gone with rewrite_deinit */

    /* --- What a verb may say ------------------------------------------------------- */

    /* By old stack: the old stack that its samples go to: itself, one of its callers, 0,
     * or STACK_DROPPED. A stack's caller is then the one that stands in its caller's
     * place. NULL: each stays itself. */
    const stack_id *instead;

    /* By old frame: whether stacks begin there, without its callers. NULL: none. */
    const uint32_t *begins;

    /* Whether the sample stays. May change its weight. Called twice a sample, on a copy
     * with the old ids. NULL: all stay. */
    bool (*row)(const struct rewrite *r, struct sample *s);

    /* The new stack for `old`, whose caller became `parent`. NULL: its frame on top. */
    stack_id (*push)(struct rewrite *r, stack_id parent, stack_id old);

    /* The new frame for an old one. NULL: rewrite_copy_frame. 0 leaves it out. */
    frame_id (*frame)(struct rewrite *r, frame_id old);

    /* The new stack of a sample, for verbs that make each stack as a whole: then none of
     * `instead`, `begins` and `push` is used. May change the sample's thread, still an
     * old id. */
    stack_id (*place)(struct rewrite *r, struct sample *s);

    /* --- New ids by old ones -------------------------------------------------------- */

    /* Events are all taken over, unless the verb sets a map of its own, in which 0 drops
     * the event's samples. In the others 0 is "not met yet". */
    const event_id *events;
    module_id *modules;
    frame_id *frames;
    thread_id *threads;
    stack_id *stacks;
};

/* False, with err set, when memory is short; deinit in every case. */
bool rewrite_init(struct rewrite *r, const struct profile *from, struct builder *to,
                  struct error *err);
void rewrite_deinit(struct rewrite *r);

/* Adds all samples that stay to the builder. False, with err set, when the scratch memory
 * ran out. */
bool rewrite_run(struct rewrite *r, struct error *err);

/* The new frame for an old one, made at the first call. */
frame_id rewrite_frame(struct rewrite *r, frame_id old);

/* A copy of an old frame, under another name where `name` is not NULL. */
frame_id rewrite_copy_frame(struct rewrite *r, frame_id old, const struct str *name);

/* By old stack: its outermost frame. NULL when memory is short. */
frame_id *rewrite_outermost_frames(struct rewrite *r);

/* By old thread: a new frame called like it; 0 where it has no name. NULL when memory is
 * short. */
frame_id *rewrite_thread_frames(struct rewrite *r, enum thread_style style);

/* By old frame: a number that frames of the same name share (unknown frames: of the same
 * module), below *limit. NULL when memory is short. */
uint32_t *rewrite_name_numbers(struct rewrite *r, size_t *limit);

#endif
