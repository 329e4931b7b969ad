/* SPDX-License-Identifier: Apache-2.0 */
/* Whom stoke record and stoke top sample, and how: the options that they have alike. */
#ifndef STOKE_CLI_OPTIONS_SAMPLING_H
#define STOKE_CLI_OPTIONS_SAMPLING_H

#include "cli/options/option.h"
#include "os/machine.h"
#include "record/perf_sampler.h"
#include "record/targets.h"

#define SAMPLING_NUMBERS_MAX 1024
#define SAMPLING_DUMP_MOST 65024 /* bytes of a stack that the kernel dumps at most */

/* Processes or threads. */
struct sampling_numbers {
    uint32_t items[SAMPLING_NUMBERS_MAX];
    size_t count;
};

struct sampling_cpus {
    uint32_t items[OS_CPUS_MAX];
    size_t count;
};

struct sampling_stacks {
    enum record_stacks how;
    uint32_t dump_size; /* 0: not said */
};

/* Whom: what sampling_whom_options sets. */
struct sampling_whom {
    struct sampling_numbers pids, tids;
    struct sampling_cpus cpus;
    const char *user, *cgroup;
    bool everyone, alone;
};

/* How: what sampling_how_options sets. */
struct sampling_how {
    int64_t rate, period; /* 0: not said */
    struct record_events events;
    struct sampling_stacks stacks;
    uint64_t ring_size;
    bool all_user, all_kernel;
};

extern const struct option sampling_whom_options[];
extern const struct option sampling_how_options[];

/* By enum record_stacks; ends in NULL. */
extern const char *const sampling_stack_names[];

/* Whether some are named of all that run. */
bool sampling_names_some(const struct sampling_whom *w);

/* Sets the targets: those who are named, and all where they are asked for, or where
 * neither they are nor a command. Of the two the first are in `threads`, which the caller
 * frees in any case; as it closes targets->cgroup. */
bool sampling_find(const struct sampling_whom *w, bool command,
                   struct record_targets *targets, struct record_threads *threads,
                   struct error *err);

/* What cannot be asked for together. */
bool sampling_check(const struct sampling_how *how, struct error *err);

/* What of the events was not as asked. */
struct sampling_events_found {
    bool clock;    /* there is no counter of cycles, which nobody had asked for by name */
    size_t hidden; /* so many are sampled in user code alone */
};

/* Sets the sampler's events: as asked, or what this machine has. */
bool sampling_events(const struct sampling_how *how,
                     struct perf_sampler_settings *sampler,
                     struct sampling_events_found *found, struct error *err);

/* Prints which events there are; an exit status. */
int sampling_list_events(void);

#endif
