/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a known stack: main, outer, middle, inner wait for standard input in two
 * threads each. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static long inner(int level)
{
    char byte;
    return read(0, &byte, 1) + level;
}

__attribute__((noinline)) static long middle(int level)
{
    return inner(level + 1) * 2;
}

__attribute__((noinline)) static long outer(int level)
{
    return middle(level + 1) + 1;
}

static void *start(void *none)
{
    return outer(1) == 42 ? none : NULL;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, start, NULL) != 0)
        return 1;
    puts("ready");
    fflush(stdout);
    int status = outer(2) == 42;
    pthread_join(thread, NULL);
    return status;
}
