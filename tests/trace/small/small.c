/* The program of the traces in tests/man: bare metal, with an ecall that a handler passes
 * over, recursion, a tail call and an inlined one.
 *
 *   riscv64-linux-gnu-gcc -O2 -g -ffreestanding -nostdlib -static -fno-pic -march=rv64gc
 *     -mcmodel=medany -Wl,--build-id=none,-T,small.ld -o small-bin-dwarf small.c
 *   qemu-system-riscv64 -M virt -nographic -bios none -kernel small-bin-dwarf
 *     -plugin libstoke_qemu.so,out=small.qemu
 *
 * TRACEFILE-C0 has the addresses of small.qemu, one a cycle. */
#define NOINLINE __attribute__((noinline, noclone))

volatile long work;

__asm__(".section .text.first, \"ax\"\n"
        ".globl _start\n"
        ".type _start, @function\n"
        "_start: la sp, stack + 4096\n"
        "  la t0, trap_entry\n"
        "  csrw mtvec, t0\n"
        "  call main\n"
        "  li t0, 0x100000\n"
        "  li t1, 0x5555\n"
        "  sw t1, (t0)\n"
        "1: j 1b\n"
        ".size _start, . - _start\n"
        ".text\n"
        ".globl trap_entry\n"
        ".type trap_entry, @function\n"
        ".align 2\n"
        "trap_entry: addi sp, sp, -16\n"
        "  sd ra, 0(sp)\n"
        "  call on_trap\n"
        "  csrr t0, mepc\n"
        "  addi t0, t0, 4\n"
        "  csrw mepc, t0\n"
        "  ld ra, 0(sp)\n"
        "  addi sp, sp, 16\n"
        "  mret\n"
        ".size trap_entry, . - trap_entry\n");

char stack[4096] __attribute__((aligned(16)));

NOINLINE void on_trap(void)
{
    work++;
}

static inline void count(long times)
{
    for (long i = 0; i < times; i++)
        work += i;
}

NOINLINE long fib(long n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

NOINLINE void last(long n)
{
    count(n);
}

NOINLINE void first(long n)
{
    work = n;
    last(n + 1);
}

int main(void)
{
    work = fib(4);
    first(3);
    __asm__ volatile("ecall" : : : "t0", "memory");
    count(4);
    return 0;
}
