/* A kernel with three tasks: two user programs and a kernel task. The timer and the
 * tasks switch them. It is the smallest program with the stacks of a real kernel. */
typedef unsigned long word;

#define NOINLINE __attribute__((noinline, noclone))

enum {
    TASKS = 4, /* the first is the boot stack */
    STACK = 4096,
    FRAME = 272 / 8,
    SLICE = 20, /* ticks of the clock: 2000 instructions with -icount shift=0 */
};

struct task {
    word kernel_sp, user_sp;
    word ra, sp, s[12]; /* as __switch_to stores them */
    word is_over;
};

struct task tasks[TASKS];
char stack_of_boot[STACK] __attribute__((aligned(16)));
char stack_of_task_1[STACK] __attribute__((aligned(16)));
char stack_of_task_2[STACK] __attribute__((aligned(16)));
char stack_of_task_3[STACK] __attribute__((aligned(16)));
static volatile word work, switches, calls;

void __switch_to(struct task *from, struct task *to);
void ret_from_fork(void);

static inline struct task *current(void)
{
    struct task *task;
    __asm__ volatile("mv %0, tp" : "=r"(task));
    return task;
}

NOINLINE word fib(word n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

NOINLINE void firmware_call(word number, word value)
{
    register word a0 __asm__("a0") = value;
    register word a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
}

NOINLINE void set_timer(void)
{
    word now;
    __asm__ volatile("rdtime %0" : "=r"(now));
    firmware_call(0, now + SLICE);
}

NOINLINE struct task *pick_next(void)
{
    word at = (word)(current() - tasks);
    for (word i = 1; i <= TASKS; i++) {
        struct task *task = &tasks[(at + i) % TASKS];
        if (task != tasks && !task->is_over)
            return task;
    }
    return tasks; /* all tasks have ended: the boot code continues */
}

NOINLINE void schedule(void)
{
    struct task *from = current(), *to = pick_next();
    if (from == to)
        return;
    switches++;
    __switch_to(from, to);
    work += fib(2);
}

NOINLINE void task_begins(void)
{
    work++;
}

NOINLINE void task_ends(void)
{
    current()->is_over = 1;
    schedule();
}

/* The function of the kernel task. */
NOINLINE void housekeeping(void)
{
    __asm__ volatile("csrsi sstatus, 2");
    for (int i = 0; i < 6; i++) {
        work += fib(7);
        schedule();
    }
    __asm__ volatile("csrci sstatus, 2");
}

/* a7: 1 computes, 2 yields, other values end the task. */
NOINLINE void on_system_call(word *saved)
{
    saved[0] += 4;
    calls++;
    if (saved[17] == 1)
        saved[10] = fib(saved[10] & 7);
    else if (saved[17] == 2)
        schedule();
    else
        task_ends();
}

NOINLINE void on_timer(void)
{
    set_timer();
    schedule();
}

void on_trap(word cause, word *saved)
{
    if (cause >> 63)
        on_timer();
    else
        on_system_call(saved);
}

NOINLINE void make_task(struct task *task, char *stack, void (*of_kernel)(void),
                        word entry)
{
    word *frame = (word *)(stack + STACK) - FRAME;
    frame[0] = entry;
    frame[4] = (word)task;
    frame[32] = 0x20; /* SPIE, to user mode */
    task->ra = (word)ret_from_fork;
    task->sp = (word)frame;
    task->s[0] = (word)of_kernel;
}

int kernel_main(void)
{
    make_task(&tasks[1], stack_of_task_1, (void (*)(void))0, 0x80400000);
    make_task(&tasks[2], stack_of_task_2, (void (*)(void))0, 0x80500000);
    make_task(&tasks[3], stack_of_task_3, housekeeping, 0);
    __asm__ volatile("csrs sie, %0" : : "r"(0x20));
    set_timer();
    schedule();
    firmware_call(1, 0);
    return 0;
}
