/* A program with known waits for locks, for tests/record/locks.py: 8 threads use 3 locks; each holds
 * its lock for a time of its own, asleep. It prints, by its own clock, for each function that uses a
 * lock, how long it waited, and how long others waited while it held the lock:
 *   locks TIMES        prints "waited LOCK FUNCTION NS" and "held LOCK FUNCTION NS" */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define NS 1000000000L
#define THREADS 8
#define LOCKS 3
#define TIMES_MAX 1000

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct {
    char other[128];
    pthread_mutex_t mutex;
    int rest[32];
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* All threads begin at the same time. */
static pthread_mutex_t begin_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begin_now = PTHREAD_COND_INITIALIZER;
static int ready, began;

static const char *const names[LOCKS] = {"cache_lock", "table_lock", "shared+0x80"};

/* One use of a lock. */
struct use {
    long requested, taken, released;
};

static struct use uses[THREADS][TIMES_MAX];
static int times;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS + t.tv_nsec;
}

static void sleep_ms(long ms)
{
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

static void lock(int which)
{
    if (which == 0)
        pthread_mutex_lock(&cache_lock);
    else if (which == 1)
        pthread_rwlock_wrlock(&table_lock);
    else
        pthread_mutex_lock(&shared.mutex);
}

static void unlock(int which)
{
    if (which == 0)
        pthread_mutex_unlock(&cache_lock);
    else if (which == 1)
        pthread_rwlock_unlock(&table_lock);
    else
        pthread_mutex_unlock(&shared.mutex);
}

static inline __attribute__((always_inline)) void use_lock(int thread, long held)
{
    for (int i = 0; i < times; i++) {
        struct use *u = &uses[thread][i];
        u->requested = now();
        lock(thread % LOCKS);
        u->taken = now();
        sleep_ms(held);
        u->released = now();
        unlock(thread % LOCKS);
        sleep_ms(1);
    }
}

#define USER(thread, held)            \
    NOINLINE void user_##thread(void) \
    {                                 \
        use_lock(thread, held);       \
    }
USER(0, 2)
USER(1, 3)
USER(2, 4)
USER(3, 3)
USER(4, 4)
USER(5, 2)
USER(6, 5)
USER(7, 3)

NOINLINE void wait_for_the_begin(void)
{
    pthread_mutex_lock(&begin_lock);
    ready++;
    while (!began)
        pthread_cond_wait(&begin_now, &begin_lock);
    pthread_mutex_unlock(&begin_lock);
}

static void *run(void *user)
{
    wait_for_the_begin();
    ((void (*)(void))user)();
    return NULL;
}

static void let_begin(void)
{
    for (int all = 0; !all;) {
        sleep_ms(1);
        pthread_mutex_lock(&begin_lock);
        began = all = ready == THREADS;
        pthread_mutex_unlock(&begin_lock);
    }
    sleep_ms(20);
    pthread_cond_broadcast(&begin_now);
}

static long overlap(const struct use *held, const struct use *waits)
{
    long from = held->taken > waits->requested ? held->taken : waits->requested;
    long to = held->released < waits->taken ? held->released : waits->taken;
    return to > from ? to - from : 0;
}

/* How long others waited while the thread held its lock. */
static long blocked_by(int thread)
{
    long sum = 0;
    for (int other = thread % LOCKS; other < THREADS; other += LOCKS)
        for (int i = 0; other != thread && i < times; i++)
            for (int k = 0; k < times; k++)
                sum += overlap(&uses[thread][i], &uses[other][k]);
    return sum;
}

int main(int argc, char **argv)
{
    void (*users[THREADS])(void) = {user_0, user_1, user_2, user_3,
                                    user_4, user_5, user_6, user_7};
    pthread_t threads[THREADS];
    struct sched_param first = {.sched_priority = 1};
    times = argc == 2 ? atoi(argv[1]) : 0;
    if (times < 1 || times > TIMES_MAX)
        return 2;
    /* they sleep, and run at once afterwards: otherwise they also wait for a CPU */
    sched_setscheduler(0, SCHED_FIFO, &first);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)users[i]);
    let_begin();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        long waited = 0;
        for (int k = 0; k < times; k++)
            waited += uses[i][k].taken - uses[i][k].requested;
        printf("waited %s user_%d %ld\n", names[i % LOCKS], i, waited);
        printf("held %s user_%d %ld\n", names[i % LOCKS], i, blocked_by(i));
    }
    return 0;
}
