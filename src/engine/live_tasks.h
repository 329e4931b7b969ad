/* SPDX-License-Identifier: Apache-2.0 */
/* Live samples by process, thread, service or container: who runs, and who waits.
 *
 * The processes and threads are read from /proc at each refresh, with how long each has run and
 * was ready to run (the kernel's schedstat). Samples are of threads that may have ended since:
 * those that were read once keep their names and groups as long as they have samples. */
#ifndef STOKE_ENGINE_LIVE_TASKS_H
#define STOKE_ENGINE_LIVE_TASKS_H

#include "base/idmap.h"
#include "engine/live_rows.h"

/* Whose rows are shown without a sample, too. Threads with samples always have rows. */
struct live_task_targets {
    bool everyone;
    const uint32_t *pids; /* all their threads */
    size_t pid_count;
    const uint32_t *tids; /* ascending */
    size_t tid_count;
};

struct live_process {
    uint32_t pid;
    bool kernel; /* a thread of the kernel */
    bool ended;  /* it was not there when /proc was read */
    struct str name, service, container;
};

struct live_task {
    uint32_t tid, process; /* index into live_tasks.processes */
    bool is_target;        /* it has a row without samples, too */
    bool ended;            /* as that of the process */
    bool has_times;        /* ready and waits are known */
    struct str name;
    uint64_t ran, was_ready; /* ns since its start */
    double ready, waits;     /* part of the last interval: 0.5 is half of it */
    double weight;           /* of its samples: for the rows */
};

/* All zero is a valid start. */
struct live_tasks {
    struct arena arena;
    struct live_process *processes; /* [0] is "none" */
    struct live_task *items;        /* [0] is "none" */
    size_t process_count, process_cap, count, cap;
    struct idmap by_tid, by_pid; /* indexes */
    uint64_t time;               /* ns: when they were read; 0: never */
};

/* Reads the targets and the processes with samples (p may be NULL). False, with err set, if out
 * of memory; the tasks are then those read before. */
bool live_tasks_read(struct live_tasks *t, const struct live_task_targets *targets,
                     const struct profile *p, uint64_t time, struct error *err);
void live_tasks_deinit(struct live_tasks *t);

/* The task of that thread ID, or NULL. */
struct live_task *live_tasks_find(const struct live_tasks *t, uint32_t tid);

/* Adds a thread that has samples and was not read: it has ended, with its process `pid` if that
 * was not read either. Its name is also that of the process. NULL if out of memory. */
struct live_task *live_tasks_add_ended(struct live_tasks *t, uint32_t pid, uint32_t tid,
                                       struct str name);

/* Makes the rows of the profile (NULL: no samples): live_row.self and total are weights, `module`
 * says how many processes or threads the row has. request->by is not LIVE_BY_FUNCTION. Otherwise
 * as live_rows_init. */
bool live_tasks_rows(struct live_tasks *t, struct live_rows *r, const struct profile *p,
                     const struct live_request *request, struct error *err);

#endif
