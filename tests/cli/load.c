/* The program that the tests record: main calls middle, and that leaf, nine times as long
 * as evil, for this number of milliseconds of CPU time; the status is 3 then.
 *
 *   load [MS [fork]]    without end where none are named; fork: so does a child, which
 *                       executes the program again, and the status is 0
 *                       after the child's end */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUND 100000

static volatile unsigned long sink;

__attribute__((noinline)) void leaf(long n)
{
    for (long i = 0; i < n; i++)
        sink = sink * 6364136223846793005UL + (unsigned long)i;
}

__attribute__((noinline)) void evil(long n)
{
    for (long i = 0; i < n; i++)
        sink = sink * 6364136223846793005UL + (unsigned long)i;
}

__attribute__((noinline)) void middle(long n)
{
    leaf(9 * n);
    evil(n);
    sink++;
}

int main(int argc, char **argv)
{
    struct timespec used = {0};
    long end = argc > 1 ? atol(argv[1]) : 0;
    if (argc > 2 && fork() == 0)
        return execl(argv[0], argv[0], argv[1], (char *)NULL);
    while (!end || used.tv_sec * 1000 + used.tv_nsec / 1000000 < end) {
        middle(ROUND);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    }
    return argc > 2 ? (wait(NULL), 0) : 3;
}
