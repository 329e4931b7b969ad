/* Plain C: static inline functions of a header, a nested function if the compiler
 * supports it, code with a #line of another file, functions in separate sections. */
#include "two.h"
#include <stdlib.h>
#include <string.h>

int two_main(int n);

__attribute__((noinline)) static int apply(int (*f)(int), int n)
{
    return f(n) + f(n + 1);
}

#if defined(__GNUC__) && !defined(__clang__)
static int nested(int n)
{
    int inner(int m)
    {
        return clamp(m * n, 3, 300) + n;
    }
    return apply(inner, n);
}
#else
static int nested(int n)
{
    return clamp(n, 1, 4);
}
#endif

__attribute__((section(".text.elsewhere"), noinline)) static int elsewhere(int n)
{
    return clamp(n, -100, 100) + average(n, 7);
}

__attribute__((cold, noinline)) static void fail(const char *what)
{
    if (strlen(what) > 3)
        abort();
}

int dropped_one(int n)
{
    return clamp(n, 0, 5) + (int)strlen("dropped");
}

int dropped_two(int n)
{
    return dropped_one(n) * average(n, n + 1);
}

int two_main(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (i > 100000)
            fail("too many");
#line 7 "generated/table.y"
        sum += nested(i) ^ clamp(sum, i, i + 9);
    }
    return sum + elsewhere(n) + apply(abs, sum);
}
