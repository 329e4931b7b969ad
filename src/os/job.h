/* SPDX-License-Identifier: Apache-2.0 */
/* A child process in the background of a loop that waits (wait.h): it has no input, the
 * end of its messages is retained, and it ends with this process. */
#ifndef STOKE_OS_JOB_H
#define STOKE_OS_JOB_H

#include "os/child.h"
#include "os/mapping.h"
#include "os/wait.h"

#define OS_JOB_MESSAGES 4096 /* bytes that are retained */

struct os_job {
    struct os_child child;
    struct os_wait *wait;
    int messages; /* a pipe; -1: none */
    int result;   /* standard output of `work`, a file without a name; -1: none */
    char text[OS_JOB_MESSAGES];
    size_t used;
};

#define OS_JOB_NONE ((struct os_job){.messages = -1, .result = -1})

/* Runs the program argv[0], a path; argv ends with NULL. Its standard output and standard
 * error are messages. Call os_job_close in any case. */
bool os_job_execute(struct os_job *j, char *const *argv, struct os_wait *w,
                    struct error *err);

/* Runs a function in a process of its own, which exits with the status that it returns.
 * Its standard output is the result, its standard error are messages. */
bool os_job_run(struct os_job *j, int (*work)(void *context), void *context,
                struct os_wait *w, struct error *err);

/* Reads what arrived. Returns true if the process has ended; child.status is set. Call it
 * after each wait. */
bool os_job_ended(struct os_job *j);

/* The last messages. */
struct str os_job_messages(const struct os_job *j);

/* Maps the result of a process that has ended. */
bool os_job_result(const struct os_job *j, struct os_mapping *m, struct error *err);

/* Requests the end of the process. */
void os_job_stop(struct os_job *j);

/* Ends the process if it still runs. OS_JOB_NONE is allowed. */
void os_job_close(struct os_job *j);

#endif
