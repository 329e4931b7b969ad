/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the samples that `stoke script` prints, and checks that the requested items
 * exist. */
#ifndef STOKE_CLI_SCRIPT_CHOICE_H
#define STOKE_CLI_SCRIPT_CHOICE_H

#include "base/strings.h"
#include "transform/transform.h"

#define SCRIPT_EVENTS_MAX 64

struct script_events {
    struct str items[SCRIPT_EVENTS_MAX];
    size_t count; /* 0: all */
};

struct script_wishes {
    const char *comms;          /* names with commas between them, or NULL */
    const char *symbols, *dsos; /* of the innermost frame; as comms */
    struct script_events events;
    struct number_set pids, tids, cpus;
    struct time_spans times;
};

/* The properties of a sample, or of another record. */
struct script_origin {
    struct str comm, event;
    int64_t pid, tid; /* or ID_NONE */
    uint32_t cpu;     /* or CPU_NONE */
    uint64_t time;    /* or TIME_NONE */
    bool is_record;   /* a record that is not a sample */
};

/* The samples of the input are from `first` to `last`; if the end is unknown, `last` is
 * the maximum. */
struct script_span {
    uint64_t first, last;
    bool known;
};

struct script_choice {
    const struct script_wishes *wishes;
    struct arena arena;
    struct strings events; /* the events of the samples, if events are requested */
    struct str last_event;
    uint64_t found; /* bits: the requested events that occur */
    bool saw_samples, saw_pid, saw_tid, saw_cpu, saw_time;
    bool span_missing; /* a percentage of an unknown time span was requested */
    bool has_output;   /* something is printed */
};

/* For struct option: see time_spans_parse. */
bool script_times_parse(const char *text, void *times, struct error *err);

/* For struct option: names with commas between them. */
bool script_events_parse(const char *text, void *events, struct error *err);

/* Deinit it in either case. */
bool script_choice_init(struct script_choice *c, const struct script_wishes *wishes);
void script_choice_deinit(struct script_choice *c);

/* True if it is printed. */
bool script_wants(struct script_choice *c, const struct script_origin *of,
                  const struct script_span *span);

/* True if samples that end in the function are printed. */
bool script_wants_function(const struct script_wishes *w, struct str name,
                           struct str module);

/* Called at the end: false, with err set, if nothing was printed, or if a requested item
 * is not in the input. */
bool script_choice_check(const struct script_choice *c, struct error *err);

#endif
