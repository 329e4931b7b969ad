/* A user program on the kernel that the tests boot: computes, and writes numbers. */
#include <stdio.h>

__attribute__((noinline)) static long alpha_fib(long n)
{
    return n < 2 ? n : alpha_fib(n - 1) + alpha_fib(n - 2);
}

int main(void)
{
    for (long i = 10; i < 22; i++) {
        printf("%ld\n", alpha_fib(i));
        fflush(stdout);
    }
    return 0;
}
