/* A program with known waits, for tests/off_cpu.py: each thread waits in one way, TIMES times for
 * about MILLISECONDS, and prints the sum by its own clock, or, for preempted threads, by the
 * scheduler's statistics: while a virtual machine is paused, its threads do not wait but the clock
 * continues.
 *   waits MILLISECONDS TIMES FILE        prints "FUNCTION NS" for each way
 * The functions call the kernel through a function of their own, so that stacks by frame pointers
 * contain them, too: syscall() of the C library has no frame. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define NS 1000000000L

static long milliseconds, times;
static int ends[2], file;
static int word; /* of the futex: how often it may be passed */
static volatile unsigned long sink;

static long now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * NS + t.tv_nsec;
}

/* The only function that waits; its caller is what counts. */
NOINLINE long enter(long number, long a, long b, long c, long d)
{
    long got = syscall(number, a, b, c, d, 0L, 0L);
    sink++;
    return got;
}

static void sleep_once(void)
{
    struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    enter(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&t, 0);
}

NOINLINE void in_sleep(void)
{
    sleep_once();
    sink++;
}

NOINLINE void in_futex(void)
{
    while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
        enter(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 0, 0);
    __atomic_fetch_sub(&word, 1, __ATOMIC_SEQ_CST);
    sink++;
}

NOINLINE void in_pipe(void)
{
    char c;
    if (enter(SYS_read, ends[0], (long)&c, 1, 0) != 1)
        abort();
    sink++;
}

static char block[1 << 16];

NOINLINE void in_disk(void)
{
    if (enter(SYS_pwrite64, file, (long)block, sizeof block, 0) < 0)
        abort();
    enter(SYS_fsync, file, 0, 0, 0);
    sink++;
}

/* Wakes the two that wait for it. */
NOINLINE void wakes_futex(void)
{
    __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
    enter(SYS_futex, (long)&word, FUTEX_WAKE_PRIVATE, 1, 0);
    sink++;
}

NOINLINE void fills_pipe(void)
{
    if (enter(SYS_write, ends[1], (long)"x", 1, 0) != 1)
        abort();
    sink++;
}

struct way {
    const char *name;
    void (*wait)(void);
    pthread_t thread;
};

static void *waits(void *context)
{
    const struct way *way = context;
    long waited = 0;
    for (long i = 0; i < times; i++) {
        long from = now(CLOCK_MONOTONIC), ran = now(CLOCK_THREAD_CPUTIME_ID);
        way->wait();
        waited += now(CLOCK_MONOTONIC) - from - (now(CLOCK_THREAD_CPUTIME_ID) - ran);
    }
    printf("%s %ld\n", way->name, waited);
    return NULL;
}

/* Two threads on one CPU: each runs half of the time. They read the clock seldom: its code has
 * no frame, so its caller is not in a stack by frame pointers. */
NOINLINE void in_run(void)
{
    long until = now(CLOCK_MONOTONIC) + milliseconds * times * 1000000;
    while (now(CLOCK_MONOTONIC) < until)
        for (int i = 0; i < 1000000; i++)
            sink++;
}

/* How long this thread waited for a CPU: proc_pid_schedstat(5), the second number. */
static long queued(void)
{
    long ns = 0;
    FILE *in = fopen("/proc/thread-self/schedstat", "r");
    if (!in || fscanf(in, "%*s %ld", &ns) != 1)
        abort();
    fclose(in);
    return ns;
}

static void *runs(void *name)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    long from = queued();
    in_run();
    printf("%s %ld\n", (char *)name, queued() - from);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct way ways[] = {{"in_sleep", in_sleep, 0},
                                {"in_futex", in_futex, 0},
                                {"in_pipe", in_pipe, 0},
                                {"in_disk", in_disk, 0}};
    pthread_t running[2];
    if (argc != 4 || pipe(ends) || (file = open(argv[3], O_RDWR | O_CREAT, 0600)) < 0)
        return 2;
    memset(block, 'x', sizeof block); /* otherwise its page faults wait for locks */
    milliseconds = atol(argv[1]);
    times = atol(argv[2]);
    for (int i = 0; i < 4; i++)
        pthread_create(&ways[i].thread, NULL, waits, &ways[i]);
    for (int i = 0; i < 2; i++)
        pthread_create(&running[i], NULL, runs, "in_run");
    for (long i = 0; i < times; i++) {
        sleep_once();
        wakes_futex();
        fills_pipe();
    }
    for (int i = 0; i < 4; i++)
        pthread_join(ways[i].thread, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(running[i], NULL);
    return 0;
}
