/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a profile as a view distinguishes them: one for each comm, process or
 * thread. Fields that a style does not show are ID_NONE. */
#ifndef STOKE_EXPORT_THREADS_H
#define STOKE_EXPORT_THREADS_H

#include "model/frame_label.h"
#include "model/profile.h"

struct thread_set {
    struct thread *items; /* [0] is unused; names are the profile's strings */
    size_t count;
    uint32_t *of_thread; /* the item of each of the profile's threads */
};

/* The arrays are allocated from the arena. False if out of memory. */
bool thread_set_init(struct thread_set *set, struct arena *a, const struct profile *p,
                     enum thread_style style);

#endif
