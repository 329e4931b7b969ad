/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a live recording: they are added up by stack while they are read, and
 * become a profile on request.
 *
 * Memory does not grow with time. At each refresh, old samples lose weight or are dropped
 * immediately, and samples with almost no weight are dropped with their stacks. The
 * reader's memory grows with the number of processes: when live_samples_full returns true,
 * end the reading, detach, and start a new one. */
#ifndef STOKE_ENGINE_LIVE_SAMPLES_H
#define STOKE_ENGINE_LIVE_SAMPLES_H

#include "import/perf_data/recording.h"

/* The part of its weight that a sample keeps at a refresh, as in perf top. */
#define LIVE_SAMPLES_DECAY 0.875

/* All zero is a valid start. The caller may set zero and with_idle at any time. */
struct live_samples {
    bool zero;      /* every refresh drops all samples */
    bool with_idle; /* samples of the idle task count, too */

    /* Results, read-only. */
    struct profile *shown;            /* of the last refresh; NULL: no sample so far */
    uint64_t shown_taken, shown_idle; /* samples between the last refresh and before it */
    uint64_t taken, idle; /* samples since the last refresh; of the idle task */
    uint64_t last;        /* time of the newest sample, ns; 0: none */

    /* Private. */
    struct perf_profile *reader; /* NULL: no sample came since the last detach */
    struct builder raw;          /* stacks of the reader's locations */
    bool ready;                  /* raw is initialized */
    bool failed;                 /* out of memory */
    double largest;              /* weight of a single sample */
};

/* The consumer that fills `s`. */
struct perf_consumer live_samples_consumer(struct live_samples *s);

/* Makes s->shown of the current samples, then reduces their weights. Call it while the
 * reader reads, for example from its source. Returns false and sets err
 * if out of memory. */
bool live_samples_refresh(struct live_samples *s, struct error *err);

/* True if the reader uses so much memory that a new one should start. */
bool live_samples_full(const struct live_samples *s);

/* Drops all samples, s->shown included. */
void live_samples_clear(struct live_samples *s);

/* Drops all samples except s->shown: the reader has ended. */
void live_samples_detach(struct live_samples *s);

void live_samples_deinit(struct live_samples *s);

#endif
