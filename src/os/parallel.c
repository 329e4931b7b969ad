/* SPDX-License-Identifier: Apache-2.0 */
#include "os/parallel.h"
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

/* Blocks that are given back to the system one by one make every core flush its address
 * translations, in the middle of its work: with threads, the heap keeps them. */
static void keep_blocks(void)
{
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
}

/* The first part is the caller's: what its builder gives back is where the caller's next
 * blocks are taken from. */
void os_parallel(unsigned count, void (*work)(void *context, unsigned part),
                 void *context)
{
    struct part parts[PARTS_MAX];
    if (count > PARTS_MAX)
        count = PARTS_MAX;
    if (count > 1)
        keep_blocks();
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
    struct errand *first, **last;
};

struct hand {
    struct os_crew *crew;
    pthread_t thread;
    unsigned number;
};

struct os_crew {
    pthread_mutex_t lock; /* of all below, and of the errands' states */
    pthread_cond_t more, done;
    struct queue queues[2]; /* what others wait for; what can wait */
    unsigned hands, begun;  /* threads: begun - 1 */
    bool ends;
    struct hand threads[PARTS_MAX]; /* [0]: the caller */
};

struct os_crew *os_crew_create(unsigned hands)
{
    struct os_crew *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->hands = hands < PARTS_MAX ? hands : PARTS_MAX;
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

void os_crew_destroy(struct os_crew *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->ends = true;
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 1; i < c->begun; i++)
        pthread_join(c->threads[i].thread, NULL);
    pthread_cond_destroy(&c->done);
    pthread_cond_destroy(&c->more);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Takes an errand out of its queue; the lock is held. */
static void take(struct os_crew *c, struct errand *e)
{
    struct queue *q = &c->queues[e->can_wait];
    struct errand **at = &q->first;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    if (q->last == &e->next)
        q->last = at;
    e->state = ERRAND_TAKEN;
}

/* Does the errand; the lock is held before and after. */
static void carry_out(struct os_crew *c, struct errand *e, unsigned hand)
{
    take(c, e);
    pthread_mutex_unlock(&c->lock);
    e->work(e, hand);
    pthread_mutex_lock(&c->lock);
    e->state = ERRAND_DONE;
    if (hand)
        pthread_cond_signal(&c->done);
}

static void *run_hand(void *context)
{
    struct hand *hand = context;
    struct os_crew *c = hand->crew;
    pthread_mutex_lock(&c->lock);
    while (!c->ends) {
        struct errand *e = c->queues[0].first ? c->queues[0].first : c->queues[1].first;
        if (e)
            carry_out(c, e, hand->number);
        else
            pthread_cond_wait(&c->more, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Those threads that cannot be had are done without. */
static void begin_threads(struct os_crew *c)
{
    unsigned wanted = c->hands;
    keep_blocks();
    for (unsigned i = 1; i < wanted; i++) {
        c->threads[i] = (struct hand){.crew = c, .number = i};
        if (pthread_create(&c->threads[i].thread, NULL, run_hand, &c->threads[i]) != 0)
            break;
        c->begun = i + 1;
    }
    c->hands = c->begun;
}

static void crew_take_on(void *context, struct errand *e)
{
    struct os_crew *c = context;
    if (c->begun < c->hands)
        begin_threads(c);
    pthread_mutex_lock(&c->lock);
    struct queue *q = &c->queues[e->can_wait];
    e->next = NULL;
    *q->last = e;
    q->last = &e->next;
    pthread_mutex_unlock(&c->lock);
    pthread_cond_signal(&c->more); /* who wakes finds the lock free */
}

/* While another hand is at it, this one does first what can wait: it may take longer, and
 * the others have something to go on with. */
static void crew_see_done(void *context, struct errand *e)
{
    struct os_crew *c = context;
    pthread_mutex_lock(&c->lock);
    while (e->state != ERRAND_DONE) {
        struct errand *other =
            c->queues[1].first ? c->queues[1].first : c->queues[0].first;
        if (e->state == ERRAND_STARTED)
            carry_out(c, e, 0);
        else if (other)
            carry_out(c, other, 0);
        else
            pthread_cond_wait(&c->done, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
}

struct crew os_crew_seam(struct os_crew *c)
{
    return (struct crew){
        .context = c, .hands = c->hands, .start = crew_take_on, .finish = crew_see_done};
}

/* --- Locks ------------------------------------------------------------------------- */

bool os_lock_init(struct os_lock *l)
{
    pthread_mutex_t *mutex = malloc(sizeof(pthread_mutex_t));
    if (mutex && pthread_mutex_init(mutex, NULL) != 0) {
        free(mutex);
        mutex = NULL;
    }
    l->mutex = mutex;
    return mutex != NULL;
}

void os_lock_deinit(struct os_lock *l)
{
    if (l->mutex)
        pthread_mutex_destroy(l->mutex);
    free(l->mutex);
    l->mutex = NULL;
}

void os_lock_take(struct os_lock *l)
{
    pthread_mutex_lock(l->mutex);
}

void os_lock_give(struct os_lock *l)
{
    pthread_mutex_unlock(l->mutex);
}
