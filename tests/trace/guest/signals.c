/* Signals that arrive at any time: from timers, and by kill() from another process.
 * The interrupted code has every kind of jump, so each kind is interrupted.
 *
 * signals [N]: number of signals, 20 by default */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile long work;
static volatile sig_atomic_t seen;

NOINLINE long leaf(long n)
{
    work += n;
    return n & 3;
}

NOINLINE long other_leaf(long n)
{
    work -= n;
    return n & 1;
}

static long (*const table[])(long) = {leaf, other_leaf};

NOINLINE long by_table(long n)
{
    return table[n & 1](n) + 1;
}

NOINLINE long fib(long n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* Short loops of taken branches. */
NOINLINE long spin(long n)
{
    long sum = 0;
    while (n-- > 0)
        if (n & 1)
            sum += n;
        else
            sum ^= n;
    return sum;
}

NOINLINE long tail(long n)
{
    work++;
    return by_table(n);
}

NOINLINE long chosen(long n)
{
    switch (n & 7) {
    case 0:
        return leaf(n) + 1;
    case 1:
        return spin(n) + 2;
    case 2:
        return fib(3) * 2;
    case 3:
        return by_table(n) - 1;
    case 4:
        return tail(n);
    case 5:
        return other_leaf(n) + 4;
    case 6:
        return work;
    default:
        return leaf(n + 1) ^ 1;
    }
}

NOINLINE void mix(long n)
{
    work += chosen(n) + tail(n) + spin(n & 15);
}

NOINLINE void on_signal(int number)
{
    seen++;
    work += fib(number & 3);
}

NOINLINE void after(void)
{
    work += spin(30);
}

static void every(int which, long microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(which, &timer, NULL);
}

int main(int argc, char **argv)
{
    int expected = argc > 1 ? atoi(argv[1]) : 20;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    /* A handler that has not returned yet looks like a function, if it is entered
     * instead of the target of a jump by register. */
    raise(SIGUSR1);
    seen = 0;
    every(ITIMER_REAL, 997);
    every(ITIMER_VIRTUAL, 3001);
    every(ITIMER_PROF, 1999);
    for (long n = 0; seen < expected; n++)
        mix(n);
    every(ITIMER_REAL, 0);
    every(ITIMER_VIRTUAL, 0);
    every(ITIMER_PROF, 0);
    after();
    printf("signals %d\n", seen >= expected);
    return 0;
}
