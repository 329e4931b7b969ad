/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the first of: readable descriptors, signals, a timeout. */
#ifndef STOKE_OS_WAIT_H
#define STOKE_OS_WAIT_H

#include "base/error.h"

/* What happened, several bits at once. 0: timeout. */
enum os_wait_reason {
    OS_WAIT_DATA = 1, /* a descriptor is readable */
    /* SIGINT, SIGTERM, SIGHUP or another signal that ends processes */
    OS_WAIT_STOP = 2,
    OS_WAIT_CHILD = 4,  /* SIGCHLD */
    OS_WAIT_USER = 8,   /* SIGUSR2 */
    OS_WAIT_ALONE = 16, /* no descriptor is left: all have hung up */
};

struct os_wait {
    int epoll, signals; /* -1: not open */
    int stop_signal;    /* the signal of OS_WAIT_STOP; 0 for none */
    size_t handles;     /* that have not hung up */
};

/* Blocks the signals for a later os_wait_init, so that an early request to stop still
 * ends the process cleanly. SIGPIPE (nobody reads standard error any more) is ignored.
 * Signals that were ignored before (nohup) stay ignored. SIGINT, which shells ignore in
 * background processes, counts only if another process sends it. */
void os_wait_block_signals(void);

/* From now on, the signals arrive only through os_wait_for. Call os_wait_deinit in any
 * case. */
bool os_wait_init(struct os_wait *w, struct error *err);

/* The same without signals: their handling is unchanged. */
bool os_wait_init_plain(struct os_wait *w, struct error *err);
void os_wait_deinit(struct os_wait *w);

/* Adds a descriptor. It is removed when it hangs up. */
bool os_wait_add(struct os_wait *w, int fd, struct error *err);

/* Adds a descriptor that does not count for OS_WAIT_ALONE. */
bool os_wait_watch(struct os_wait *w, int fd, struct error *err);

/* Adds a descriptor that another thread may remove: it is reported once per change, also when it
 * hangs up, and stays until os_wait_unwatch. It does not count for OS_WAIT_ALONE. */
bool os_wait_watch_changes(struct os_wait *w, int fd, struct error *err);
void os_wait_unwatch(struct os_wait *w, int fd);

/* Must be called before the descriptor is closed. */
void os_wait_remove(struct os_wait *w, int fd);

/* Waits at most that long; -1: no timeout. */
unsigned os_wait_for(struct os_wait *w, int milliseconds);

/* For other event loops: readable when os_wait_for has something to report. */
static inline int os_wait_fd(const struct os_wait *w)
{
    return w->epoll;
}

/* A descriptor that a thread makes readable, to wake another one. */
struct os_wake {
    int fd; /* -1: not open */
};

bool os_wake_init(struct os_wake *w, struct error *err);
void os_wake_deinit(struct os_wake *w);
void os_wake_set(const struct os_wake *w);
void os_wake_clear(const struct os_wake *w);

/* Waits that long, for nothing. */
void os_sleep(int milliseconds);

/* Milliseconds until that time of CLOCK_MONOTONIC in ns, rounded up; 0 if it is over. */
int os_wait_left(uint64_t deadline);

/* Restores the signals, in a child process before exec. */
void os_wait_restore_signals(void);

#endif
