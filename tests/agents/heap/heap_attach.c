/* SPDX-License-Identifier: Apache-2.0 */
/* A running program for heap_attach.py: it makes known allocations when a line of standard
 * input names them, and answers each line. Its threads allocate all the time, and check
 * that nothing disturbs them. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static void *volatile sink;
static void *old_blocks[300];
static volatile int ends;

/* --- Known allocations -------------------------------------------------------------- */

static NOINLINE void known(void)
{
    for (int i = 0; i < 1000; i++) {
        sink = malloc(100);
        free(sink);
    }
    for (int i = 0; i < 7; i++)
        sink = malloc(1000);
    char *block = malloc(10);
    for (size_t i = 1; i <= 10; i++)
        block = realloc(block, 100 * i);
    sink = block;
    sink = calloc(10, 30);
    sink = reallocarray(NULL, 10, 31);
    sink = aligned_alloc(64, 640);
    sink = memalign(64, 302);
    if (posix_memalign((void **)&block, 64, 301))
        abort();
    sink = strdup("inside the C library"); /* 21 bytes */
}

/* Blocks from before the recording are released, and one is moved. */
static NOINLINE void release_old(void)
{
    for (int i = 0; i < 299; i++)
        free(old_blocks[i]);
    sink = realloc(old_blocks[299], 4000);
}

static NOINLINE void *known_thread(void *unused)
{
    for (int i = 0; i < 500; i++)
        sink = malloc(20);
    return unused;
}

static NOINLINE void many(void)
{
    pthread_t ids[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&ids[i], NULL, known_thread, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(ids[i], NULL);
}

static NOINLINE void forked(void)
{
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 11; i++)
            sink = malloc(77);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* A function of a library that is loaded now, or was before. */
static void *library;

static void load(const char *path)
{
    library = dlopen(path, RTLD_NOW);
    if (!library)
        abort();
}

static NOINLINE void call_loaded(void)
{
    void *(*allocate)(size_t size);
    void *found = dlsym(library, "loaded");
    if (!found)
        abort();
    memcpy(&allocate, &found, sizeof allocate);
    for (int i = 0; i < 9; i++)
        sink = allocate(50);
}

/* --- Threads that check ------------------------------------------------------------- */

static void fail(const char *what)
{
    printf("failed: %s\n", what);
    fflush(stdout);
    _exit(99);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int started; /* threads that have called each of their functions, under `mutex` */

static void count_started(int rounds)
{
    if (rounds != 1)
        return;
    pthread_mutex_lock(&mutex);
    started++;
    pthread_mutex_unlock(&mutex);
}

/* The dynamic linker then resolves no more functions for them. */
static void await_started(int count)
{
    for (bool all = false; !all; usleep(1000)) {
        pthread_mutex_lock(&mutex);
        all = started == count;
        pthread_mutex_unlock(&mutex);
    }
}

/* Computes with vector registers, allocates, and checks its results. The first of these
 * threads never sleeps. */
static void *compute(void *is_first)
{
    for (int rounds = 1; !ends; rounds += rounds < 2) {
        if (!is_first)
            usleep(500);
        double sum = 0, other = 1;
        char *block = malloc(1 + (size_t)(rand() % 500));
        for (int i = 1; i < 3000; i++) {
            sum += 1.0 / i;
            other = other * 1.0000001 + 1.0 / (i * other);
        }
        if (sum < 8.5 || sum > 8.6 || other < 1)
            fail("a sum");
        free(block);
        count_started(rounds);
    }
    return NULL;
}

/* errno remains, and all signals are blocked. */
static void *wait_blocked(void *unused)
{
    (void)unused;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (int rounds = 1; !ends; rounds += rounds < 2) {
        struct timespec time = {.tv_nsec = 3000000};
        errno = 77;
        if (nanosleep(&time, NULL) != 0)
            fail("a sleep ended early");
        if (errno != 77)
            fail("errno");
        count_started(rounds);
    }
    return NULL;
}

static void *wait_for_end(void *unused)
{
    pthread_mutex_lock(&mutex);
    started++; /* the mutex is free when it waits */
    while (!ends)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    (void)unused;
    return NULL;
}

static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
    (void)number;
    ticks = ticks + 1;
}

static void start_ticks(void)
{
    struct itimerval often = {{0, 2000}, {0, 2000}};
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

/* --- Lines -------------------------------------------------------------------------- */

static void answer(const char *line)
{
    char text[600];
    int length = snprintf(text, sizeof text, "%s\n", line);
    if (write(STDOUT_FILENO, text, (size_t)length) != length)
        abort();
}

/* A child that remains. Its id is printed. */
static NOINLINE void stay(void)
{
    char text[20];
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; i++)
            sink = malloc(88);
        answer("allocated");
        while (!ends) {
            free(malloc(10));
            usleep(1000);
        }
        _exit(0);
    }
    snprintf(text, sizeof text, "%d", (int)child);
    answer(text);
}

static const struct {
    const char *name;
    void (*run)(void);
} commands[] = {{"known", known},      {"old", release_old}, {"many", many},
                {"forked", forked},    {"stay", stay},       {"call", call_loaded},
                {"ticks", start_ticks}};

static void run(const char *line)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(line, commands[i].name) == 0)
            commands[i].run();
    if (strncmp(line, "load ", 5) == 0)
        load(line + 5);
    if (strcmp(line, "unload") == 0)
        dlclose(library);
    if (strcmp(line, "lazy") == 0) { /* functions that were not called before */
        sink = valloc(333);
        sink = pvalloc(333);
    }
}

/* Without memory of the heap. */
static int read_line(char *line, int size)
{
    int used = 0;
    while (used < size - 1) {
        long got = read(STDIN_FILENO, line + used, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        if (line[used] == '\n')
            break;
        used++;
    }
    line[used] = 0;
    return 1;
}

/* Threads: compute, wait_blocked, wait_for_end, as many as the arguments request. */
int main(int count, char **words)
{
    static void *(*const works[])(void *) = {compute, wait_blocked, wait_for_end};
    static pthread_t ids[3][64];
    char line[512];
    int numbers[3] = {0};
    for (int i = 0; i < 3 && i + 1 < count; i++)
        numbers[i] = atoi(words[i + 1]) % 64;
    for (int i = 0; i < 300; i++)
        old_blocks[i] = malloc(50);
    known();
    many();
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < numbers[kind]; i++)
            pthread_create(&ids[kind][i], NULL, works[kind], i ? NULL : &ids);
    await_started(numbers[0] + numbers[1] + numbers[2]);
    answer("ready");
    while (read_line(line, sizeof line)) {
        run(line);
        answer(line);
    }
    pthread_mutex_lock(&mutex);
    ends = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < numbers[kind]; i++)
            pthread_join(ids[kind][i], NULL);
    answer("end");
    return 7;
}
