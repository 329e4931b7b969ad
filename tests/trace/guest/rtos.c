/* The kernel of rtos.S, and its tasks: two of them are of one function. */
typedef unsigned long word;

#define KEPT __attribute__((noinline, noclone))
#define MTIME (*(volatile word *)0x200bff8)
#define MTIMECMP (*(volatile word *)0x2004000)

enum { TASKS = 4, SIZE = 8192, SLICE = 13, TICKS = 60, REGISTERS = 34 };
enum { PC = 0, SP = 2, A0 = 10 };

char stack_main[16384] __attribute__((aligned(16)));
char stack_of_a[SIZE] __attribute__((aligned(16)));
char stack_of_b[SIZE] __attribute__((aligned(16)));
char stack_of_c[SIZE] __attribute__((aligned(16)));
char stack_of_d[SIZE] __attribute__((aligned(16)));

struct task {
    union {
        word *pointer; /* to the registers on its stack */
        word registers[REGISTERS];
    };
};

static struct task tasks[TASKS];
struct task *current = tasks;
volatile word work, ticks;
static word chosen;

void leave(void);
void start_first(word *registers);

KEPT word fib(word n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

KEPT void yield(void)
{
    __asm__ volatile("ecall" : : : "memory");
}

/* --- Tasks ------------------------------------------------------------------------- */

KEPT void count(word n)
{
    while (n-- > 0)
        work += n & 1 ? n : 1;
}

KEPT void descend(word n)
{
    count(n);
    if (n == 0)
        yield();
    else
        descend(n - 1);
    work++;
}

KEPT void compute(word n)
{
    for (;;) {
        work += fib(n & 7);
        count(n);
    }
}

KEPT void wander(word n)
{
    for (;;) {
        descend(n & 3);
        n++;
    }
}

KEPT void spin(word n)
{
    (void)n;
    for (;;)
        work += 3;
}

/* --- The kernel -------------------------------------------------------------------- */

KEPT void set_timer(void)
{
    MTIMECMP = MTIME + SLICE;
}

KEPT void schedule(void)
{
    chosen = (chosen + 1 + (ticks & 1)) % TASKS;
    current = &tasks[chosen];
    work += fib(3);
}

KEPT int handle(word cause)
{
    if (cause >> 63) {
        if (++ticks == TICKS)
            leave();
        set_timer();
        if (ticks % 5 == 0)
            return 0; /* the same one goes on */
    }
    schedule();
    return !(cause >> 63);
}

/* An ecall's task goes on behind it. */
static void pass_over(word *registers, word cause)
{
    if (!(cause >> 63))
        registers[PC] += 4;
}

#if WAY == 1
KEPT void on_trap(word cause)
{
    pass_over(current->pointer, cause);
    handle(cause);
}
#elif WAY == 2
KEPT word *on_trap_at(word *registers, word cause)
{
    pass_over(registers, cause);
    current->pointer = registers;
    handle(cause);
    return current->pointer;
}
#elif WAY == 3
KEPT void on_trap(word cause)
{
    pass_over(current->registers, cause);
    handle(cause);
}
#else
KEPT void copy(word *to, const word *from)
{
    for (int i = 0; i < REGISTERS; i++)
        to[i] = from[i];
}

KEPT void on_trap_copies(word *registers, word cause)
{
    pass_over(registers, cause);
    copy(current->registers, registers);
    handle(cause);
    copy(registers, current->registers);
}

KEPT void take_first(word *registers)
{
    copy(registers, current->registers);
}
#endif

/* --- The beginning ----------------------------------------------------------------- */

static void make_task(int number, char *stack, void (*run)(word), word n)
{
    word *registers = tasks[number].registers;
    word top = (word)stack + SIZE;
    if (WAY == 1 || WAY == 2) {
        registers = (word *)(top - 272);
        tasks[number].pointer = registers;
    }
    registers[PC] = (word)run;
    registers[SP] = top;
    registers[A0] = n;
}

int main(void)
{
    make_task(0, stack_of_a, compute, 6);
    make_task(1, stack_of_b, wander, 2);
    make_task(2, stack_of_c, spin, 0);
    make_task(3, stack_of_d, wander, 3);
    __asm__ volatile("csrw mie, %0" : : "r"(0x80));       /* the timer */
    __asm__ volatile("csrs mstatus, %0" : : "r"(0x1880)); /* mret to machine mode, on */
    set_timer();
    start_first(tasks[0].pointer);
    return 0;
}
