/* SPDX-License-Identifier: Apache-2.0 */
/* Rates vary within the limit, and their mean is the rate; the clocks have their next sample a
 * whole period after a change. */
#include "os/machine.h"
#include "record/jitter.h"
#include "unit.h"
#include <math.h>

#define PERIOD ((uint64_t)200000000) /* ns */
#define SHORTEST (PERIOD * 100 / (100 + JITTER_PERCENT) - 1000)

static struct os_wait ready;
static struct perf_sampler sampler;
static uint64_t last[OS_CPUS_MAX]; /* time of the last sample of each CPU */
static uint64_t before, shifted;   /* when the shift began, and ended */
static uint64_t too_early, after;

static void take(void *context, const struct record *r)
{
    (void)context;
    if (r->type != PERF_SAMPLE)
        return;
    uint32_t cpu = record_u32(r->bytes, sampler.layout.cpu);
    assert_true(cpu < OS_CPUS_MAX);
    if (shifted && r->time > shifted) {
        after++;
        if (last[cpu] <= shifted && r->time < before + SHORTEST)
            too_early++;
    }
    last[cpu] = r->time;
}

static void end_round(void *context)
{
    (void)context;
}

/* Until this number of samples came after the shift, or any before it. */
static void drain_until(uint64_t count)
{
    const struct record_sink to = {NULL, take, end_round};
    uint64_t begin = os_clock_monotonic();
    while (shifted ? after < count : os_clock_monotonic() - begin < PERIOD / 2)
        perf_sampler_drain(&sampler, &to);
}

static void test_differences(void **state)
{
    struct record_jitter j = {.random = 1};
    double sum = 0, largest = 0;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        record_jitter_next(&j);
        sum += j.difference;
        largest = fmax(largest, fabs(j.difference));
        if (i % 2)
            assert_true(fabs(sum) < 1e-9);
    }
    assert_true(largest <= JITTER_PERCENT / 100.0 && largest > JITTER_PERCENT / 200.0);
}

static void test_random_start(void **state)
{
    struct record_jitter a = {0}, b = {0};
    (void)state;
    record_jitter_next(&a);
    record_jitter_next(&b);
    assert_true(a.difference != b.difference);
}

static void test_clocks(void **state)
{
    struct record_jitter jitter = {0};
    struct perf_sampler_settings set = {.stacks = RECORD_STACKS_NONE,
                                        .rate = (uint32_t)(1000000000 / PERIOD)};
    struct error err;
    (void)state;
    set.targets.everyone = true;
    set.events.items[set.events.count++] = record_event_clock();
    assert_true(os_wait_init_plain(&ready, &err));
    if (!perf_sampler_open(&sampler, &set, &ready, &err)) {
        print_message("skipped: %s\n", err.message);
        skip();
    }
    perf_sampler_enable(&sampler);
    drain_until(0);
    before = os_clock_monotonic();
    record_jitter_turn(&jitter, &sampler, before);
    uint64_t due = jitter.due;
    assert_int_equal(due, before + JITTER_SAMPLES * PERIOD);
    record_jitter_turn(&jitter, &sampler, due - 1); /* no change yet */
    assert_true(jitter.due == due && jitter.difference == 0);
    record_jitter_turn(&jitter, &sampler, due);
    assert_true(jitter.difference != 0);
    shifted = os_clock_monotonic();
    drain_until(3);
    assert_int_equal(too_early, 0);
}

static int close_all(void **state)
{
    (void)state;
    perf_sampler_close(&sampler);
    os_wait_deinit(&ready);
    return 0;
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_random_start),
        cmocka_unit_test_teardown(test_clocks, close_all),
    };
    return UNITS_RUN(units);
}
