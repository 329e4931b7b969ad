/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a thread pool, for code that does not start threads itself.
 *
 * Pure code does not know threads. It splits work into independent tasks and hands them
 * to the pool that it was given: it starts each task, and finishes it when it needs the
 * result. Without a pool, or with a pool of one worker, a task runs when it is
 * finished.
 *
 * A task may read data that nobody changes until it is finished, and may change its own
 * data and its worker's. Only one thread starts and finishes tasks: worker 0. A task
 * does not start others. */
#ifndef STOKE_BASE_THREAD_POOL_H
#define STOKE_BASE_THREAD_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct pool_task {
    /* Does the work. `worker` is less than the pool's number of workers; a worker does
     * one task at a time. */
    void (*work)(struct pool_task *e, unsigned worker);
    bool can_wait; /* low priority: other tasks go first */

    enum { TASK_IDLE, TASK_STARTED, TASK_TAKEN, TASK_DONE } state; /* owned by the pool */
    struct pool_task *next;
};

struct thread_pool {
    void *context;
    unsigned workers; /* at least 1, including the caller */

    /* Queues the task. The task must stay at its address until it is finished. */
    void (*start)(void *context, struct pool_task *e);

    /* Returns when the task is done; runs it in the calling thread if no worker has
     * begun it. While another worker runs it, the caller runs other tasks. */
    void (*finish)(void *context, struct pool_task *e);
};

static inline unsigned thread_pool_workers(const struct thread_pool *c)
{
    return c ? c->workers : 1;
}

static inline void thread_pool_start(const struct thread_pool *c, struct pool_task *e)
{
    e->state = TASK_STARTED;
    if (c)
        c->start(c->context, e);
}

static inline void thread_pool_finish(const struct thread_pool *c, struct pool_task *e)
{
    if (c)
        c->finish(c->context, e);
    else
        e->work(e, 0);
    e->state = TASK_IDLE;
}

#endif
