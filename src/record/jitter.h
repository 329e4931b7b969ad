/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks with a varying period.
 *
 * A clock samples at regular times. Work that is repeated at its rate, or at a multiple of it,
 * would meet the samples always or never, and its share would be wrong. So the rate changes
 * slightly and at random from time to time: then each moment of such work is sampled as often as
 * any other one. A rate that is higher is followed by one that is lower by as much: the kernel
 * states the period of the first samples in all of them, and their sum remains the CPU time.
 *
 * Counters of CPUs are changed; the kernel has no way to change the counters that a new thread
 * inherits. Counters of events are not changed: the kernel adapts their periods all the time.
 * Each change begins a new period, and the time since the last sample is not sampled: half a
 * period in JITTER_SAMPLES. */
#ifndef STOKE_RECORD_JITTER_H
#define STOKE_RECORD_JITTER_H

#include "record/perf_sampler.h"

#define JITTER_SAMPLES 500 /* of a busy CPU, between two changes */
#define JITTER_PERCENT 2   /* the rate differs by that at most */

/* All zero at the start. */
struct record_jitter {
    uint64_t random;   /* state of the generator */
    uint64_t due;      /* ns: when the rates change next */
    double difference; /* of the rates from those that were requested: 0.01 is 1 % */
    bool is_second;    /* the next difference is the opposite of this one */
};

/* Selects the next difference. */
void record_jitter_next(struct record_jitter *j);

/* Changes the clocks of CPUs of an open sampler if that is due at `now` (os_clock_monotonic). */
void record_jitter_turn(struct record_jitter *j, const struct perf_sampler *s,
                        uint64_t now);

#endif
