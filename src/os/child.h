/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes: the program that the user wants to profile, and functions of stoke
 * that run in a process of their own. A prepared program waits until it is started, so
 * that counters can be opened on it first. */
#ifndef STOKE_OS_CHILD_H
#define STOKE_OS_CHILD_H

#include "base/error.h"

/* The user and group that a program runs as. */
struct os_user_ids {
    bool other; /* a user other than the effective one; if false, ignore the ids */
    uint32_t user, group;
};

/* The user who invoked stoke: if root runs it through sudo, the user who called sudo. */
struct os_user_ids os_invoking_user(void);

struct os_child {
    int64_t pid;    /* 0: no process */
    int go, failed; /* pipes: to start it; for its errno if exec fails */
    bool ended;
    int status; /* exit status as shells report it: 128 + signal if it was killed */

    /* Once it has ended: CPU time, ns, of it and of its descendants that were waited for. */
    uint64_t user_time, kernel_time;
};

/* Creates the process, which waits. argv[0] is searched in PATH; argv ends with NULL. */
bool os_child_prepare(struct os_child *c, char *const *argv,
                      const struct os_user_ids *person, struct error *err);

/* Starts the program. Returns false with err set if it cannot be executed. */
bool os_child_start(struct os_child *c, const char *name, struct error *err);

/* Creates a process that calls `work` and exits with the status that `work` returns.
 * Unflushed output is discarded in it, and the signal handling is restored (wait.h). */
bool os_child_run(struct os_child *c, int (*work)(void *context), void *context,
                  struct error *err);

/* For a process that os_child_run has created: signals to the group of its parent, such as
 * that of Ctrl-C, do not reach it. */
void os_child_leave_group(void);

/* Starts the program argv[0], a path, in a session of its own and in the folder "/", so that
 * it outlives this process. It has no input; its output is appended to the file, which only
 * its owner can read. */
bool os_child_detach(struct os_child *c, char *const *argv, const char *output,
                     struct error *err);

/* Returns true if the process has exited by now. */
bool os_child_ended(struct os_child *c);

/* Sends SIGTERM, and SIGCONT in case the process is stopped. Returns false if no
 * process runs. A process that was not started exits immediately. */
bool os_child_terminate(struct os_child *c);

/* Waits until the process has ended. */
void os_child_wait(struct os_child *c);

/* Sends SIGKILL. */
void os_child_kill(const struct os_child *c);

/* Returns true if os_child_start would find a program of that name. */
bool os_program_exists(const char *name);

#endif
