/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of a recording: event sources, stages and counters in front of one output.
 * It is the same for a file (session.h) and for live use (live.h).
 *
 *   perf_sampler, sources that collect --> [descent] --> [sampled] --> [build_ids] --> tasks
 *       --> [unwinder] --> [stages of sources] --> event_ids --> counts --> output
 *
 * Call open (counters exist, disabled), start (stages exist, the output gets the first
 * records), then record_chain_turn repeatedly. A turn waits until records are
 * available, or not at all: then the event loop of the caller polls os_wait_fd of
 * `wait`. */
#ifndef STOKE_RECORD_CHAIN_H
#define STOKE_RECORD_CHAIN_H

#include "os/wait.h"
#include "record/build_ids.h"
#include "record/descent.h"
#include "record/event_ids.h"
#include "record/event_source.h"
#include "record/jitter.h"
#include "record/losses.h"
#include "record/sampled.h"
#include "record/tasks.h"
#include "record/unwinder.h"

struct record_chain_settings {
    struct perf_sampler_settings sampler;
    struct event_source_request sources;
    const uint32_t *pids; /* processes whose threads and mappings are read at the start */
    size_t pid_count;
    bool only_sampled; /* forks, names and mappings of sampled processes only */
    bool keep_dumps;   /* stack dumps are not converted to call chains */
    uint64_t interval; /* ns between two calls of record_chain_collect */
    const struct resolve_settings *resolve;
    struct record_jit_maps *jit_maps; /* learns which processes are sampled; or NULL */
    struct os_process_probe *probe;   /* so that no stage waits for a process; or NULL */
};

/* What passed to the output. */
struct record_counts {
    uint64_t samples, lost, throttled;
    uint64_t idle;        /* samples of CPUs without work */
    uint64_t deep;        /* stacks with as many frames as the kernel unwinds at most */
    uint64_t first, last; /* times of samples */
};

struct record_chain {
    const struct record_chain_settings *settings;
    struct perf_sampler_settings sampler_settings; /* with the events of the sources */
    struct os_wait *wait;
    struct os_task_filter
        filter; /* if counters of all threads take samples of the targets */
    struct perf_sampler sampler;
    struct record_jitter jitter;
    void *sources[EVENT_SOURCE_COUNT]; /* states; NULL: not active */
    struct error unavailable[EVENT_SOURCE_COUNT];
    uint64_t interval; /* as the sources need it */
    struct record_descent descent;
    struct record_sampled sampled;
    struct record_build_ids build_ids;
    struct record_tasks tasks;
    struct record_unwinder unwinder;
    struct record_event_ids event_ids;
    bool unwinds;
    struct perf_file_event events[RECORD_EVENTS_MAX];
    uint64_t *ids;        /* of the events' counters */
    uint64_t frames_most; /* the kernel unwinds at most these; 0: it does not unwind */
    struct record_counts counts;
    struct ring_copier_counts queues; /* also after the sampler is closed */
    struct record_sink first, output; /* ends of the chain */
    size_t turns;                     /* of record_chain_collect */
    bool kernel_hidden;               /* the system does not show kernel addresses */
    bool failed;                      /* a source failed, for this reason: */
    struct error why;
};

/* Opens the counters. `targets` replaces the targets of the settings if it is not
 * NULL. All arguments must outlive the chain, which must not be moved. Close it in any
 * case. */
bool record_chain_open(struct record_chain *c,
                       const struct record_chain_settings *settings,
                       const struct record_targets *targets, struct os_wait *wait,
                       struct error *err);
void record_chain_close(struct record_chain *c); /* also if it is all zeros */

/* The events as the output describes them: attributes, names, ids of counters. Valid until the
 * chain is closed. */
static inline size_t record_chain_event_count(const struct record_chain *c)
{
    return c->sampler_settings.events.count;
}

/* Builds the stages in front of `output`, which gets the first records: the kernel's
 * mappings, the processes of the settings. May be called again, for a new output. */
bool record_chain_start(struct record_chain *c, struct record_sink output,
                        struct error *err);

/* What happened: bits of enum os_wait_reason; all records up to `drained` were given to
 * the output; it is `now`. Times in ns of CLOCK_MONOTONIC. */
struct record_turn {
    unsigned reasons;
    uint64_t drained, now;
};

/* Waits for that time, unless something happens before; 0: does not wait. Then reads what
 * happened and drains the counters. */
struct record_turn record_chain_turn(struct record_chain *c, int milliseconds);

/* Drains the sources that collect by themselves. False if one fails; it is not asked
 * again. */
bool record_chain_drain_sources(struct record_chain *c);

/* Once per interval: drains the sources, checks for JIT maps and for CPUs that came or
 * went. False if a source fails: c->why. */
bool record_chain_collect(struct record_chain *c);

/* After the last turn: gives what stages and sources still hold at the time `now`, and a
 * LOST record for what the kernel lost after the last record. */
void record_chain_finish(struct record_chain *c, uint64_t now);

/* Records lost so far, also those that no record reports yet. */
uint64_t record_chain_lost(const struct record_chain *c);

/* The causes of the losses that records have reported to the output. */
struct record_losses record_chain_losses(const struct record_chain *c);

/* Samples in JIT code that have the functions of an interpreter. */
uint64_t record_chain_interpreted_code(const struct record_chain *c);

/* Writes a line about each process with an interpreter, or why none was searched. */
void record_chain_put_interpreters(const struct record_chain *c, struct output *out);

/* What a source reports; all zeros if it was not requested. */
void record_chain_report(const struct record_chain *c, enum event_source_id id,
                         struct event_source_report *r);

#endif
