// A user program whose stacks are known: C++ exceptions through frames with and without
// destructors, out of recursion, thrown again, nested, and caught by a base class.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

volatile long work;

NOINLINE long fib(long n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

struct Guard {
    long n;
    NOINLINE explicit Guard(long value) : n(value)
    {
        work += n;
    }
    NOINLINE ~Guard()
    {
        work -= fib(n & 3);
    }
};

NOINLINE void thrower(long n)
{
    Guard guard(n);
    if (n == 0)
        throw std::runtime_error("down there");
    thrower(n - 1);
    work++;
}

NOINLINE long catches(long n)
{
    try {
        Guard guard(2);
        thrower(n);
    } catch (const std::exception &problem) {
        return fib(4) + problem.what()[0];
    }
    return 0;
}

NOINLINE long throws_again(long n)
{
    try {
        thrower(n);
    } catch (const std::runtime_error &) {
        work += fib(3);
        throw;
    }
    return 1;
}

NOINLINE long catches_in_recursion(long n)
{
    Guard guard(n);
    if (n == 0)
        throw 42;
    try {
        return catches_in_recursion(n - 1) + 1;
    } catch (int value) {
        if (n < 3)
            throw value + 1;
        return value + fib(3);
    }
}

NOINLINE long nested()
{
    try {
        try {
            throw std::string("inner");
        } catch (const std::string &text) {
            work += (long)text.size();
            throw std::out_of_range("outer");
        }
    } catch (const std::logic_error &) {
        return fib(5);
    }
}

struct Shape {
    virtual ~Shape() = default;
    virtual long area(long n) const = 0;
};

struct Square : Shape {
    NOINLINE long area(long n) const override
    {
        return n * n + fib(2);
    }
};

struct Broken : Shape {
    NOINLINE long area(long n) const override
    {
        std::vector<long> few(3);
        return few.at((std::size_t)n + 3);
    }
};

NOINLINE long shapes(const Shape &shape)
{
    try {
        return shape.area(3);
    } catch (const std::exception &) {
        return -1;
    }
}

int main()
{
    long sum = catches(5) + nested() + catches_in_recursion(6);
    for (int i = 0; i < 2; i++) {
        try {
            sum += throws_again(i + 2);
        } catch (const std::exception &) {
            sum += fib(2);
        }
    }
    sum += shapes(Square()) + shapes(Broken());
    std::printf("exceptions %ld\n", sum);
    return 0;
}
