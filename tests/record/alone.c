/* A program without libraries, with frame pointers, and with a stack of a hundred
 * calls and a hundred kilobytes. tests/record/record.py checks that stacks by frame
 * pointers are complete even if no dump is large enough. */
static volatile unsigned long sink;

__attribute__((noinline)) void spin(long steps)
{
    unsigned long x = sink;
    for (long i = 0; i < steps; i++)
        x = x * 6364136223846793005UL + 1442695040888963407UL;
    sink = x;
}

__attribute__((noinline)) void work(long rounds)
{
    for (long i = 0; i < rounds; i++)
        spin(20000);
    sink++;
}

__attribute__((noinline)) void down(long left)
{
    volatile char room[1024];
    room[left] = 1;
    if (left)
        down(left - 1);
    else
        work(20000);
    sink += (unsigned long)room[left];
}

void _start(void)
{
    down(99);
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(60), "D"(0));
#elif defined(__aarch64__)
    register long number __asm__("x8") = 93;
    register long status __asm__("x0") = 0;
    __asm__ volatile("svc 0" : : "r"(number), "r"(status));
#endif
    __builtin_unreachable();
}
