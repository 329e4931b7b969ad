/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is started for the user, and watched: it waits until it is let go, so
 * that counters can be opened on it first. */
#ifndef STOKE_OS_CHILD_H
#define STOKE_OS_CHILD_H

#include "base/error.h"

/* Who a program is to run as. */
struct os_person {
    bool other; /* another one than who runs this; else the rest does not count */
    uint32_t user, group;
};

/* Who asked for this program to run: where root runs it through sudo, who called sudo. */
struct os_person os_invoking_person(void);

struct os_child {
    int64_t pid;    /* 0: there is none */
    int go, failed; /* pipes: to let it go; errno where it could not begin */
    bool ended;
    int status; /* once it has ended: as the shell tells it, 128 + signal where killed */
};

/* Makes the process, which waits. argv[0] is looked for in PATH; argv is ended by NULL.
 */
bool os_child_prepare(struct os_child *c, char *const *argv,
                      const struct os_person *person, struct error *err);

/* Lets it go. False, with why, where the program cannot be run. */
bool os_child_go(struct os_child *c, const char *name, struct error *err);

/* Makes a process that does `work` of this program's, and ends with the status that gives;
 * it has no output that was not flushed, and signals as they were (wait.h). */
bool os_child_work(struct os_child *c, int (*work)(void *context), void *context,
                   struct error *err);

/* Whether it has ended by now. */
bool os_child_ended(struct os_child *c);

/* Asks it to end, also one that was stopped. False where there is none that runs: one
 * that was not let go ends at once. */
bool os_child_ask(struct os_child *c);

/* Ends it, whether it wants or not. */
void os_child_kill(const struct os_child *c);

/* Whether there is a program of that name to run, where os_child_go looks for it. */
bool os_program_is_there(const char *name);

#endif
