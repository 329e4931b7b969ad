/* SPDX-License-Identifier: Apache-2.0 */
/* Work split over the cores. The only place that makes threads. */
#ifndef STOKE_OS_PARALLEL_H
#define STOKE_OS_PARALLEL_H

#include "base/crew.h"

/* How many cores this process may use; at least 1. */
unsigned os_core_count(void);

/* Calls work(context, 0) to work(context, count - 1), each in a thread of its own where
 * one can be had, and waits for all. */
void os_parallel(unsigned count, void (*work)(void *context, unsigned part),
                 void *context);

/* A crew (base/crew.h): the caller and threads that stay until it is destroyed. They are
 * begun with the first errand. */
struct os_crew;

/* NULL when memory is short. `hands` is at least 1. */
struct os_crew *os_crew_create(unsigned hands);
void os_crew_destroy(struct os_crew *c); /* all errands are finished; NULL is allowed */

/* What is handed to those who have errands. It lives as long as c. */
struct crew os_crew_seam(struct os_crew *c);

/* One at a time. */
struct os_lock {
    void *mutex;
};

/* False when memory is short. */
bool os_lock_init(struct os_lock *l);
void os_lock_deinit(struct os_lock *l); /* one that was never made is allowed */
void os_lock_take(struct os_lock *l);
void os_lock_give(struct os_lock *l);

#endif
