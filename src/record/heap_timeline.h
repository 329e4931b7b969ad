/* SPDX-License-Identifier: Apache-2.0 */
/* What happened at each site over time: in slices, one for each site and interval in
 * which it had events. The intervals are short at first. When there are too many slices,
 * the intervals become twice as long, so memory and file stay small. */
#ifndef STOKE_RECORD_HEAP_TIMELINE_H
#define STOKE_RECORD_HEAP_TIMELINE_H

#include "base/idmap.h"

struct heap_slice {
    uint32_t site;
    uint32_t interval;                /* its number: time >> shift */
    double bytes, count, temporary;   /* as in struct heap_site */
    double change;                    /* of the live bytes */
    double leaked;                    /* bytes allocated here that were never released */
    uint64_t samples, leaked_samples; /* records of `count` and `leaked` */
};

struct heap_timeline {
    struct heap_slice *slices; /* owned; [0] is unused */
    size_t count, cap;
    size_t most;  /* slices, before the intervals get longer */
    size_t sites; /* the largest number of a site, + 1 */
    unsigned shift;
    struct arena arena;
    struct idmap numbers; /* of slices, by site and interval */
    bool failed;          /* out of memory */
};

void heap_timeline_init(struct heap_timeline *t);
void heap_timeline_deinit(struct heap_timeline *t);

/* The slice of the site at that time, which may be new. `last` is the number of the
 * site's last slice, or 0, for a short way; it is updated. Valid until the next call.
 * NULL when out of memory. */
struct heap_slice *heap_timeline_at(struct heap_timeline *t, uint32_t site, uint64_t time,
                                    uint32_t *last);

/* The time at which the slice ends. */
static inline uint64_t heap_slice_end(const struct heap_timeline *t,
                                      const struct heap_slice *slice)
{
    return ((uint64_t)slice->interval + 1) << t->shift;
}

#endif
