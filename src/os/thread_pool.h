/* SPDX-License-Identifier: Apache-2.0 */
/* Splits work over the cores. Only this file and thread.h create threads. */
#ifndef STOKE_OS_THREAD_POOL_H
#define STOKE_OS_THREAD_POOL_H

#include "base/thread_pool.h"

/* Number of cores that this process may use; at least 1. */
unsigned os_core_count(void);

/* Calls work(context, 0) to work(context, count - 1), each in its own thread if one can
 * be created, and waits for all. */
void os_parallel(unsigned count, void (*work)(void *context, unsigned part),
                 void *context);

/* Returns the freed memory of all threads to the system: for processes that live long, after work
 * that needed much. */
void os_return_memory(void);

/* A pool (base/thread_pool.h): the caller, and threads that live until it is destroyed.
 * They are started with the first task. */
struct os_thread_pool;

/* NULL when out of memory. `workers` is at least 1. */
struct os_thread_pool *os_thread_pool_create(unsigned workers);
void os_thread_pool_destroy(
    struct os_thread_pool *c); /* all tasks must be finished; NULL is allowed */

/* The interface to hand to pure code; valid as long as c. */
struct thread_pool os_thread_pool_interface(struct os_thread_pool *c);

/* A mutex. */
struct os_lock {
    void *mutex;
};

/* False when out of memory. */
bool os_lock_init(struct os_lock *l);

/* The same for threads of different priorities: while one waits for the lock, the thread that has
 * it runs with the priority of the waiting one. */
bool os_lock_init_inheriting(struct os_lock *l);
void os_lock_deinit(struct os_lock *l); /* a zeroed lock is allowed */
void os_lock_acquire(struct os_lock *l);
void os_lock_release(struct os_lock *l);

#endif
