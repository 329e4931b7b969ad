/* Many threads that wait, and two that work. For tests/record_faults.py.
 *   threads COUNT MILLISECONDS      prints "ready" once all exist */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sink;
static long milliseconds;

static void *wait_at_gate(void *unused)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return unused;
}

__attribute__((noinline)) static void busy_one(void)
{
    for (int i = 0; i < 100000; i++)
        sink = sink * 6364136223846793005UL + 1;
}

static void *work(void *unused)
{
    struct timespec at;
    do {
        busy_one();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    } while (at.tv_sec * 1000 + at.tv_nsec / 1000000 < milliseconds);
    return unused;
}

int main(int argc, char **argv)
{
    long count = argc > 2 ? atol(argv[1]) : 0;
    milliseconds = argc > 2 ? atol(argv[2]) : 0;
    pthread_t thread, working[2];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    pthread_mutex_lock(&gate);
    for (long i = 0; i < count; i++)
        if (pthread_create(&thread, &small, wait_at_gate, NULL) != 0)
            return 77;
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&working[i], NULL, work, NULL) != 0)
            return 77;
    for (int i = 0; i < 2; i++)
        pthread_join(working[i], NULL);
    return 0;
}
