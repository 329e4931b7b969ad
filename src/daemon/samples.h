/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a live recording as windows: every sample with its second and labels.
 *
 * Samples up to the end of the current window are separate from later ones, because they
 * arrive in order of time only after the window has ended. */
#ifndef STOKE_DAEMON_SAMPLES_H
#define STOKE_DAEMON_SAMPLES_H

#include "daemon/labels.h"
#include "import/perf_data/recording.h"

struct daemon_samples {
    uint64_t until; /* ns of the samples' clock: the current window excludes this time */
    uint64_t taken; /* samples so far, except those of the idle task */

    /* Called when the reader ends: take what is left. */
    void (*ended)(void *context);
    void *context;

    /* Private. */
    struct daemon_labels labels;
    struct perf_profile *reader; /* NULL: no sample came since the reader started */
    struct builder raw[2];       /* stacks of the reader's locations: current, later */
    uint64_t latest[2];          /* time of their latest sample; 0: none */
    bool ready[2];
    bool failed; /* out of memory */
};

void daemon_samples_init(struct daemon_samples *s);
void daemon_samples_deinit(struct daemon_samples *s);

/* The consumer that fills `s`. */
struct perf_consumer daemon_samples_consumer(struct daemon_samples *s);

/* Asks the resolver for the names of new locations, and, if it has learned more, for those of the
 * others without a name. */
void daemon_samples_name(struct daemon_samples *s, bool learned);

/* Makes a profile of the current window and begins the next, which ends at `until`.
 * `offset` is added to the times. *p is NULL if there is no sample. Returns false and
 * sets err if out of memory: the samples are then lost. */
bool daemon_samples_cut(struct daemon_samples *s, uint64_t until, uint64_t offset,
                        struct profile **p, struct error *err);

/* Whether there are samples of the next window. */
bool daemon_samples_has_later(const struct daemon_samples *s);

/* The time of the latest sample of the current window; 0: there is none. Directly after
 * daemon_samples_cut, it can be after `until`: more than one window was read meanwhile. */
uint64_t daemon_samples_latest(const struct daemon_samples *s);

/* Makes a profile of the current window's samples from `from` on, before `to`, with their
 * own times. The caller destroys it. NULL if there is none, or when out of memory. */
struct profile *daemon_samples_recent(struct daemon_samples *s, uint64_t from,
                                      uint64_t to);

/* Makes a profile of the current window so far. `offset` is added to the times. The caller
 * destroys it. NULL if there is none, or when out of memory. */
struct profile *daemon_samples_so_far(struct daemon_samples *s, uint64_t offset);

/* True if the reader uses so much memory that a new one should start. */
bool daemon_samples_full(const struct daemon_samples *s);

#endif
