/* SPDX-License-Identifier: Apache-2.0 */
/* Work of threads and processes that run for less than a sampling period. It prints the CPU
 * time, in seconds, of this process and its children.
 *
 *   short_lived processes COUNT MS    one after the other, each runs for MS
 *   short_lived threads COUNT ROUNDS  they run for 1 ms at a time, and wait between */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000L
#define MS 1000000L

static long rounds;

static long used(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * NS + t.tv_nsec;
}

static void run_for(long ns)
{
    long end = used(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (used(CLOCK_THREAD_CPUTIME_ID) < end)
        continue;
}

static void *in_bursts(void *seed)
{
    unsigned state = (unsigned)(size_t)seed;
    for (long i = 0; i < rounds; i++) {
        struct timespec pause = {0, 50 * MS + rand_r(&state) % (100 * MS)};
        nanosleep(&pause, NULL);
        run_for(MS);
    }
    return NULL;
}

static void start_threads(long count)
{
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, in_bursts, (void *)(size_t)(i + 1));
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static void start_processes(long count, long ms)
{
    for (long i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            run_for(ms * MS);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

static double seconds(int who)
{
    struct rusage r;
    getrusage(who, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    rounds = atol(words[3]);
    if (strcmp(words[1], "threads") == 0) {
        printf("ready\n");
        fflush(stdout);
        getchar(); /* until it is recorded */
        start_threads(atol(words[2]));
    } else {
        start_processes(atol(words[2]), rounds);
    }
    printf("%f\n", seconds(RUSAGE_SELF) + seconds(RUSAGE_CHILDREN));
    return 0;
}
