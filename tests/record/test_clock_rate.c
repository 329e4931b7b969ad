/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks are limited to a rate that the machine serves; other events are not changed. */
#include "record/clock_rate.h"
#include "record/refusal.h"
#include "unit.h"

static struct perf_sampler_settings set;

static struct record_event *add(enum perf_event_type type, uint64_t config, uint32_t rate,
                                uint64_t period)
{
    struct record_event *e = &set.events.items[set.events.count++];
    *e = (struct record_event){
        .type = type, .config = config, .rate = rate, .period = period};
    return e;
}

static void test_usual_rates_remain(void **state)
{
    (void)state;
    set = (struct perf_sampler_settings){.rate = 5000};
    struct record_event *e = add(PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CPU_CLOCK, 0, 0);
    struct record_event *own =
        add(PERF_TYPE_SOFTWARE, PERF_SOFTWARE_TASK_CLOCK, 0, 200000);
    assert_int_equal(record_limit_clocks(&set), 0);
    assert_true(!e->rate && !e->period && own->period == 200000);
}

static void test_fast_clocks_are_limited(void **state)
{
    (void)state;
    uint32_t most = record_rate_most();
    set = (struct perf_sampler_settings){.rate = most, .stacks = RECORD_STACKS_FP};
    struct record_event *of_all = add(PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CPU_CLOCK, 0, 0);
    struct record_event *period = add(PERF_TYPE_SOFTWARE, PERF_SOFTWARE_TASK_CLOCK, 0, 1);
    struct record_event *slow = add(PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CPU_CLOCK, 99, 0);
    struct record_event *faults =
        add(PERF_TYPE_SOFTWARE, PERF_SOFTWARE_PAGE_FAULTS, most, 0);
    struct record_event *refused =
        add(PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CPU_CLOCK, UINT32_MAX, 0);
    uint32_t limit = record_limit_clocks(&set);
    if (!limit) { /* no counters here, or no limit (kernel.perf_cpu_time_max_percent) */
        assert_true(!of_all->rate && period->period == 1);
        return;
    }
    assert_in_range(limit, 5000, 100000000);
    assert_int_equal(of_all->rate, limit);
    assert_true(!period->rate && period->period == 1000000000 / limit);
    assert_int_equal(slow->rate, 99);
    assert_int_equal(faults->rate, most);
    assert_int_equal(refused->rate, UINT32_MAX); /* by the kernel */
    assert_int_equal(set.rate, most);
}

static void test_cheap_rate(void **state)
{
    (void)state;
    static const uint32_t rates[] = {99, 199, 499, 997};
    uint32_t rate = record_cheap_rate(RECORD_STACKS_AUTO);
    bool known = false;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        known |= rate == rates[i];
    assert_true(known);
    assert_true(rate == 99 || rate <= record_rate_most());
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test(test_usual_rates_remain),
        cmocka_unit_test(test_fast_clocks_are_limited),
        cmocka_unit_test(test_cheap_rate),
    };
    return UNITS_RUN(units);
}
