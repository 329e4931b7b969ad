/* The kernel of rtos.S, and its tasks: two of them run the same function. */
typedef unsigned long word;

#define NOINLINE __attribute__((noinline, noclone))
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

NOINLINE word fib(word n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

NOINLINE void yield(void)
{
    __asm__ volatile("ecall" : : : "memory");
}

/* --- Tasks ------------------------------------------------------------------------- */

NOINLINE void count(word n)
{
    while (n-- > 0)
        work += n & 1 ? n : 1;
}

NOINLINE void descend(word n)
{
    count(n);
    if (n == 0)
        yield();
    else
        descend(n - 1);
    work++;
}

NOINLINE void compute(word n)
{
    for (;;) {
        work += fib(n & 7);
        count(n);
    }
}

NOINLINE void wander(word n)
{
    for (;;) {
        descend(n & 3);
        n++;
    }
}

NOINLINE void spin(word n)
{
    (void)n;
    for (;;)
        work += 3;
}

/* --- The kernel -------------------------------------------------------------------- */

NOINLINE void set_timer(void)
{
    MTIMECMP = MTIME + SLICE;
}

NOINLINE void schedule(void)
{
    chosen = (chosen + 1 + (ticks & 1)) % TASKS;
    current = &tasks[chosen];
    work += fib(3);
}

NOINLINE int handle(word cause)
{
    if (cause >> 63) {
        if (++ticks == TICKS)
            leave();
        set_timer();
        if (ticks % 5 == 0)
            return 0; /* the same task continues */
    }
    schedule();
    return !(cause >> 63);
}

/* A task continues after its ecall. */
static void pass_over(word *registers, word cause)
{
    if (!(cause >> 63))
        registers[PC] += 4;
}

#if WAY == 1
NOINLINE void on_trap(word cause)
{
    pass_over(current->pointer, cause);
    handle(cause);
}
#elif WAY == 2
NOINLINE word *on_trap_at(word *registers, word cause)
{
    pass_over(registers, cause);
    current->pointer = registers;
    handle(cause);
    return current->pointer;
}
#elif WAY == 3
NOINLINE void on_trap(word cause)
{
    pass_over(current->registers, cause);
    handle(cause);
}
#else
NOINLINE void copy(word *to, const word *from)
{
    for (int i = 0; i < REGISTERS; i++)
        to[i] = from[i];
}

NOINLINE void on_trap_copies(word *registers, word cause)
{
    pass_over(registers, cause);
    copy(current->registers, registers);
    handle(cause);
    copy(registers, current->registers);
}

NOINLINE void take_first(word *registers)
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
    __asm__ volatile("csrw mie, %0" : : "r"(0x80)); /* the timer */
    __asm__ volatile("csrs mstatus, %0"
                     :
                     : "r"(0x1880)); /* mret to machine mode, with interrupts */
    set_timer();
    start_first(tasks[0].pointer);
    return 0;
}
