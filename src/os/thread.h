/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that waits for work, such as one of a server. For work that is to be divided,
 * see thread_pool.h. */
#ifndef STOKE_OS_THREAD_H
#define STOKE_OS_THREAD_H

#include "base/error.h"
#include "os/thread_pool.h"

struct os_thread {
    struct os_thread_body *body; /* NULL: not started */
};

/* Starts run(context). Signals do not interrupt it. */
bool os_thread_start(struct os_thread *t, void (*run)(void *context), void *context,
                     struct error *err);

/* Waits for its end. Has no effect on a thread that was not started. */
void os_thread_join(struct os_thread *t);

/* Wakes threads that wait for a change of data under a lock. */
struct os_condition {
    void *condition;
};

bool os_condition_init(struct os_condition *c);   /* false when out of memory */
void os_condition_deinit(struct os_condition *c); /* a zeroed one is allowed */
void os_condition_wake(struct os_condition *c);   /* all that wait */

/* Waits until the time of os_clock_monotonic, or until it is woken, maybe earlier. The
 * caller has the lock, which is released during the wait. */
void os_condition_wait(struct os_condition *c, struct os_lock *lock, uint64_t until);

#endif
