/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds of the machine and of watched processes: when one is crossed, the daemon samples
 * more often for some seconds.
 *
 * A threshold is crossed when its number is above it and was not since the last recording for
 * it. Between two recordings is the cool-down, and longer if the budget is to pay for the first
 * one. The clock and the readings are arguments, so tests supply their own. */
#ifndef STOKE_DAEMON_TRIGGERS_H
#define STOKE_DAEMON_TRIGGERS_H

#include "daemon/budget.h"
#include "metrics/snapshot.h"

#define DAEMON_THRESHOLDS_MAX 16
#define DAEMON_TRIGGER_RATE 999     /* samples per second and CPU */
#define DAEMON_TRIGGER_SECONDS 10   /* of a recording */
#define DAEMON_TRIGGER_COOLDOWN 600 /* seconds */
#define DAEMON_COMM_SIZE 16 /* of a name of a process, as the kernel truncates it */

enum daemon_threshold_kind {
    THRESHOLD_CPU,          /* percent of all CPUs; stolen time counts as used */
    THRESHOLD_MEMORY,       /* percent that is not available */
    THRESHOLD_PRESSURE_CPU, /* percent of time in which some threads waited */
    THRESHOLD_PRESSURE_MEMORY,
    THRESHOLD_PRESSURE_IO,
    THRESHOLD_PROCESS_CPU,    /* percent of one CPU, of all processes of that name */
    THRESHOLD_PROCESS_MEMORY, /* their resident bytes */
};

struct daemon_threshold {
    enum daemon_threshold_kind kind;
    double most;                    /* crossed above it */
    char process[DAEMON_COMM_SIZE]; /* of THRESHOLD_PROCESS_... */
};

struct daemon_trigger_settings {
    struct daemon_threshold items[DAEMON_THRESHOLDS_MAX];
    size_t count;               /* 0: there are no triggers */
    uint32_t rate;              /* samples per second and CPU */
    uint32_t seconds, cooldown; /* of a recording; after it */
};

/* The metric that marks the seconds of a recording, "trigger.cpu", and its unit. */
const char *daemon_threshold_name(const struct daemon_threshold *t, char *room,
                                  size_t size);
const char *daemon_threshold_unit(const struct daemon_threshold *t);

/* --- Numbers ---------------------------------------------------------------------------- */

#define DAEMON_WATCHED_MAX 256 /* processes */

struct daemon_watched {
    uint32_t pid;
    char name[DAEMON_COMM_SIZE];
    uint64_t start, ticks; /* as in struct process_counters */
    uint64_t used;         /* ticks since the reading before */
    uint64_t pages;
};

struct daemon_watch {
    const struct daemon_trigger_settings *settings;
    const struct metrics_source *source; /* of the processes */
    uint64_t page_size;
    /* Private. */
    struct daemon_watched processes[DAEMON_WATCHED_MAX], next[DAEMON_WATCHED_MAX];
    size_t count, next_count;
    unsigned readings;
    uint64_t time; /* of the reading before; 0: none */
    struct cpu_time cpu;
    uint64_t pressure[PRESSURE_RESOURCES];
    bool has_pressure;
};

/* Sets values[i] to the number of threshold i, from a new reading of the machine; NAN if there is
 * none yet. Processes are found within ten readings. */
void daemon_watch_read(struct daemon_watch *w, const struct metrics *now, double *values);

/* --- Recordings ------------------------------------------------------------------------- */

enum daemon_trigger_state { TRIGGER_NONE, TRIGGER_REQUESTED, TRIGGER_RUNS };

struct daemon_triggers {
    const struct daemon_trigger_settings *settings;
    enum daemon_trigger_state state;
    size_t which;      /* unless TRIGGER_NONE: the threshold, */
    double value;      /* and its number when it was crossed */
    bool is_refused;   /* in this check: there was no room */
    uint64_t recorded; /* since the daemon started */
    /* Private. */
    bool is_spent[DAEMON_THRESHOLDS_MAX];    /* above since it was recorded */
    bool was_refused[DAEMON_THRESHOLDS_MAX]; /* above, and reported */
    uint64_t until, next;                    /* ns: end; no recording before */
    struct daemon_cost began;
};

/* Takes a reading at the time `now` (ns of the monotonic clock). Without room, what is crossed
 * waits. Returns whether a recording is requested now. */
bool daemon_triggers_check(struct daemon_triggers *t, const double *values, uint64_t now,
                           bool has_room);

/* Sampling with the rate of the settings begins. */
void daemon_triggers_begin(struct daemon_triggers *t, const struct daemon_cost *now);

/* Whether the recording runs and its time is over. */
bool daemon_triggers_are_over(const struct daemon_triggers *t, uint64_t now);

/* It has ended. What it cost is in the limit of CPU time before the next one begins. */
void daemon_triggers_end(struct daemon_triggers *t, const struct daemon_cost *now,
                         const struct daemon_limits *limits);

#endif
