/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a profile by event and thread: the profiles or threads in formats
 * that have several. */
#ifndef STOKE_EXPORT_PARTS_H
#define STOKE_EXPORT_PARTS_H

#include "export/exporter.h"
#include "export/threads.h"

/* The samples of one event in one thread of the set. */
struct sample_part {
    event_id event;
    uint32_t thread;   /* of the set */
    size_t first, end; /* range of `order` */
    double total;      /* see sample_parts_weight */
};

struct sample_parts {
    struct thread_set threads; /* see tree->threads */
    uint32_t
        *order; /* samples, by event, thread and time; without a time, in their order */
    struct sample_part *items;
    size_t count, cap;
};

/* The arrays are allocated from the arena. False if out of memory. */
bool sample_parts_init(struct sample_parts *parts, struct arena *a,
                       const struct profile *p, const struct calltree_options *tree);

/* A sample's weight, or its count, according to the options. */
static inline double sample_parts_weight(const struct calltree_options *tree,
                                         const struct sample *s)
{
    return tree->weight == CALLTREE_SAMPLES ? (double)s->count : s->weight;
}

#endif
