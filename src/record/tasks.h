/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that sees to it that a recording knows the tasks its samples are of: their
 * names, and what code they have mapped.
 *
 * Of tasks that begin while it is recorded the kernel tells all. Those that were there
 * before are read from /proc when the first sample of theirs comes (or a child of
 * theirs): most never have one, and reading them all would cost more than the recording.
 * What is read then stands in front of that sample. */
#ifndef STOKE_RECORD_TASKS_H
#define STOKE_RECORD_TASKS_H

#include "record/jit_maps.h"
#include "record/record.h"

struct record_tasks {
    const struct record_layout *layout;
    struct record_sink next;
    uint8_t *known; /* by number: what the recording knows of that thread or process */
    uint32_t limit; /* numbers are below it */
    struct record_maker maker;
    struct record_jit_maps *jit_maps; /* the caller's, told who is sampled; or NULL */
};

/* A stage for both of them to be moved no more. False when memory is short. */
bool record_tasks_init(struct record_tasks *t, const struct record_layout *layout,
                       struct record_sink next, struct error *err);
void record_tasks_deinit(struct record_tasks *t); /* also of one that is all zeros */

struct record_sink record_tasks_sink(struct record_tasks *t);

/* Tells of a process that is there now, and of all its threads, at once. */
void record_tasks_add(struct record_tasks *t, uint32_t pid);

/* Tells anew of all that is known and still there, as of `time`, and of the kernel's
 * code: what follows can be read without what came before. */
void record_tasks_add_again(struct record_tasks *t, uint64_t time);

/* Tells of the kernel's code and its modules'. False where the system hides where they
 * are. */
bool record_tasks_add_kernel(struct record_tasks *t);

#endif
