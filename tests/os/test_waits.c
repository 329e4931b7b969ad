/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel finds the waits of this process that are long enough, with their stacks. */
#include "os/machine.h"
#include "os/waits.h"
#include "unit.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS ((uint64_t)1000000)
#define LEAST (20 * MS)
#define WAITS 5
#define ROUNDS 5
#define WAIT (2 * LEAST)
#define MARGIN (5 * MS) /* between the count of a switch and the switch itself */

static struct os_waits waits;

static int open_waits(void **state)
{
    (void)state;
    struct error err;
    if (os_waits_open(&waits, LEAST, &err))
        return 0;
    os_waits_close(&waits);
    print_message("SKIP %s\n", err.message);
    return 0;
}

static int close_waits(void **state)
{
    (void)state;
    os_waits_close(&waits);
    return 0;
}

struct sums {
    uint64_t all, length; /* of all threads */
    uint64_t short_ones;
    uint32_t tid; /* of the thread whose waits these are: */
    uint64_t own, own_count, without_stack;
};

static struct sums sums;

static void add(void *context, const struct waits_record *r)
{
    struct sums *s = context;
    s->all++;
    s->length += r->length;
    s->short_ones += r->length < LEAST;
    if (r->tid != s->tid || r->is_preempted)
        return;
    s->own += r->length;
    s->own_count++;
    s->without_stack += r->user_count + r->kernel_count == 0;
}

static void sleep_for(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (nanosleep(&t, &t) != 0)
        continue;
}

/* How often a thread of this process has given up its CPU by itself. */
static unsigned long voluntary_switches(pid_t tid)
{
    static const char field[] = "\nvoluntary_ctxt_switches:";
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    const char *at = strstr(text, field);
    assert_non_null(at);
    return strtoul(at + sizeof field - 1, NULL, 10);
}

/* A thread that waits, and is woken only after it has left its CPU for at least `WAIT`: a timer
 * of its own could expire before it leaves, on a busy machine. */
struct waiter {
    int pipes[WAITS][2];
    _Atomic pid_t tid;
    _Atomic unsigned long switches[WAITS]; /* during each wait; 0: not there yet */
    uint64_t most;                         /* the waits took, seen from outside */
    int reads;
};

static void *wait_often(void *argument)
{
    struct waiter *w = argument;
    char c;
    w->tid = (pid_t)syscall(SYS_gettid);
    for (int i = 0; i < WAITS; i++) {
        uint64_t begin = os_clock_monotonic();
        struct rusage u = {.ru_nvcsw = 0};
        getrusage(RUSAGE_THREAD, &u);
        w->switches[i] = (unsigned long)u.ru_nvcsw + 1;
        w->reads += read(w->pipes[i][0], &c, 1) == 1;
        w->most += os_clock_monotonic() - begin;
    }
    return NULL;
}

static void wake_often(struct waiter *w)
{
    for (int i = 0; i < WAITS; i++) {
        unsigned long during;
        while (!(during = w->switches[i]) || voluntary_switches(w->tid) < during)
            sched_yield();
        sleep_for(WAIT + MARGIN);
        assert_int_equal(write(w->pipes[i][1], "", 1), 1);
    }
}

/* Another thread waits; reads what the kernel found. */
static void find_waits(struct waiter *w)
{
    struct error err;
    pthread_t thread;
    *w = (struct waiter){.most = 0};
    sums.own = sums.own_count = sums.without_stack = 0;
    for (int i = 0; i < WAITS; i++)
        assert_int_equal(pipe(w->pipes[i]), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_often, w), 0);
    wake_often(w);
    pthread_join(thread, NULL);
    for (int i = 0; i < WAITS; i++) {
        close(w->pipes[i][0]);
        close(w->pipes[i][1]);
    }
    assert_int_equal(w->reads, WAITS);
    sums.tid = (uint32_t)w->tid;
    assert_true(os_waits_read(&waits, add, &sums, &err));
    assert_in_range(sums.own_count, WAITS - 1, WAITS);
}

/* On a busy machine a wait can be missing: the thread gave up its CPU for something else, and was
 * woken before it waited. */
static void test_waits(void **state)
{
    (void)state;
    struct waiter w;
    if (!waits.program)
        skip();
    find_waits(&w);
    for (int i = 1; i < ROUNDS && sums.own_count < WAITS; i++)
        find_waits(&w);
    assert_int_equal(sums.own_count, WAITS);
    assert_true(sums.own >= WAITS * WAIT && sums.own <= w.most);
    assert_int_equal(sums.without_stack, 0);
    assert_int_equal(sums.short_ones, 0);
}

/* What is read is what the kernel counts. */
static void test_sums(void **state)
{
    (void)state;
    struct os_waits_counts n;
    struct error err;
    if (!waits.program)
        skip();
    os_waits_set_threshold(&waits, UINT64_MAX); /* no more waits from now on */
    do {                                        /* another CPU may be writing one */
        sched_yield();
        n = os_waits_count(&waits);
        assert_true(os_waits_read(&waits, add, &sums, &err));
    } while (n.waits != sums.all);
    assert_int_equal(n.length, sums.length);
    assert_int_equal(n.full, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_waits),
                                       cmocka_unit_test(test_sums)};
    return cmocka_run_group_tests_name("os/waits", tests, open_waits, close_waits);
}
