/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites the stacks of a profile: the base of most transforms.
 *
 * A transform sets what differs from copying and calls rewrite_run. The new profile gets
 * only the stacks of samples and their callers, parent before child; frames, modules and
 * threads are copied when they are first needed. */
#ifndef STOKE_TRANSFORM_REWRITE_H
#define STOKE_TRANSFORM_REWRITE_H

#include "transform/transform.h"

/* No stack: its samples are dropped. */
#define STACK_DROPPED UINT32_MAX

struct rewrite {
    const struct profile *from;
    struct builder *to;
    void *context;      /* for the transform */
    struct arena arena; /* scratch, freed by rewrite_deinit */

    /* --- Functions of a verb ------------------------------------------------------- */

    /* By old stack: the old stack that its samples are moved to: itself, one of its
     * callers, 0, or STACK_DROPPED. Callees move with it. NULL: no stack moves. */
    const stack_id *instead;

    /* By old frame: stacks start there, without its callers. NULL: none. */
    const uint32_t *begins;

    /* True if the sample remains. May change its weight. Called twice per sample, on a
     * copy with the old IDs. NULL: all remain. */
    bool (*row)(const struct rewrite *r, struct sample *s);

    /* The new stack for `old`, whose caller became `parent`. NULL: pushes its frame. */
    stack_id (*push)(struct rewrite *r, stack_id parent, stack_id old);

    /* The new frame for an old one. NULL: rewrite_copy_frame. 0: the frame is removed. */
    frame_id (*frame)(struct rewrite *r, frame_id old);

    /* The new stack of a sample, for transforms that make each stack as a whole:
     * `instead`, `begins` and `push` are then unused. May change the thread of the
     * sample, which is an old ID. */
    stack_id (*make_stack)(struct rewrite *r, struct sample *s);

    /* The labels of the sample that `row` and `make_stack` are called with, an old ID.
     * Labels of samples do not change. */
    label_set_id labels;

    /* The index of that sample. */
    size_t index;

    /* --- New IDs by old ones ------------------------------------------------------- */

    /* All events are copied, unless the transform sets a map, in which 0 drops the
     * samples of the event. In the other maps, 0 is "not copied yet". */
    const event_id *events;
    module_id *modules;
    frame_id *frames;
    thread_id *threads;
    stack_id *stacks;
    label_set_id *label_sets;
};

/* False, with err set, when out of memory; deinit in every case. */
bool rewrite_init(struct rewrite *r, const struct profile *from, struct builder *to,
                  struct error *err);
void rewrite_deinit(struct rewrite *r);

/* Adds all remaining samples to the builder. False, with err set, when out of scratch
 * memory. */
bool rewrite_run(struct rewrite *r, struct error *err);

/* The new frame for an old one; the first call makes it. */
frame_id rewrite_frame(struct rewrite *r, frame_id old);

/* A copy of an old frame, with another name if `name` is not NULL. */
frame_id rewrite_copy_frame(struct rewrite *r, frame_id old, const struct str *name);

/* By old stack: its outermost frame. NULL when out of memory. */
frame_id *rewrite_outermost_frames(struct rewrite *r);

/* By old thread: a new frame with its name; 0 if it has none. NULL when out of
 * memory. */
frame_id *rewrite_thread_frames(struct rewrite *r, enum thread_style style);

/* By old frame: a number below *limit, equal for frames of the same name (without a name:
 * of the same module). NULL when out of memory. */
uint32_t *rewrite_name_numbers(struct rewrite *r, size_t *limit);

#endif
