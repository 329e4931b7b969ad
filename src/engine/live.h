/* SPDX-License-Identifier: Apache-2.0 */
/* Live sampling of this machine without a file, for tables that are refreshed
 * periodically. `stoke top` uses it; a daemon can use it, too.
 *
 *   struct engine_live live = {.settings = {.record = ..., .turn = ...}};
 *   ok = engine_live_open(&live, &err) && engine_live_run(&live, &report, &err);
 *   engine_live_close(&live);
 *
 * engine_live_run calls turn() repeatedly. turn() calls engine_live_refresh, which makes
 * the profile live.samples.shown of the samples. */
#ifndef STOKE_ENGINE_LIVE_H
#define STOKE_ENGINE_LIVE_H

#include "engine/live_samples.h"
#include "engine/report.h"
#include "record/live.h"

struct engine_live_settings {
    struct record_live_settings record; /* except `idle` and its context */

    /* Called after each wait for the kernel, with the reasons for its end (enum
     * os_wait_reason). Sets how many milliseconds the next wait may take. Returns false
     * to end the run. */
    bool (*turn)(void *context, unsigned reasons, int *next);
    void *context;
};

/* The time that a refresh covers, and its samples. */
struct engine_live_span {
    uint64_t from, to; /* ns by the clock of the samples */
    uint64_t samples;
};

struct engine_live {
    struct engine_live_settings settings; /* set by the caller */
    /* live_samples.h lists the fields that the caller may set */
    struct live_samples samples;
    struct record_live record; /* lost and throttled may be read */

    /* Number of samples and seconds of the last refresh; 0: unknown. */
    uint64_t rate_samples;
    double rate_seconds;

    /* The CPU time of samples.shown per second, with the weights of its samples: 1.5 is one CPU
     * and a half. 0: unknown, because the event does not sample CPU time at a rate. */
    double cpus;

    /* Private. */
    struct engine_live_span last;
    double shown_samples, shown_seconds; /* in samples.shown */
    bool restarts;
};

/* Opens the counters. Returns false and sets err if the kernel refuses. The struct must
 * not be moved from now on. Close it in either case. */
bool engine_live_open(struct engine_live *l, struct error *err);
void engine_live_close(struct engine_live *l);

/* Samples until turn() returns false. Reports how to get the names of modules without
 * symbols. Returns false and sets err if reading fails or if out of memory. */
bool engine_live_run(struct engine_live *l, const struct engine_report *report,
                     struct error *err);

/* The seconds between the last refresh and the newest sample, by the clock of the samples:
 * on a busy machine buffers are read late, and the clock of this process is ahead. */
double engine_live_elapsed(const struct engine_live *l);

/* Refreshes samples.shown and the rate. `delay` is the usual time between two refreshes,
 * in seconds: after a shorter time the rate is that of the last two. Called in turn(). */
bool engine_live_refresh(struct engine_live *l, double delay, struct error *err);

#endif
