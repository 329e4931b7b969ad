/* SPDX-License-Identifier: Apache-2.0 */
/* Event sources: what a recording can contain besides the samples of its perf events.
 *
 * perf_sampler.h opens the kernel's counters, and reports processes, threads and mappings;
 * every recording has it. An event source adds to that: events of its own, a stage that
 * makes new samples from records that pass, samples that it collects by itself, or all of
 * these. off_cpu.c has a stage, bpf_sampler.c collects.
 *
 * To add an event source:
 *   1. src/record/NAME.c with one `const struct event_source event_source_NAME`
 *   2. its line in event_sources.def, with the option of stoke record that requests it
 *   3. its line in meson.build
 *   4. tests/record/test_NAME.c
 * The option, its help, the manual, the recording, its head and the summary follow.
 *
 * Order of the calls: check; prepare, then opened (counters exist now, disabled); stage
 * at the start of each stream; records flow and drain is called at intervals; finish at the end
 * of the recording; report at any time after prepare; close in any case. All but `size`
 * and `name` may be NULL. `state` is `size` bytes, zero at first, at a fixed address. */
#ifndef STOKE_RECORD_EVENT_SOURCE_H
#define STOKE_RECORD_EVENT_SOURCE_H

#include "record/perf_features.h"
#include "record/perf_sampler.h"

enum event_source_id {
#define EVENT_SOURCE(name, option, help) EVENT_SOURCE_##name,
#include "record/event_sources.def"
#undef EVENT_SOURCE
    EVENT_SOURCE_COUNT
};

/* Which sources a recording requests, by enum event_source_id. */
struct event_source_request {
    bool on[EVENT_SOURCE_COUNT];
    const char *interpreter; /* the only one whose frames are read; NULL: all */
    /* The interpreters' stacks at little cost: read by the kernel only, and of a process from
     * its second sample on. A child process reads their files. */
    bool interpreters_by_kernel;
    uint64_t least_wait; /* ns: of long_waits, which finds no shorter ones */
};

/* What a source may change before the counters are opened. */
struct event_source_setup {
    struct perf_sampler_settings *sampler; /* adds events and fields, or the program */
    const struct event_source_request *request;
    uint64_t interval; /* ns between two calls of drain; a source may reduce it */
    bool keeps_dumps;  /* the recording contains stack dumps, not call chains */
    struct os_process_probe *probe; /* of the recording; or NULL */
};

/* What a source reports about a recording. */
struct event_source_report {
    bool active;              /* false if it was not requested, or was not possible */
    struct error unavailable; /* why it was not possible; without a message otherwise */
    uint64_t samples;         /* that the source added to the recording */
    uint64_t items;           /* samples of its main event */
    uint64_t sum;             /* the sum of the periods of these */
    bool no_stacks;           /* the kernel gives no stacks to this user */
    uint64_t threshold;       /* ns: the least length of a wait now; 0: none */
    bool incomplete;          /* out of memory: some items are missing */
};

struct event_source {
    const char *name; /* of its option */
    bool beside;      /* adds to the samples of any other source, and has an option of its
                          own (stoke record --interpreters) */
    const char *event; /* its main event, as recordings name it; NULL: it has none */
    const char *items; /* what one of its samples is, in the plural: "waits" */
    bool timed;        /* the periods of its samples are ns */
    bool optional;     /* if it is not possible, the recording continues without it */
    size_t size;       /* of its state */

    /* A request of this source requests that one, which does its work and reads the
     * request in `prepare`; then only `name` and `check` are used. NULL: a source of its
     * own. */
    const struct event_source *part_of;

    /* False, with a hint, if the request contradicts itself. No state exists yet. */
    bool (*check)(const struct event_source_setup *setup, struct error *err);

    /* Adds what the source needs to the sampler's settings. */
    bool (*prepare)(void *state, struct event_source_setup *setup, struct error *err);

    /* The counters are open. Called again whenever CPUs came or went. */
    void (*opened)(void *state, struct perf_sampler *sampler);

    /* Describes event `index` of the sampler as the recording contains it, if it is one of
     * this source's. `e` describes it as it is sampled. */
    void (*describe)(const void *state, size_t index, struct perf_file_event *e);

    /* Puts a stage before *next, which becomes the stage's sink. */
    bool (*stage)(void *state, const struct record_layout *layout,
                  struct record_sink *next, struct error *err);

    /* A descriptor that is readable when `wake` should be called soon; -1: none. The counters
     * are open. */
    int (*descriptor)(const void *state);

    /* Each time that the recorder wakes up, before the counters are drained. */
    void (*wake)(void *state);

    /* Gives what the source has collected since the last call, and ends a round. The
     * sampler was drained before. False: the recording ends with this error. */
    bool (*drain)(void *state, const struct record_sink *to, struct error *err);

    /* Records that the source could not collect since the start; it has reported them by
     * records of type PERF_LOST. */
    uint64_t (*lost)(const void *state);

    /* Gives what the stage still holds at the time `now`, ns. */
    void (*finish)(void *state, uint64_t now);

    void (*report)(const void *state, struct event_source_report *r);
    void (*close)(void *state);
};

/* By enum event_source_id. */
extern const struct event_source *const event_sources[EVENT_SOURCE_COUNT];

/* False, with a hint, if what is requested contradicts itself. */
bool event_sources_check(const struct event_source_setup *setup, struct error *err);

#endif
