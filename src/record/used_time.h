/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time that the targets of a recording use, to compare it with what was sampled. The whole
 * machine's is in /proc/stat, that of a control group in its cpu.stat. Threads have a counter each,
 * which their children inherit; there is none if the targets are many threads. */
#ifndef STOKE_RECORD_USED_TIME_H
#define STOKE_RECORD_USED_TIME_H

#include "record/perf_sampler.h"

struct record_used_time {
    const struct record_targets *targets;
    int *counters; /* of the threads; NULL: none */
    size_t count;
    uint64_t before; /* ns, at the start; of the machine or group */
    bool known;
    uint64_t used; /* ns, after the stop */
};

#define RECORD_USED_TIME_THREADS 1024

/* The targets must outlive it. Opens counters of threads; if that is not possible, the time remains
 * unknown. Close it in any case. */
void record_used_time_open(struct record_used_time *u,
                           const struct record_targets *targets);
void record_used_time_close(struct record_used_time *u); /* also if it is all zeros */

/* When sampling starts, and when it has ended. */
void record_used_time_start(struct record_used_time *u);
void record_used_time_stop(struct record_used_time *u);

/* The CPU time in between, ns; 0 if it is not known. */
static inline uint64_t record_used_time(const struct record_used_time *u)
{
    return u->known ? u->used : 0;
}

#endif
