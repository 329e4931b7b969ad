// What the recordings of tests/perf_data_truth.py run: inlined functions and templates,
// calls back through the C library, recursion, threads, a plug-in, a signal's handler, a
// process that is forked and one that is executed.
//
// program MILLISECONDS [PLUGIN]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>
#ifndef WITHOUT_PLUGIN
#include <dlfcn.h>
#endif
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

using Clock = std::chrono::steady_clock;

static volatile uint64_t sink;

namespace shapes {

template <typename T> static inline T mix(T a, T b)
{
    for (int i = 0; i < 40; i++)
        a = (a ^ (b >> 3)) * T(0x9e3779b97f4a7c15u) + (a << 7);
    return a;
}

struct Point {
    uint32_t x, y;
    inline bool operator<(const Point &o) const { return distance() < o.distance(); }
    inline uint64_t distance() const { return uint64_t(x) * x + uint64_t(y) * y; }
};

class Shape {
public:
    virtual ~Shape() = default;
    virtual uint64_t area(uint64_t seed) const = 0;
};

class Circle : public Shape {
public:
    NOINLINE uint64_t area(uint64_t seed) const override { return mix<uint64_t>(seed, 3); }
};

class Polygon : public Shape {
public:
    NOINLINE uint64_t area(uint64_t seed) const override
    {
        std::vector<Point> points(64);
        for (auto &p : points) {
            seed = mix<uint64_t>(seed, 5);
            p = {uint32_t(seed), uint32_t(seed >> 32)};
        }
        std::sort(points.begin(), points.end());
        return points[points.size() / 2].distance();
    }
};

} // namespace shapes

static NOINLINE uint64_t descend(unsigned depth, uint64_t seed)
{
    if (depth == 0)
        return shapes::mix<uint64_t>(seed, 11);
    uint64_t below = descend(depth - 1, seed + depth);
    return below ^ shapes::mix<uint32_t>(uint32_t(below), 7);
}

extern "C" int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static NOINLINE uint64_t sort_numbers(uint64_t seed)
{
    uint64_t numbers[400];
    for (auto &n : numbers)
        n = seed = shapes::mix<uint64_t>(seed, 13);
    qsort(numbers, 400, sizeof numbers[0], compare_numbers);
    return numbers[200];
}

static NOINLINE uint64_t count_words(uint64_t seed)
{
    std::map<std::string, int> counts;
    for (int i = 0; i < 60; i++)
        counts["a word with the number " + std::to_string((seed + i) % 97)]++;
    return counts.size();
}

// Calls a function that never comes back: the return address is after the end.
[[noreturn]] static NOINLINE void leave_by_exception(uint64_t seed)
{
    throw seed;
}

static NOINLINE uint64_t catch_one(uint64_t seed)
{
    try {
        leave_by_exception(seed);
    } catch (uint64_t value) {
        return value;
    }
}

static NOINLINE void touch_pages()
{
    size_t size = 1 << 20;
    char *pages = (char *)mmap(nullptr, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return;
    for (size_t i = 0; i < size; i += 4096)
        pages[i] = 1;
    munmap(pages, size);
}

static NOINLINE void on_timer(int)
{
    sink = sink + descend(3, sink);
}

static NOINLINE void work(int milliseconds, uint64_t (*plugin)(uint64_t))
{
    shapes::Circle circle;
    shapes::Polygon polygon;
    const shapes::Shape *kinds[] = {&circle, &polygon};
    auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
    for (uint64_t round = 0; Clock::now() < end; round++) {
        for (int i = 0; i < 6; i++)
            sink = sink + kinds[(round + i) % 2]->area(round);
        sink = sink + descend(20, round) + sort_numbers(round) + count_words(round);
        sink = sink + catch_one(round) + (plugin ? plugin(round) : 0);
        if (round % 16 == 0)
            touch_pages();
        if (round % 64 == 0)
            usleep(200);
    }
}

static NOINLINE void run_threads(int milliseconds, uint64_t (*plugin)(uint64_t))
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([=] {
            char name[16];
            snprintf(name, sizeof name, "worker %d", i);
            prctl(PR_SET_NAME, name);
            work(milliseconds, plugin);
        });
    for (auto &t : threads)
        t.join();
}

static uint64_t (*load_plugin(const char *path))(uint64_t)
{
#ifdef WITHOUT_PLUGIN
    (void)path;
    return nullptr;
#else
    void *handle = path ? dlopen(path, RTLD_NOW) : nullptr;
    return handle ? (uint64_t(*)(uint64_t))dlsym(handle, "plugin_work") : nullptr;
#endif
}

static void run_children(char **argv, int milliseconds, uint64_t (*plugin)(uint64_t))
{
    char part[16];
    snprintf(part, sizeof part, "%d", milliseconds);
    pid_t forked = fork();
    if (forked == 0) {
        work(milliseconds, plugin);
        _exit(0);
    }
    waitpid(forked, nullptr, 0);
    pid_t executed = fork();
    if (executed == 0) {
        execl(argv[0], "another name", part, "-", (char *)nullptr);
        _exit(1);
    }
    waitpid(executed, nullptr, 0);
}

int main(int argc, char **argv)
{
    int milliseconds = argc > 1 ? atoi(argv[1]) : 100;
    bool is_child = argc > 2 && strcmp(argv[2], "-") == 0;
    auto plugin = load_plugin(argc > 2 && !is_child ? argv[2] : nullptr);
    struct sigaction action = {};
    action.sa_handler = on_timer;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    struct itimerval timer = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &timer, nullptr);
    work(milliseconds / 2, plugin);
    timer = {};
    setitimer(ITIMER_REAL, &timer, nullptr);
    if (is_child)
        return 0;
    run_threads(milliseconds / 4, plugin);
    run_children(argv, milliseconds / 4, plugin);
}
