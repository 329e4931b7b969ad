/* SPDX-License-Identifier: Apache-2.0 */
/* Works alone, then in two threads at once; prints the CPU time of the first part and of both
 * threads, and the time that the second part took, in s. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void spin(double until)
{
    while (seconds(CLOCK_THREAD_CPUTIME_ID) < until)
        for (int i = 0; i < 10000; i++)
            sink = sink + 1;
}

__attribute__((noinline)) static void serial(double time)
{
    spin(seconds(CLOCK_THREAD_CPUTIME_ID) + time);
    sink = 0; /* no tail call */
}

__attribute__((noinline)) static void *parallel(void *time)
{
    spin(*(double *)time);
    sink = 0;
    return NULL;
}

int main(int argc, char **argv)
{
    double alone = argc > 1 ? atof(argv[1]) : 0.4, each = argc > 2 ? atof(argv[2]) : 0.8;
    pthread_t threads[2];
    serial(alone);
    double begin = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, parallel, &each);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%f %f %f\n", alone, each, seconds(CLOCK_MONOTONIC) - begin);
    return 0;
}
