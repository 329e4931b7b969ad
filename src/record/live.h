/* SPDX-License-Identifier: Apache-2.0 */
/* A recording that is looked at while it is made, and kept nowhere: the same stages as of
 * a file, and what comes out of them is read through a source, as the pipe form of a
 * perf.data.
 *
 *   perf_sampler --> tasks --> [unwinder] --> the bytes of the source
 *
 * Reading from the source waits for the kernel to tell something, so it is there that
 * the caller gets its turn: `idle` is called after each wait, and when its time has come.
 */
#ifndef STOKE_RECORD_LIVE_H
#define STOKE_RECORD_LIVE_H

#include "base/output.h"
#include "base/source.h"
#include "record/perf_sampler.h"
#include "record/tasks.h"
#include "record/unwinder.h"

struct record_live_settings {
    struct perf_sampler_settings sampler;
    const uint32_t *pids; /* to be told of with all their threads */
    size_t pid_count;
    struct resolve_settings resolve;
    int watched; /* a handle whose bytes end a wait, too; or -1 */

    /* What happened (enum os_wait_reason). Sets how many ms may pass until the next call;
     * false ends the source. */
    bool (*idle)(void *context, unsigned reasons, int *next);
    void *idle_context;
};

struct record_live {
    const struct record_live_settings *settings;
    struct os_wait wait;
    struct perf_sampler sampler;
    struct record_tasks tasks;
    struct record_unwinder unwinder;
    bool unwinds;
    struct output bytes; /* not read yet from `given` on */
    size_t given;
    int next; /* ms */
    bool ended;
    bool kernel_hidden;
    uint64_t samples, lost, throttled;
    bool round_told;     /* of this drain */
    uint64_t began;      /* ns: no sample is older */
    uint64_t drained[3]; /* when the rings were emptied: the last time, and before it */
};

/* Opens the counters and begins. The settings outlive it, and it is not to be moved.
 * Close it in any case. */
bool record_live_open(struct record_live *l, const struct record_live_settings *settings,
                      struct error *err);
void record_live_close(struct record_live *l);

/* Begins a stream: what tasks there are is told anew. Behind the end of the one before.
 */
bool record_live_begin(struct record_live *l, struct error *err);

/* Up to when the reader of the stream has all samples, as `idle` is called: it puts in
 * order, so that it has what came before the round before the last it was told of. 0: it
 * has none yet. */
static inline uint64_t record_live_told(const struct record_live *l)
{
    return l->drained[2];
}

/* Reads the stream; the source is the caller's. */
struct source record_live_source(struct record_live *l);

#endif
