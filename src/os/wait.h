/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for whatever comes first: bytes to read, a signal, the time. */
#ifndef STOKE_OS_WAIT_H
#define STOKE_OS_WAIT_H

#include "base/error.h"

/* What happened; several bits at once. None: the time is over. */
enum os_wait_reason {
    OS_WAIT_DATA = 1,   /* a handle has something to read */
    OS_WAIT_STOP = 2,   /* SIGINT, SIGTERM, SIGHUP or another that ends programs */
    OS_WAIT_CHILD = 4,  /* SIGCHLD */
    OS_WAIT_USER = 8,   /* SIGUSR2 */
    OS_WAIT_ALONE = 16, /* no handle is left: all have hung up */
};

struct os_wait {
    int epoll, signals; /* -1: not open */
    int stop_signal;    /* which one it was; 0 for none */
    size_t handles;     /* that have not hung up */
};

/* Signals are held back from now on, for the os_wait_init that is to come: who is told by
 * one to end does so in order, however early it comes. Standard error that nobody reads
 * any more (SIGPIPE) is no reason to end. Signals that were ignored before (nohup) still
 * are; but SIGINT, which shells have ignored by what they start in the background, counts
 * where another process sends it on purpose. */
void os_wait_hold_signals(void);

/* From now on those signals come this way only. Deinit in any case. */
bool os_wait_init(struct os_wait *w, struct error *err);
void os_wait_deinit(struct os_wait *w);

/* Waits for the handle, too. One that hangs up is left out from then on. */
bool os_wait_add(struct os_wait *w, int fd, struct error *err);

/* The same for a handle that is there anyway: without others, nobody is left. */
bool os_wait_watch(struct os_wait *w, int fd, struct error *err);

/* Must come before the handle is closed. */
void os_wait_remove(struct os_wait *w, int fd);

/* Waits at most so long; -1: without end. */
unsigned os_wait_for(struct os_wait *w, int milliseconds);

/* Undoes what both did to signals, in a child before it becomes another program.
 */
void os_wait_restore_signals(void);

#endif
