/* A user program with known stacks: all control flow of C. It is built without
 * inlining; its output shows that it ran correctly. */
#define _GNU_SOURCE
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile long work;

/* Recursion, and mutual recursion. */
NOINLINE long fib(long n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

NOINLINE long is_odd(long n);

NOINLINE long is_even(long n)
{
    return n == 0 ? 1 : is_odd(n - 1) + (work & 0);
}

NOINLINE long is_odd(long n)
{
    return n == 0 ? 0 : is_even(n - 1) + (work & 0);
}

NOINLINE long deep(long n)
{
    long below = n ? deep(n - 1) : 0;
    work += below;
    return below + 1;
}

/* Tail calls: direct, through a pointer, to itself, and from a called function. */
NOINLINE long tail_last(long n)
{
    work += n;
    return n * 3;
}

NOINLINE long tail_odd(long n);

NOINLINE long tail_even(long n)
{
    work++;
    return n ? tail_odd(n - 1) : tail_last(n + 7);
}

NOINLINE long tail_odd(long n)
{
    work--;
    return n ? tail_even(n - 1) : tail_last(n + 9);
}

NOINLINE long tail_by_pointer(long (*to)(long), long n)
{
    work += 2;
    return to(n);
}

NOINLINE long tail_after_call(long n)
{
    long sum = fib(n);
    return tail_even(sum);
}

/* Function pointers. */
NOINLINE long add(long a, long b)
{
    return a + b;
}

NOINLINE long multiply(long a, long b)
{
    return a * b + fib(3);
}

static long (*const table[])(long, long) = {add, multiply};

NOINLINE long by_table(long n)
{
    long sum = 1;
    for (long i = 0; i < n; i++)
        sum = table[i & 1](sum, i);
    return sum;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

NOINLINE long sort(void)
{
    int items[40];
    for (int i = 0; i < 40; i++)
        items[i] = i * 7919 % 41;
    qsort(items, 40, sizeof *items, compare);
    return items[3];
}

/* setjmp and longjmp: over several frames, from a recursion to one of its own frames,
 * and repeatedly. */
static jmp_buf here, inner;

NOINLINE void jump_from_below(long n)
{
    if (n == 0)
        longjmp(here, 5);
    jump_from_below(n - 1);
    work++;
}

NOINLINE long jumps(void)
{
    long got = setjmp(here);
    if (got == 0) {
        fib(3);
        jump_from_below(6);
    }
    return got + fib(4);
}

NOINLINE long jumps_in_recursion(long n)
{
    if (n == 0)
        longjmp(inner, 2);
    if (n == 3 && setjmp(inner))
        return fib(5) + n;
    return jumps_in_recursion(n - 1) + 1;
}

NOINLINE long jumps_often(void)
{
    volatile long count = 0;
    if (setjmp(here) < 4) {
        count++;
        longjmp(here, (int)count + 1);
    }
    return count;
}

/* Signals: a handler that calls functions, a handler in another one, one that does not
 * return, one for a fault that is corrected and repeated, one on its own stack. */
static sigjmp_buf out_of_handler;
static char *page;
static char stack_of_signals[65536] __attribute__((aligned(16)));

static void on_inner_signal(int number)
{
    work += fib(4) + number;
}

static void on_signal(int number)
{
    work += number;
    raise(SIGUSR2);
    work += fib(3);
}

static void on_leaving_signal(int number)
{
    work += fib(4);
    siglongjmp(out_of_handler, number);
}

static void on_fault(int number)
{
    (void)number;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

NOINLINE long fault_is_fixed(long value)
{
    long sum = value + 1;
    page[8] = (char)sum; /* in the middle of a block */
    sum += page[8];
    return sum + value;
}

NOINLINE long fault_is_left(volatile char *nowhere)
{
    if (sigsetjmp(out_of_handler, 1) == 0) {
        work++;
        *nowhere = 1;
        work--;
    }
    return fib(3);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, NULL);
}

NOINLINE long signals(void)
{
    stack_t stack = {.ss_sp = stack_of_signals, .ss_size = sizeof stack_of_signals};
    handle(SIGUSR1, on_signal, 0);
    handle(SIGUSR2, on_inner_signal, 0);
    raise(SIGUSR1);
    sigaltstack(&stack, NULL);
    handle(SIGUSR1, on_signal, SA_ONSTACK);
    raise(SIGUSR1);
    handle(SIGTERM, on_leaving_signal, 0);
    if (sigsetjmp(out_of_handler, 1) == 0)
        raise(SIGTERM);
    handle(SIGTERM, on_leaving_signal, SA_ONSTACK);
    if (sigsetjmp(out_of_handler, 1) == 0)
        raise(SIGTERM);
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle(SIGSEGV, on_fault, 0);
    fault_is_fixed(4);
    handle(SIGSEGV, on_leaving_signal, 0);
    return fault_is_left(NULL);
}

/* A frame whose size is computed at run time. */
NOINLINE long with_alloca(long n)
{
    char *room = alloca((size_t)n * 16);
    memset(room, 1, (size_t)n * 16);
    return room[n] + fib(n & 7);
}

int main(void)
{
    long sum = fib(9) + is_even(12) + is_odd(9) + deep(300);
    sum += tail_even(20) + tail_by_pointer(tail_last, 3) + tail_after_call(6);
    sum += by_table(10) + sort();
    sum += jumps() + jumps_in_recursion(6) + jumps_often();
    sum += signals();
    sum += with_alloca(9) + with_alloca(70);
    printf("calls %ld\n", sum);
    return 0;
}
