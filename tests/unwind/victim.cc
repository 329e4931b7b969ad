// The process that tests/unwind.py records: runs each kind of code that is hard to unwind
// for a while. victim MILLISECONDS
#include <alloca.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

#define APART __attribute__((noinline))

static volatile unsigned long sink;
static double limit;

static APART double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* in the vDSO */
    return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

/* A leaf without a frame. */
static APART unsigned long leaf(unsigned long n)
{
    for (int i = 0; i < 50; i++)
        n = n * 6364136223846793005u + 1442695040888963407u;
    return n;
}

static APART unsigned long deep(unsigned depth)
{
    if (depth == 0)
        return leaf(sink);
    return deep(depth - 1) * 3 + depth;
}

/* Frames whose size is known at run time only. */
static APART unsigned long with_alloca(unsigned size)
{
    auto *bytes = static_cast<unsigned char *>(alloca(size));
    memset(bytes, int(size), size);
    return leaf(bytes[size / 2]) + deep(3);
}

/* A realigned stack. */
static APART unsigned long aligned(unsigned n)
{
    alignas(64) volatile unsigned char bytes[256];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = static_cast<unsigned char>(n + i);
    return leaf(bytes[n % 256]) + with_alloca(100 + n % 100);
}

static int compare(const void *a, const void *b)
{
    int x = *static_cast<const int *>(a), y = *static_cast<const int *>(b);
    sink = leaf(static_cast<unsigned long>(x));
    return (x > y) - (x < y);
}

/* A callback from a library, through PLT stubs. */
static APART void sort()
{
    int numbers[64];
    for (int &number : numbers)
        number = rand();
    qsort(numbers, 64, sizeof *numbers, compare);
}

struct guard {
    ~guard() { sink = leaf(sink); }
};

static APART void thrower(unsigned depth)
{
    guard g;
    if (depth == 0)
        throw std::runtime_error("bottom");
    thrower(depth - 1);
    sink = sink + 1;
}

static APART void catcher()
{
    try {
        thrower(10);
    } catch (const std::exception &e) {
        sink = leaf(strlen(e.what()));
    }
}

static void on_signal(int)
{
    for (int i = 0; i < 20; i++)
        sink = leaf(sink) + deep(5);
}

static APART void signalled()
{
    raise(SIGUSR1);
    sink = leaf(sink);
}

static APART void strings()
{
    std::map<std::string, int> words;
    for (int i = 0; i < 30; i++)
        words["word number " + std::to_string(i % 17)] += i;
    sink = leaf(words.size());
}

/* Many small prologues and epilogues. */
static APART unsigned long many(unsigned n)
{
    return n < 2 ? n : many(n - 1) + many(n - 2);
}

static APART void work()
{
    double start = now();
    while (now() - start < limit) {
        sink = deep(200) + with_alloca(1000) + aligned(77) + many(12);
        sort();
        catcher();
        signalled();
        strings();
        for (int i = 0; i < 200; i++)
            sink = static_cast<unsigned long>(now());
    }
}

int main(int argc, char **argv)
{
    limit = argc > 1 ? atof(argv[1]) : 1000;
    signal(SIGUSR1, on_signal);
    std::thread other(work);
    work();
    other.join();
}
