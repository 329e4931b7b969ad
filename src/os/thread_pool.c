/* SPDX-License-Identifier: Apache-2.0 */
#include "os/thread_pool.h"
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define PARTS_MAX 256

struct part {
    pthread_t thread;
    void (*work)(void *, unsigned);
    void *context;
    unsigned number;
    bool started;
};

unsigned os_core_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > PARTS_MAX ? PARTS_MAX : (unsigned)count;
}

static void *run_part(void *context)
{
    struct part *part = context;
    part->work(part->context, part->number);
    return NULL;
}

/* Returning blocks to the system one by one makes every core flush its TLB. With
 * threads, the heap retains freed blocks. */
static void retain_blocks(void)
{
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
}

void os_return_memory(void)
{
    malloc_trim(0);
}

/* The first part runs in the calling thread, so memory that its builder frees is reused
 * by the caller. */
void os_parallel(unsigned count, void (*work)(void *context, unsigned part),
                 void *context)
{
    struct part parts[PARTS_MAX];
    if (count > PARTS_MAX)
        count = PARTS_MAX;
    if (count > 1)
        retain_blocks();
    for (unsigned i = 1; i < count; i++) {
        parts[i] = (struct part){.work = work, .context = context, .number = i};
        parts[i].started =
            pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) == 0;
    }
    if (count)
        work(context, 0);
    for (unsigned i = 1; i < count; i++) {
        if (parts[i].started)
            pthread_join(parts[i].thread, NULL);
        else
            work(context, i);
    }
}

/* --- Crews ------------------------------------------------------------------------- */

struct queue {
    struct pool_task *first, **last;
};

struct worker {
    struct os_thread_pool *pool;
    pthread_t thread;
    unsigned number;
};

struct os_thread_pool {
    pthread_mutex_t lock; /* protects everything below, and the states of tasks */
    pthread_cond_t more, done;
    struct queue queues[2];  /* high priority; can_wait */
    unsigned workers, begun; /* threads started: begun - 1 */
    bool stopping;
    struct worker threads[PARTS_MAX]; /* [0]: the caller */
};

struct os_thread_pool *os_thread_pool_create(unsigned workers)
{
    struct os_thread_pool *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->workers = workers < PARTS_MAX ? workers : PARTS_MAX;
    c->begun = 1;
    for (unsigned i = 0; i < 2; i++)
        c->queues[i].last = &c->queues[i].first;
    bool lock = pthread_mutex_init(&c->lock, NULL) == 0;
    bool more = lock && pthread_cond_init(&c->more, NULL) == 0;
    if (more && pthread_cond_init(&c->done, NULL) == 0)
        return c;
    if (more)
        pthread_cond_destroy(&c->more);
    if (lock)
        pthread_mutex_destroy(&c->lock);
    free(c);
    return NULL;
}

void os_thread_pool_destroy(struct os_thread_pool *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 1; i < c->begun; i++)
        pthread_join(c->threads[i].thread, NULL);
    pthread_cond_destroy(&c->done);
    pthread_cond_destroy(&c->more);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Removes a task from its queue; the lock is held. */
static void take(struct os_thread_pool *c, struct pool_task *e)
{
    struct queue *q = &c->queues[e->can_wait];
    struct pool_task **at = &q->first;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    if (q->last == &e->next)
        q->last = at;
    e->state = TASK_TAKEN;
}

/* Runs a task; the lock is held before and after. */
static void run_task(struct os_thread_pool *c, struct pool_task *e, unsigned worker)
{
    take(c, e);
    pthread_mutex_unlock(&c->lock);
    e->work(e, worker);
    pthread_mutex_lock(&c->lock);
    e->state = TASK_DONE;
    if (worker)
        pthread_cond_signal(&c->done);
}

static void *run_worker(void *context)
{
    struct worker *worker = context;
    struct os_thread_pool *c = worker->pool;
    pthread_mutex_lock(&c->lock);
    while (!c->stopping) {
        struct pool_task *e =
            c->queues[0].first ? c->queues[0].first : c->queues[1].first;
        if (e)
            run_task(c, e, worker->number);
        else
            pthread_cond_wait(&c->more, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Threads that cannot be started are left out. */
static void begin_threads(struct os_thread_pool *c)
{
    unsigned count = c->workers;
    retain_blocks();
    for (unsigned i = 1; i < count; i++) {
        c->threads[i] = (struct worker){.pool = c, .number = i};
        if (pthread_create(&c->threads[i].thread, NULL, run_worker, &c->threads[i]) != 0)
            break;
        c->begun = i + 1;
    }
    c->workers = c->begun;
}

static void enqueue_task(void *context, struct pool_task *e)
{
    struct os_thread_pool *c = context;
    if (c->begun < c->workers)
        begin_threads(c);
    pthread_mutex_lock(&c->lock);
    struct queue *q = &c->queues[e->can_wait];
    e->next = NULL;
    *q->last = e;
    q->last = &e->next;
    pthread_mutex_unlock(&c->lock);
    pthread_cond_signal(&c->more); /* the woken thread finds the lock free */
}

/* While another worker runs this task, the caller first runs low-priority tasks: one of
 * them may take longer, but the other workers still have work to do. */
static void finish_task(void *context, struct pool_task *e)
{
    struct os_thread_pool *c = context;
    pthread_mutex_lock(&c->lock);
    while (e->state != TASK_DONE) {
        struct pool_task *other =
            c->queues[1].first ? c->queues[1].first : c->queues[0].first;
        if (e->state == TASK_STARTED)
            run_task(c, e, 0);
        else if (other)
            run_task(c, other, 0);
        else
            pthread_cond_wait(&c->done, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
}

struct thread_pool os_thread_pool_interface(struct os_thread_pool *c)
{
    return (struct thread_pool){.context = c,
                                .workers = c->workers,
                                .start = enqueue_task,
                                .finish = finish_task};
}

/* --- Locks ------------------------------------------------------------------------- */

static bool init_lock(struct os_lock *l, int protocol)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t *mutex = malloc(sizeof(pthread_mutex_t));
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    if (mutex && pthread_mutex_init(mutex, &attributes) != 0) {
        free(mutex);
        mutex = NULL;
    }
    pthread_mutexattr_destroy(&attributes);
    l->mutex = mutex;
    return mutex != NULL;
}

bool os_lock_init(struct os_lock *l)
{
    return init_lock(l, PTHREAD_PRIO_NONE);
}

bool os_lock_init_inheriting(struct os_lock *l)
{
    return init_lock(l, PTHREAD_PRIO_INHERIT) || os_lock_init(l);
}

void os_lock_deinit(struct os_lock *l)
{
    if (l->mutex)
        pthread_mutex_destroy(l->mutex);
    free(l->mutex);
    l->mutex = NULL;
}

void os_lock_acquire(struct os_lock *l)
{
    pthread_mutex_lock(l->mutex);
}

void os_lock_release(struct os_lock *l)
{
    pthread_mutex_unlock(l->mutex);
}
