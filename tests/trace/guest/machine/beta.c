/* A user program: tail calls and a loop that only the timer interrupts. */
typedef unsigned long word;
word call_kernel(word value, word number);

static volatile word work;

__attribute__((noinline, noclone)) word beta_spin(word n)
{
    for (word i = 0; i < n; i++)
        work += i;
    return work;
}

__attribute__((noinline, noclone)) word beta_tail(word n)
{
    work++;
    return beta_spin(n * 10);
}

int main(void)
{
    for (word i = 0; i < 40; i++) {
        beta_tail(i);
        if (i % 8 == 0)
            call_kernel(i, 1);
    }
    return 0;
}
