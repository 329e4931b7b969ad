/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel finds the waits of this process that are long enough, with their stacks. */
#include "os/machine.h"
#include "os/waits.h"
#include "unit.h"
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MS ((uint64_t)1000000)
#define LEAST (20 * MS)
#define SLEEPS 5
#define TRIES 200
#define STOLEN MS /* of one sleep, by interrupts or by the host of a virtual machine */

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
    uint64_t own, own_count, short_ones, without_stack;
};

static struct sums sums;

static void add(void *context, const struct waits_record *r)
{
    struct sums *s = context;
    s->all++;
    s->length += r->length;
    s->short_ones += r->length < LEAST;
    if (r->pid != (uint32_t)getpid() || r->is_preempted)
        return;
    s->own += r->length;
    s->own_count++;
    s->without_stack += r->user_count + r->kernel_count == 0;
}

static void wait_for(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (nanosleep(&t, &t) != 0)
        continue;
}

static long preemptions(void)
{
    struct rusage u;
    assert_int_equal(getrusage(RUSAGE_THREAD, &u), 0);
    return u.ru_nivcsw;
}

/* Sleeps, and reads the waits; the time that it took. A thread that is preempted after it set its
 * timer sleeps for less time, or not at all: then the sleeps are repeated. */
static uint64_t sleep_undisturbed(void)
{
    struct error err;
    for (int tries = 0; tries < TRIES; tries++) {
        long before = preemptions();
        uint64_t begin = os_clock_monotonic();
        for (int i = 0; i < SLEEPS; i++)
            wait_for(2 * LEAST);
        uint64_t most = os_clock_monotonic() - begin;
        bool disturbed = preemptions() != before;
        sums.own = sums.own_count = 0;
        assert_true(os_waits_read(&waits, add, &sums, &err));
        if (!disturbed)
            return most;
    }
    fail_msg("the thread is preempted in each of %d tries", TRIES);
    return 0;
}

static void test_waits(void **state)
{
    (void)state;
    if (!waits.program)
        skip();
    uint64_t most = sleep_undisturbed();
    assert_int_equal(sums.own_count, SLEEPS);
    assert_true(sums.own >= SLEEPS * (2 * LEAST - STOLEN) && sums.own <= most);
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
