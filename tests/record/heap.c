/* SPDX-License-Identifier: Apache-2.0 */
/* Computes, allocates, and computes again. Prints the times between. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static void *volatile sink;

static NOINLINE void allocate(void)
{
    for (int i = 0; i < 400; i++) {
        sink = malloc(1000000);
        free(sink);
    }
    for (int i = 0; i < 50; i++)
        sink = malloc(2000000);
}

static NOINLINE void burn(void)
{
    volatile long count = 0;
    clock_t start = clock();
    while (clock() - start < CLOCKS_PER_SEC / 4)
        for (int i = 0; i < 10000; i++)
            count = count + 1;
}

/* The pauses are longer than the resolution of the recording. */
static void print_time(void)
{
    struct timespec now;
    usleep(20000);
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
    usleep(20000);
}

int main(void)
{
    burn();
    print_time();
    allocate();
    print_time();
    burn();
    return 9;
}
