/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads with functions of their own, memory and system calls, for the tests of stoke report. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
volatile unsigned long sink;
APART void spin(long n)
{
    for (long i = 0; i < n; i++)
        sink += (unsigned long)i;
}
APART void first(long n)
{
    spin(n);
    sink++;
}
APART void second(long n)
{
    spin(n);
    spin(n);
    sink++;
}
APART void again(int depth, long n)
{
    if (depth)
        again(depth - 1, n);
    else
        first(n);
    sink++;
}
APART void memory(void)
{
    char *p = malloc(1 << 20);
    memset(p, (int)sink, 1 << 20);
    sink += (unsigned char)p[77];
    free(p);
}
APART void calls(long n)
{
    for (long i = 0; i < n; i++)
        sink += (unsigned long)(write(1, "", 0) + getppid());
}
void *helper(void *name)
{
    prctl(PR_SET_NAME, name);
    for (int i = 0; i < 60; i++) {
        second(100000);
        memory();
        calls(2000);
    }
    return NULL;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, helper, "helper one");
    for (int i = 0; i < 100; i++) {
        first(200000);
        again(5, 100000);
        calls(1000);
        memory();
    }
    return pthread_join(t, NULL);
}
