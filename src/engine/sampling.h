/* SPDX-License-Identifier: Apache-2.0 */
/* Targets and sampling settings: converts the user's options to the settings of the
 * sampler. */
#ifndef STOKE_ENGINE_SAMPLING_H
#define STOKE_ENGINE_SAMPLING_H

#include "os/machine.h"
#include "record/perf_sampler.h"
#include "record/targets.h"

#define SAMPLING_NUMBERS_MAX 1024
#define SAMPLING_DUMP_MOST 65024 /* bytes of a stack that the kernel dumps at most */
#define SAMPLING_RATE_DEFAULT 99 /* samples a second */
#define SAMPLING_RATE_AUTO (-1)  /* one that costs little: sampling_choose_rate */

/* Process or thread ids. */
struct sampling_numbers {
    uint32_t items[SAMPLING_NUMBERS_MAX];
    size_t count;
};

struct sampling_cpus {
    uint32_t items[OS_CPUS_MAX];
    size_t count;
};

struct sampling_stacks {
    enum record_stacks kind;
    uint32_t dump_size; /* 0: depends on the rate */
};

struct sampling_targets {
    struct sampling_numbers pids, tids;
    struct sampling_cpus cpus;
    const char *user, *cgroup;
    char found_cgroup[4096]; /* of the service or container that is requested */
    bool everyone;           /* the whole machine */
    bool alone; /* not the processes that the targets started, nor what they start */
};

struct sampling_settings {
    int64_t rate;   /* samples a second, or SAMPLING_RATE_AUTO; 0: not set */
    int64_t period; /* events per sample; 0: not set */
    struct record_events events;
    struct sampling_stacks stacks;
    uint64_t ring_size;
    bool all_user, all_kernel;
    bool regular; /* no jitter (record/jitter.h) */
};

/* True if the targets are processes, threads or a user. */
bool sampling_names_some(const struct sampling_targets *w);

/* Sets the sampler's targets: the requested targets; the whole machine if it is
 * requested, or if there are neither targets nor a command. Requested targets are in
 * `threads`, which the caller frees in any case; the caller closes targets->cgroup. */
bool sampling_find(const struct sampling_targets *w, bool command,
                   struct record_targets *targets, struct record_threads *threads,
                   struct error *err);

/* False if the settings contradict each other. */
bool sampling_check(const struct sampling_settings *s, struct error *err);

/* Replaces SAMPLING_RATE_AUTO by a rate that costs little on this machine. If there are neither
 * rate, period nor events, and `usual` is SAMPLING_RATE_AUTO, the same is done. True if the rate
 * was chosen so. Call it before the functions below. */
bool sampling_choose_rate(struct sampling_settings *s, int64_t usual);

/* The settings of a sampler, still without targets and events. */
struct perf_sampler_settings sampling_sampler(const struct sampling_settings *s);

/* Differences between the events and the requested events. */
struct sampling_events_found {
    bool clock;    /* the default event is cpu-clock: there is no counter of cycles */
    size_t hidden; /* events that are sampled in user code only */
    uint32_t clock_rate; /* to which faster clocks were limited (clock_rate.h); 0: none */
};

/* Sets the sampler's events: those that are requested, else the machine's default. */
bool sampling_events(const struct sampling_settings *s,
                     struct perf_sampler_settings *sampler,
                     struct sampling_events_found *found, struct error *err);

#endif
