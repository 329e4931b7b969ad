/* A program with known shares, for tests/record.py: THREADS threads spend 50, 30, 15 and 5
 * percent of their rounds in four functions, below DEPTH recursive calls of a function, for
 * MILLISECONDS of CPU time each.
 *   shares MILLISECONDS THREADS DEPTH
 * All four do the same work with the same code, so that their shares of the rounds are their
 * shares of the time. The length of a round is random, so that the program is never in step
 * with the sampling period. One of them works in an inlined function; the last call of another is a
 * tail call. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUND 10000 /* steps of work, at least: some tens of microseconds */
#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;
static long milliseconds, depth;
static __thread unsigned long steps, state; /* steps of a round; for random numbers */

NOINLINE void spin(long steps)
{
    unsigned long x = sink;
    for (long i = 0; i < steps; i++)
        x = x * 6364136223846793005UL + 1442695040888963407UL;
    sink = x;
}

/* A leaf function without a frame would hide its caller from frame pointers. */
NOINLINE void work(long rounds)
{
    for (long i = 0; i < rounds; i++)
        spin((long)steps);
    sink++;
}

NOINLINE void takes_50(void)
{
    work(10);
    sink++;
}

static inline __attribute__((always_inline)) void put_into(void)
{
    work(6);
    sink++;
}

NOINLINE void takes_30(void)
{
    put_into();
    sink++;
}

NOINLINE void takes_15(void)
{
    work(3);
    sink++;
}

NOINLINE void takes_5(void)
{
    work(1);
    sink++;
}

/* A tail call: this function is not on the stack any more. */
NOINLINE void jumps(void)
{
    takes_15();
    sink++;
    takes_5();
}

NOINLINE void all(void)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    steps = ROUND + (state >> 33) % (2 * ROUND);
    takes_50();
    takes_30();
    jumps();
    sink++;
}

NOINLINE void down(long left)
{
    if (left)
        down(left - 1);
    else
        all();
    sink++;
}

static long elapsed(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *run(void *unused)
{
    while (elapsed() < milliseconds)
        down(depth);
    return unused;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    milliseconds = atol(argv[1]);
    depth = atol(argv[3]);
    int count = atoi(argv[2]);
    pthread_t threads[64];
    if (count < 1 || count > 64)
        return 2;
    for (int i = 1; i < count; i++)
        if (pthread_create(&threads[i], NULL, run, NULL) != 0)
            return 1;
    run(NULL);
    for (int i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
