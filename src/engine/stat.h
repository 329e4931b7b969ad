/* SPDX-License-Identifier: Apache-2.0 */
/* Counts events while a command runs, or for a time, and sums the counts: stoke stat. */
#ifndef STOKE_ENGINE_STAT_H
#define STOKE_ENGINE_STAT_H

#include "record/counters.h"

/* What a row of the result is. Those from STAT_BY_CPU to STAT_BY_NODE need counters of CPUs. */
enum stat_rows {
    STAT_TOTAL,
    STAT_BY_CPU,
    STAT_BY_CORE,
    STAT_BY_DIE,
    STAT_BY_SOCKET,
    STAT_BY_NODE,
    STAT_BY_THREAD,
};

/* An event in a row. */
struct stat_cell {
    double value; /* scaled, if the event did not always run; mean of the runs */
    double enabled, running; /* ns, of all counters of the cell; means of the runs */
    double deviation;        /* standard deviation of the mean; 0 for one run */
    bool counted;            /* it ran at all */
    double squares;          /* sum of squared differences from the mean */
};

struct stat_row {
    uint64_t id;
    char name[48];  /* "CPU0", "S0-D0-C1", "bash-412"; empty for the total */
    size_t targets; /* CPUs or threads that it sums */
};

struct stat_table {
    struct record_events *events; /* as they were counted */
    bool *missing;                /* events that this machine does not have */
    size_t hidden; /* events that were counted in user code only, for lack of rights */
    struct stat_row *rows;
    size_t row_count, row_cap;
    struct stat_cell *cells; /* of row r: cells[r * events->count], ... */
    uint64_t runs;
    uint64_t time;  /* ns since the start of the run; of an interval: its end */
    double elapsed; /* ns that were counted; mean of the runs */
    double elapsed_deviation, elapsed_squares;
    double user_time, kernel_time; /* ns, of the command; means of the runs */
    double *times; /* elapsed ns of each run; NULL unless there are several */
    int status;    /* exit status of the command's last run; 0 if it was stopped */
    bool stopped;  /* by a signal */
};

struct engine_stat_settings {
    struct record_events events;   /* none: only times are measured */
    struct record_targets targets; /* without the command's thread */
    char *const *command;          /* ends with NULL; or NULL */
    uint64_t runs;                 /* of the command; at least 1 */
    uint64_t interval;             /* ns between reports; 0: none */
    uint64_t interval_count;       /* the run ends after this number; 0: no limit */
    uint64_t duration, delay;      /* ns; 0: no limit, no delay */
    enum stat_rows rows;
    bool unscaled;
    bool sync;                  /* sync(2) before each run */
    const char *before, *after; /* shell commands around each run, not counted; or NULL */
    void *context;
    void (*report)(void *context, const struct stat_table *interval);
};

/* `result` is freed by engine_stat_free in any case. Signals must be blocked
 * (os_wait_block_signals). */
bool engine_stat(const struct engine_stat_settings *settings, struct stat_table *result,
                 struct error *err);
void engine_stat_free(struct stat_table *t);

#endif
