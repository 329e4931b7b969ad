/* Computes for the given number of rounds, then reads an invalid address. */
#include <stdlib.h>

static __attribute__((noinline)) long work(long n)
{
    volatile long sum = 0;
    for (long i = 0; i < n; i++)
        sum = i % 3 ? sum + i : sum ^ i;
    return sum;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    for (long i = 0; i < rounds; i++)
        work(2000);
    return *(volatile int *)0;
}
