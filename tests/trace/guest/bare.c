/* A bare-metal program with known stacks: ecalls, faults in the middle of a block
 * whose instruction is skipped or repeated, traps in the trap handler, and timer
 * interrupts. */
typedef unsigned long word;

#define NOINLINE __attribute__((noinline, noclone))
#define MTIME (*(volatile word *)0x200bff8)
#define MTIMECMP (*(volatile word *)0x2004000)

enum {
    EPC = 16 /* its index among the words that trap_entry saves */
};

char stack_main[16384] __attribute__((aligned(16)));
volatile word work, ticks;
static volatile word good = 1;

NOINLINE word fib(word n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

NOINLINE void set_timer(word delay)
{
    MTIMECMP = delay ? MTIME + delay : ~0UL;
}

NOINLINE void on_timer(void)
{
    ticks++;
    set_timer(ticks < 3 ? 200 : 0);
    work += fib(4);
}

NOINLINE word call_machine(word what)
{
    register word a0 __asm__("a0") = what;
    __asm__ volatile("ecall" : "+r"(a0) : : "memory");
    return a0 + fib(2);
}

NOINLINE void on_call(word *saved)
{
    saved[EPC] += 4;
    saved[4] += fib(3);
    if (saved[4] > 100) /* a trap in the trap handler */
        saved[4] = call_machine(saved[4] - 100);
}

/* The address of the fault is in a5, in both functions below. */
NOINLINE void on_load_fault(word *saved)
{
    if (saved[9] == 8) {
        saved[9] = (word)&good; /* and a second time */
        return;
    }
    saved[EPC] += 4;
    work += fib(2);
}

void on_trap(word cause, word *saved)
{
    if (cause >> 63)
        on_timer();
    else if (cause == 11)
        on_call(saved);
    else
        on_load_fault(saved);
}

/* A load of 4 bytes, with arithmetic before and after it: all in one block. */
NOINLINE word load(word address)
{
    register word a5 __asm__("a5") = address;
    word got = 7;
    __asm__ volatile(".option push\n.option norvc\n"
                     "addi %1, %1, 1\n"
                     "ld %1, (%0)\n"
                     "addi %1, %1, 2\n"
                     ".option pop"
                     : "+r"(a5), "+r"(got)
                     :
                     : "memory");
    return got + fib(3);
}

NOINLINE word tail(word n)
{
    work += n;
    return n ? tail(n - 1) : load((word)&good);
}

int main(void)
{
    call_machine(1);
    call_machine(200);
    load(8);
    load(16);
    tail(3);
    set_timer(300);
    __asm__ volatile("csrw mie, %0; csrsi mstatus, 8" : : "r"(0x80));
    while (ticks < 3)
        work += fib(3);
    return 0;
}
