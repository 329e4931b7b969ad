/* SPDX-License-Identifier: Apache-2.0 */
/* A recording that is read while it is made, and not stored: the chain (chain.h) with a
 * source as its output, which has the pipe form of a perf.data.
 *
 * Reading from the source waits for the kernel's records. The caller gets its turn there:
 * `idle` is called after each wait, and when the time that it set has come. A program
 * with an event loop of its own polls record_live_fd for input, at the latest until
 * record_live_deadline, and calls record_live_step before it reads. */
#ifndef STOKE_RECORD_LIVE_H
#define STOKE_RECORD_LIVE_H

#include "base/output.h"
#include "base/source.h"
#include "record/chain.h"

struct record_live_settings {
    struct perf_sampler_settings sampler;
    struct event_source_request sources;
    const uint32_t *pids; /* processes that are recorded with all their threads */
    size_t pid_count;
    struct resolve_settings resolve;
    int watched;       /* a file descriptor whose input ends a wait, too; or -1 */
    int drain_ms;      /* time between two drains of the rings; 0: 100 ms */
    bool only_sampled; /* forks, names and mappings of sampled processes only */
    bool hosted;       /* signals, priority and rights of the process stay as they are */

    /* What happened (enum os_wait_reason). Sets how many ms may pass until the next call;
     * false ends the source. */
    bool (*idle)(void *context, unsigned reasons, int *next);
    void *idle_context;
};

struct record_live {
    const struct record_live_settings *settings;
    struct record_chain_settings chain_settings;
    struct os_wait wait;
    struct record_chain chain;
    struct output bytes; /* not read yet from `given` on */
    size_t given;
    uint64_t deadline; /* ns */
    bool ended;
    uint64_t throttled;
    bool round_ended;    /* in this turn */
    uint64_t began;      /* ns: no sample is older */
    uint64_t drained[3]; /* when the rings were drained: the last three times */
};

/* Opens the counters and enables them. The settings outlive it; it must not be moved.
 * Close it in any case. */
bool record_live_open(struct record_live *l, const struct record_live_settings *settings,
                      struct error *err);
void record_live_close(struct record_live *l);

/* Starts another stream after the end of the one before: it reports the processes again. */
bool record_live_begin(struct record_live *l, struct error *err);

int record_live_fd(const struct record_live *l);
uint64_t record_live_deadline(const struct record_live *l); /* ns of CLOCK_MONOTONIC */

/* Takes the records that there are into the source, without waiting, and calls `idle`.
 * False once the source has ended. */
bool record_live_step(struct record_live *l);

/* When `idle` is called, the reader of the stream has all samples before this time: it
 * sorts records, and has output those before the previous round. 0: it has none yet. */
static inline uint64_t record_live_complete_until(const struct record_live *l)
{
    return l->drained[2];
}

/* How many samples were lost since it was opened. It reads all counters: not for each step. */
uint64_t record_live_lost(const struct record_live *l);

/* Reads the stream; the source is the caller's. */
struct source record_live_source(struct record_live *l);

#endif
