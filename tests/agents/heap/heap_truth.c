/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose allocations are known: heap_truth.py compares them with a recording.
 * The argument selects the case. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

/* Prevents that the compiler removes allocations, and tail calls. */
static void *volatile sink;

static NOINLINE void *leak(size_t size)
{
    sink = malloc(size);
    return sink;
}

static NOINLINE void leaks(void)
{
    for (int i = 0; i < 7; i++)
        leak(1000);
    sink = NULL;
}

static NOINLINE void peak(void)
{
    void *blocks[100];
    for (int i = 0; i < 100; i++)
        blocks[i] = malloc(10000);
    for (int i = 0; i < 100; i++)
        free(blocks[i]);
    sink = NULL;
}

static NOINLINE void temporary(void)
{
    for (int i = 0; i < 50; i++) {
        sink = malloc(16);
        free(sink);
    }
    sink = NULL;
}

/* 10 + 100 + ... + 1000 bytes; a failed realloc changes nothing. */
static NOINLINE void chain(void)
{
    char *block = malloc(10);
    for (size_t i = 1; i <= 10; i++)
        block = realloc(block, 100 * i);
    volatile size_t much = SIZE_MAX / 2;
    if (realloc(block, much) || errno != ENOMEM)
        abort();
    sink = block;
}

static NOINLINE void aligned(void)
{
    void *block = NULL;
    if (posix_memalign(&block, 64, 301))
        abort();
    sink = aligned_alloc(64, 640);
    sink = memalign(64, 302);
    sink = valloc(303);
    sink = calloc(10, 30);
    sink = reallocarray(NULL, 10, 31);
    errno = 77;
    free(block);
    if (errno != 77)
        abort();
}

static NOINLINE void *produce(void *out)
{
    for (int i = 0; i < 100; i++)
        ((void **)out)[i] = malloc(100);
    sink = NULL;
    return NULL;
}

/* A thread allocates, another one frees half of it. */
static NOINLINE void across(void)
{
    void *blocks[100];
    pthread_t thread;
    pthread_create(&thread, NULL, produce, blocks);
    pthread_join(thread, NULL);
    for (int i = 0; i < 50; i++)
        free(blocks[i]);
}

#define GIVEN 200

/* The blocks of `later`, and its two threads where they pass them on. */
struct given {
    void *blocks[GIVEN];
    pthread_barrier_t barrier;
};

static NOINLINE void give(void **blocks)
{
    for (int i = 0; i < GIVEN; i++)
        blocks[i] = malloc(40);
    sink = NULL;
}

static NOINLINE void give_again(void **blocks)
{
    for (int i = 0; i < GIVEN; i++)
        blocks[i] = malloc(41);
    sink = NULL;
}

/* Frees blocks, and allocates others at the same addresses. */
static NOINLINE void *take(void *memory)
{
    struct given *g = memory;
    for (int i = 0; i < GIVEN; i++)
        free(g->blocks[i]);
    give_again(g->blocks);
    pthread_barrier_wait(&g->barrier);
    pthread_barrier_wait(&g->barrier);
    return NULL;
}

/* The process has one thread, then two, and one again: each frees at once what the other
 * one has just allocated. 5 blocks of each round remain. */
static NOINLINE void later(void)
{
    struct given g;
    pthread_t thread;
    pthread_barrier_init(&g.barrier, NULL, 2);
    for (int round = 0; round < 20; round++) {
        give(g.blocks);
        pthread_create(&thread, NULL, take, &g);
        pthread_barrier_wait(&g.barrier);
        for (int i = 0; i < GIVEN / 2; i++)
            free(g.blocks[i]);
        pthread_barrier_wait(&g.barrier);
        pthread_join(thread, NULL);
        for (int i = GIVEN / 2; i < GIVEN - 5; i++)
            free(g.blocks[i]);
    }
}

static NOINLINE void *storm(void *rounds)
{
    for (size_t i = 0; i < (size_t)rounds; i++) {
        void *block = malloc(1 + i % 100);
        sink = block;
        free(block);
    }
    leak(5);
    sink = NULL;
    return NULL;
}

static NOINLINE void threads(void)
{
    pthread_t ids[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, storm, (void *)10000);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
}

/* More threads than there are lanes, one after the other. */
static NOINLINE void *one_leak(void *unused)
{
    leak(3);
    return unused;
}

static NOINLINE void many_threads(void)
{
    for (int i = 0; i < 600; i++) {
        pthread_t id;
        pthread_create(&id, NULL, one_leak, NULL);
        pthread_join(id, NULL);
    }
}

static NOINLINE void in_child(void *inherited)
{
    free(inherited);
    leak(111);
    sink = NULL;
}

static NOINLINE void forks(char *program)
{
    void *block = leak(5000);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            in_child(block);
            if (i == 2)
                execl(program, program, "leaks", (char *)NULL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

static NOINLINE void recurse(int depth)
{
    if (depth)
        recurse(depth - 1);
    else
        leak(999);
    sink = NULL;
}

/* Each round loads a library, mostly to the address of the one before. */
static NOINLINE void *call_loaded(void *(*allocate)(size_t size), size_t size)
{
    void *block = allocate(size);
    sink = block;
    return block;
}

static void loads(char **libraries, int count)
{
    for (int i = 0; i < 60; i++) {
        void *(*allocate)(size_t size);
        void *library = dlopen(libraries[i % count], RTLD_NOW);
        void *found = library ? dlsym(library, "loaded") : NULL;
        if (!found)
            abort();
        memcpy(&allocate, &found, sizeof allocate);
        for (int call = 0; call < 100; call++)
            free(call_loaded(allocate, 100));
        call_loaded(allocate, 7);
        dlclose(library);
    }
    sink = NULL;
}

/* Threads allocate while libraries are loaded and unloaded. Released memory is overwritten,
 * that of the dynamic linker, too: whoever follows a pointer in it is ended by SIGSEGV. */
static volatile int unloads_end;

static NOINLINE void *allocate_beside(void *unused)
{
    while (!unloads_end) {
        void *volatile block = malloc(100);
        free(block);
    }
    return unused;
}

static void unloads(char **libraries, int count)
{
    pthread_t ids[2];
    mallopt(M_PERTURB, 0x5a);
    for (int i = 0; i < 2; i++)
        pthread_create(&ids[i], NULL, allocate_beside, NULL);
    for (int i = 0; i < 300; i++) {
        void *library = dlopen(libraries[i % count], RTLD_NOW);
        leak(10);
        if (!library || dlclose(library))
            abort();
        leak(10);
    }
    unloads_end = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(ids[i], NULL);
    sink = NULL;
}

/* Recursion with large frames, deeper than any limit. */
static NOINLINE void deep(int depth)
{
    volatile char frame[100];
    frame[depth % 100] = 1;
    if (depth)
        deep(depth - frame[depth % 100]);
    else
        for (int i = 0; i < 20; i++)
            leak(999);
    sink = NULL;
}

static void deeper(void)
{
    deep(10000);
}

/* A signal interrupts functions at any instruction: in prologues, too, and in malloc. Its
 * handler does not allocate inside of malloc. */
static volatile sig_atomic_t ticks, is_allocating;

static void on_tick(int number)
{
    (void)number;
    if (!is_allocating) {
        leak(30);
        ticks = ticks + 1;
    }
    sink = NULL;
}

static NOINLINE int work(int depth)
{
    volatile char frame[64];
    frame[depth] = (char)depth;
    int sum = depth ? work(depth - 1) + frame[depth] : 0;
    if (depth == 5) {
        is_allocating = 1;
        leak(1);
        is_allocating = 0;
    }
    sink = NULL;
    return sum;
}

static NOINLINE void prologues(void)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_tick};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (ticks < 500)
        work(10);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d\n", (int)ticks);
}

/* The child has the parent's memory: its blocks are the parent's. */
static NOINLINE void vforks(char *program)
{
    for (int i = 0; i < 20; i++) {
        pid_t child = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
        if (child == 0) {
            execl(program, program, "leaks", (char *)NULL);
            _exit(1);
        }
        waitpid(child, NULL, 0);
        leak(10);
    }
    sink = NULL;
}

/* 200 threads at the same time. */
static pthread_barrier_t all_run;

static NOINLINE void *run_beside(void *unused)
{
    pthread_barrier_wait(&all_run);
    storm((void *)200);
    return unused;
}

static void crowd(void)
{
    pthread_t ids[200];
    pthread_barrier_init(&all_run, NULL, 200);
    for (int i = 0; i < 200; i++)
        if (pthread_create(&ids[i], NULL, run_beside, NULL))
            abort();
    for (int i = 0; i < 200; i++)
        pthread_join(ids[i], NULL);
}

static void on_signal(int number)
{
    (void)number;
    leak(50);
    sink = NULL;
}

static NOINLINE void signals(void)
{
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 20; i++)
        raise(SIGUSR1);
    sink = NULL;
}

__attribute__((constructor)) static void construct(void)
{
    leak(17);
    sink = NULL;
}

static NOINLINE void small(void)
{
    for (int i = 0; i < 100000; i++) {
        sink = malloc(64);
        if (i % 2)
            free(sink);
    }
    sink = NULL;
}

static NOINLINE void large(void)
{
    for (int i = 0; i < 2000; i++) {
        sink = malloc(8000);
        free(sink);
    }
    sink = NULL;
}

static NOINLINE void sizes(void)
{
    small();
    large();
    sink = NULL;
}

/* All descriptors are closed before the first thread is followed. */
static NOINLINE void closes(void)
{
    for (int i = 0; i < 1024; i++)
        close(i);
    threads();
}

/* Waits until another process has created the file. */
static NOINLINE void waits(void)
{
    while (access("go", F_OK) != 0) {
        sink = malloc(100000);
        free(sink);
        usleep(1000);
    }
    for (int i = 0; i < 100000; i++)
        leak(10);
    sink = NULL;
}

/* Prints a time at which 3,000 bytes are live, and one at which 1,000 are. The pauses are
 * longer than the resolution of the recording. */
static NOINLINE void print_time(void)
{
    struct timespec now;
    usleep(20000);
    clock_gettime(CLOCK_MONOTONIC, &now);
    char text[40];
    int length =
        snprintf(text, sizeof text, "%lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
    if (write(STDOUT_FILENO, text, (size_t)length) != length)
        abort();
    usleep(20000);
}

static NOINLINE void moments(void)
{
    void *blocks[3];
    for (int i = 0; i < 3; i++)
        sink = blocks[i] = malloc(1000); /* the compiler must not remove it */
    print_time();
    free(blocks[0]);
    free(blocks[1]);
    print_time();
    free(blocks[2]);
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Blocks of known sizes: 18 with a short life, of which the sum is printed, and 18 that live
 * for 20 ms or longer. */
static NOINLINE void histograms(void)
{
    static const size_t of[] = {15, 16, 100, 1500, 3 << 20};
    static const unsigned times[] = {3, 5, 7, 2, 1};
    void *blocks[18];
    unsigned count = 0;
    uint64_t before = clock_ns();
    for (unsigned i = 0; i < 5; i++)
        for (unsigned n = 0; n < times[i]; n++) {
            sink = malloc(of[i]);
            free(sink);
        }
    printf("%llu\n", (unsigned long long)(clock_ns() - before));
    for (unsigned i = 0; i < 5; i++)
        for (unsigned n = 0; n < times[i]; n++)
            sink = blocks[count++] = malloc(of[i]);
    usleep(20000);
    while (count > 0)
        free(blocks[--count]);
    fflush(stdout);
}

static NOINLINE void killed(void)
{
    leak(12345);
    kill(getpid(), SIGKILL);
}

int main(int count, char **words)
{
    const char *name = count > 1 ? words[1] : "";
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"leaks", leaks},         {"peak", peak},
                 {"temporary", temporary}, {"chain", chain},
                 {"aligned", aligned},     {"across", across},
                 {"threads", threads},     {"many_threads", many_threads},
                 {"signals", signals},     {"killed", killed},
                 {"sizes", sizes},         {"closes", closes},
                 {"waits", waits},         {"deeper", deeper},
                 {"prologues", prologues}, {"crowd", crowd},
                 {"moments", moments},     {"histograms", histograms},
                 {"later", later}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(name, cases[i].name) == 0)
            cases[i].run();
    if (strcmp(name, "recurse") == 0)
        recurse(50);
    if (strcmp(name, "forks") == 0)
        forks(words[0]);
    if (strcmp(name, "vforks") == 0)
        vforks(words[0]);
    if (strcmp(name, "loads") == 0)
        loads(words + 2, count - 2);
    if (strcmp(name, "unloads") == 0)
        unloads(words + 2, count - 2);
    return 7;
}
