/* A program without a library, for 32-bit and 64-bit machines. */
static long call(long number, long a, long b, long c)
{
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
    return a0;
}

__attribute__((noinline)) int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) int loop(int n)
{
    volatile int sum = 0;
    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}

__attribute__((noinline)) int tail(int n)
{
    return loop(n);
}

__attribute__((noinline)) int apply(int (*f)(int), int n)
{
    return f(n) + 1;
}

__attribute__((noinline)) int run(void)
{
    return fib(10) + loop(100) + tail(50) + apply(tail, 20);
}

void begin(void)
{
    run();
    call(93, 0, 0, 0);
    for (;;)
        ;
}

__attribute__((naked)) void _start(void)
{
    __asm__ volatile(
        ".option push; .option norelax; la gp, __global_pointer$; .option pop\n"
        "call begin");
}
