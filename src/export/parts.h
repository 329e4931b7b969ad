/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a profile cut by event and thread: what is a profile or a thread of its
 * own in formats that hold several. */
#ifndef STOKE_EXPORT_PARTS_H
#define STOKE_EXPORT_PARTS_H

#include "export/exporter.h"
#include "export/threads.h"

/* The samples of one event on what counts as one thread. */
struct sample_part {
    event_id event;
    uint32_t thread;   /* of the set */
    size_t first, end; /* in the order of samples */
    double total;      /* of what samples weigh: see sample_parts_weight */
};

struct sample_parts {
    uint32_t *order; /* samples, by event, thread and time; without a time as they came */
    struct sample_part *items;
    size_t count, cap;
};

/* The arrays are the arena's. False when memory is short. */
bool sample_parts_init(struct sample_parts *parts, struct arena *a,
                       const struct profile *p, const struct thread_set *threads,
                       const struct calltree_options *tree);

/* A sample's weight, or how many samples it stands for, as the options say. */
static inline double sample_parts_weight(const struct calltree_options *tree,
                                         const struct sample *s)
{
    return tree->weight == CALLTREE_SAMPLES ? (double)s->count : s->weight;
}

#endif
