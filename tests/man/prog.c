/* A program for the examples of libstoke_qemu(7). */
#include <stdio.h>

#ifdef MARKED
#define MARK(reg) \
    __asm__ volatile(".option push\n.option norvc\naddi x0, " reg ", 0\n.option pop")
#else
#define MARK(reg) (void)0
#endif

static volatile long sum;

__attribute__((noinline)) static void cold(void)
{
    for (int i = 0; i < 1000; i++)
        sum += i;
}

__attribute__((noinline)) static void hot(void)
{
    for (int i = 0; i < 1000; i++)
        sum ^= i;
}

int main(void)
{
    cold();
    MARK("x1");
    hot();
    MARK("x2");
    cold();
    printf("%ld\n", sum);
    return 0;
}
