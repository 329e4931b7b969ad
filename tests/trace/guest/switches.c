/* A user program that switches stacks: with ucontexts, and in three ways of its own
 * (switches.S). In each way several stacks run in turn, in deep recursions, and switch
 * at the same location and at different ones. At the end, setjmp is called at each
 * level of a recursion. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { STACKS = 4, SIZE = 32768, ROUNDS = 6, REGISTERS = 14 };

volatile long work;

/* Each kind of switch has its own stacks. */
#define ALIGNED __attribute__((aligned(16)))
#define FOUR(way)                                                      \
    char stack_of_a##way[SIZE] ALIGNED, stack_of_b##way[SIZE] ALIGNED, \
        stack_of_c##way[SIZE] ALIGNED, stack_of_d##way[SIZE] ALIGNED;
FOUR(0)
FOUR(1)
FOUR(2)
FOUR(3)
static char *const all[][STACKS] = {
    {stack_of_a0, stack_of_b0, stack_of_c0, stack_of_d0},
    {stack_of_a1, stack_of_b1, stack_of_c1, stack_of_d1},
    {stack_of_a2, stack_of_b2, stack_of_c2, stack_of_d2},
    {stack_of_a3, stack_of_b3, stack_of_c3, stack_of_d3},
};
static char *const *stacks;

NOINLINE long fib(long n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* --- Who runs, and how it is left --------------------------------------------------- */

static int current, left;
static int is_done[STACKS];
static void (*leave)(void); /* the kind of switch */

NOINLINE void descend(long depth, long width)
{
    work += fib(depth & 3);
    if (depth > 0)
        descend(depth - 1, width);
    else
        leave();
    if (depth == width)
        leave(); /* another location */
    work++;
}

NOINLINE void run_even(long number)
{
    for (long i = 0; i < ROUNDS; i++)
        descend(number + i % 3, 2);
}

NOINLINE void run_odd(long number)
{
    for (long i = 0; i < ROUNDS; i++) {
        descend(2 * number, number);
        work += fib(4);
    }
}

NOINLINE void run(long number)
{
    if (number & 1)
        run_odd(number);
    else
        run_even(number);
    is_done[number] = 1;
    left--;
    for (;;)
        leave();
}

static int next_of(int number)
{
    for (int i = 1; i <= STACKS; i++)
        if (!is_done[(number + i) % STACKS])
            return (number + i) % STACKS;
    return -1;
}

/* --- ucontext ---------------------------------------------------------------------- */

static ucontext_t home, contexts[STACKS];

NOINLINE void leave_ucontext(void)
{
    ucontext_t *from = &contexts[current];
    current = next_of(current);
    swapcontext(from, current < 0 ? &home : &contexts[current]);
}

NOINLINE void begin_ucontext(int number)
{
    run(number);
}

NOINLINE void run_ucontexts(void)
{
    for (int i = 0; i < STACKS; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = SIZE;
        contexts[i].uc_link = &home;
        makecontext(&contexts[i], (void (*)(void))begin_ucontext, 1, i);
    }
    leave = leave_ucontext;
    swapcontext(&home, &contexts[0]);
}

/* --- Registers in memory ------------------------------------------------------------ */

typedef long registers[REGISTERS];
void switch_in_memory(registers from, registers to);
void begin_stack(void);

static registers own, others[STACKS];

NOINLINE void leave_in_memory(void)
{
    long *from = others[current];
    current = next_of(current);
    switch_in_memory(from, current < 0 ? own : others[current]);
}

NOINLINE void run_in_memory(void)
{
    for (int i = 0; i < STACKS; i++) {
        others[i][0] = (long)begin_stack;
        others[i][1] = (long)(stacks[i] + SIZE);
        others[i][2] = (long)run;
        others[i][3] = i;
    }
    leave = leave_in_memory;
    switch_in_memory(own, others[0]);
}

/* --- Registers on the stack --------------------------------------------------------- */

void switch_on_stack(void **from, void *to);
void *switch_and_hand_over(void *to);

static void *pointer, *pointers[STACKS];

static void prepare_stacks(void (*begin)(long, void *))
{
    for (int i = 0; i < STACKS; i++) {
        long *top = (long *)(stacks[i] + SIZE) - REGISTERS;
        memset(top, 0, REGISTERS * sizeof *top);
        top[0] = (long)begin_stack;
        top[1] = (long)begin;
        top[2] = i;
        pointers[i] = top;
    }
}

NOINLINE void leave_on_stack(void)
{
    void **from = &pointers[current];
    current = next_of(current);
    switch_on_stack(from, current < 0 ? pointer : pointers[current]);
}

NOINLINE void run_on_stack(void)
{
    prepare_stacks((void (*)(long, void *))run);
    leave = leave_on_stack;
    switch_on_stack(&pointer, pointers[0]);
}

static int came_from; /* -1: from main's stack */

static void keep_pointer(void *left_at)
{
    *(came_from < 0 ? &pointer : &pointers[came_from]) = left_at;
}

NOINLINE void leave_by_jump(void)
{
    int to = next_of(current);
    came_from = current;
    current = to;
    keep_pointer(switch_and_hand_over(to < 0 ? pointer : pointers[to]));
}

NOINLINE void run_handed(long number, void *left_at)
{
    keep_pointer(left_at);
    run(number);
}

NOINLINE void run_by_jump(void)
{
    prepare_stacks(run_handed);
    leave = leave_by_jump;
    came_from = -1;
    switch_and_hand_over(pointers[0]);
}

/* --- setjmp at each level ----------------------------------------------------------- */

enum { LEVELS = 12 };
static jmp_buf levels[LEVELS];
static int jumps;

NOINLINE void dive(int level)
{
    volatile int here = level;
    if (setjmp(levels[here]) != 0) {
        work += fib(3); /* below `here` + 1 frames of dive */
        return;
    }
    work += fib(2);
    if (here + 1 < LEVELS)
        dive(here + 1);
    else if (jumps % 3 != 0)
        longjmp(levels[jumps % LEVELS], 1);
    work++;
}

/* --- All ---------------------------------------------------------------------------- */

static void begin_way(void)
{
    memset(is_done, 0, sizeof is_done);
    left = STACKS;
    current = 0;
}

int main(void)
{
    static void (*const ways[])(void) = {run_ucontexts, run_in_memory, run_on_stack,
                                         run_by_jump};
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        begin_way();
        stacks = all[i];
        ways[i]();
        work += fib(5);
        if (left)
            return 1;
    }
    for (jumps = 0; jumps < 3 * LEVELS; jumps++)
        dive(0);
    printf("switches\n");
    return 0;
}
