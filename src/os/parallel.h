/* Work split over the cores. The only place that makes threads. */
#ifndef STOKE_OS_PARALLEL_H
#define STOKE_OS_PARALLEL_H

#include <stdbool.h>

/* How many cores this process may use; at least 1. */
unsigned os_core_count(void);

/* Calls work(context, 0) to work(context, count - 1), each in a thread of its own where
 * one can be had, and waits for all. */
void os_parallel(unsigned count, void (*work)(void *context, unsigned part),
                 void *context);

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
