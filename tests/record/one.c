/* A program that spends a fifth of a second of CPU time in a function called NAME. */
#include <time.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void NAME(void)
{
    for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;)
        for (int i = 0; i < 100000; i++)
            sink = sink * 6364136223846793005UL + 1;
}

int main(void)
{
    NAME();
    return 0;
}
