/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a profile as far as a view tells them apart: one for each comm, process
 * or thread. What a style does not show is ID_NONE. */
#ifndef STOKE_EXPORT_THREADS_H
#define STOKE_EXPORT_THREADS_H

#include "model/label.h"
#include "model/profile.h"

struct thread_set {
    struct thread *items; /* [0] is none; names are the profile's strings */
    size_t count;
    uint32_t *of_thread; /* the item of each of the profile's threads */
};

/* The arrays are the arena's. False when memory is short. */
bool thread_set_init(struct thread_set *set, struct arena *a, const struct profile *p,
                     enum thread_style style);

#endif
