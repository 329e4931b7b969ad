/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples `stoke script` prints, and whether what was asked for was there at all.
 */
#ifndef STOKE_CLI_SCRIPT_CHOICE_H
#define STOKE_CLI_SCRIPT_CHOICE_H

#include "base/strings.h"
#include "transform/transform.h"

#define SCRIPT_RANGES_MAX 64
#define SCRIPT_EVENTS_MAX 64

/* A sample belongs to a range from its start on and up to, not including, its end. */
struct script_times {
    struct {
        struct time_point start, end;
    } ranges[SCRIPT_RANGES_MAX];
    size_t count; /* 0: all times */
};

struct script_events {
    struct str items[SCRIPT_EVENTS_MAX];
    size_t count; /* 0: all */
};

struct script_wishes {
    const char *comms; /* names with commas between them, or NULL */
    struct script_events events;
    struct number_set pids, tids, cpus;
    struct script_times times;
};

/* Whose a sample is, or a record that is none. */
struct script_origin {
    struct str comm, event;
    int64_t pid, tid; /* or ID_NONE */
    uint32_t cpu;     /* or CPU_NONE */
    uint64_t time;    /* or TIME_NONE */
    bool is_record;   /* of no event */
};

/* The input's samples are from `first` to `last`; not known: the end. */
struct script_span {
    uint64_t first, last;
    bool known;
};

struct script_choice {
    const struct script_wishes *wishes;
    struct arena arena;
    struct strings events; /* of the samples, where some are asked for */
    struct str last_event;
    uint64_t found; /* bits: which of the events that are asked for */
    bool saw_samples, saw_pid, saw_tid, saw_cpu, saw_time;
    bool span_missing; /* a percentage was to be taken of what is not known */
    bool kept;         /* something is printed */
};

/* For struct option: "START,STOP", several of them with spaces between, and perf's
 * shares: "10%-20%,30%-40%", "10%/2" (the second tenth). */
bool script_times_parse(const char *text, void *times, struct error *err);

/* For struct option: names with commas between them. */
bool script_events_parse(const char *text, void *events, struct error *err);

/* Deinit it in either case. */
bool script_choice_init(struct script_choice *c, const struct script_wishes *wishes);
void script_choice_deinit(struct script_choice *c);

/* Whether it is to be printed. */
bool script_wants(struct script_choice *c, const struct script_origin *of,
                  const struct script_span *span);

/* At the end: false, with err set, where nothing was left, or what was asked for is not
 * in the input. */
bool script_choice_check(const struct script_choice *c, struct error *err);

#endif
