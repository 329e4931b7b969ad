/* A user program on the kernel that the tests boot: reads numbers and adds them. */
#include <stdio.h>

__attribute__((noinline)) static long beta_digits(long n)
{
    long digits = 0;
    for (; n; n /= 10)
        digits += n % 10;
    return digits;
}

__attribute__((noinline)) static long beta_add(long sum, long n)
{
    for (long i = 0; i < 2000; i++)
        sum += beta_digits(n + i);
    return sum;
}

int main(void)
{
    long sum = 0, n;
    while (scanf("%ld", &n) == 1)
        sum = beta_add(sum, n);
    printf("beta: %ld\n", sum);
    return sum == 0;
}
