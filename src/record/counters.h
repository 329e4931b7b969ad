/* SPDX-License-Identifier: Apache-2.0 */
/* Counts events without samples (perf_event_open), for stoke stat.
 *
 * Each event is counted for each target: a thread with what it starts, or a CPU. A machine counts
 * a few events at a time; if there are more, the kernel counts them in rotation, and each count
 * is scaled by the time for which its counter ran. */
#ifndef STOKE_RECORD_COUNTERS_H
#define STOKE_RECORD_COUNTERS_H

#include "record/perf_sampler.h"

struct record_counters_settings {
    struct record_events events;
    struct record_targets targets; /* from_exec: the counters start at the exec */
};

struct record_counter {
    int fd;
    uint32_t event, cpu; /* OS_ANY_CPU as uint32_t: a thread, on any CPU */
    int64_t tid;         /* OS_ANY_THREAD: a CPU */
};

struct record_counters {
    struct record_counters_settings settings; /* events: as they are counted */
    struct record_counter *items;
    size_t count, cap;
    bool missing[RECORD_EVENTS_MAX]; /* events that this machine does not have */
    uint32_t split; /* groups, by bits, whose events cannot be counted at once */
    size_t
        hidden; /* events that are counted in user code only: the kernel permits no more */
};

/* Opens the counters, disabled. An event that this machine does not have is missing. False, with
 * a hint for the user, if the kernel refuses. Close it in any case. */
bool record_counters_open(struct record_counters *c,
                          const struct record_counters_settings *settings,
                          struct error *err);
void record_counters_close(struct record_counters *c); /* also if it is all zeros */

/* Those that wait for an exec start by themselves. */
void record_counters_enable(struct record_counters *c);
void record_counters_disable(struct record_counters *c);

/* What a counter has counted since it was enabled; zeros if it did not run. */
struct os_perf_count record_counters_read(const struct record_counter *c);

#endif
