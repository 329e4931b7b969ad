/* SPDX-License-Identifier: Apache-2.0 */
/* Rings hold the samples of the requested rate; dumps that would fill them at once are expected. */
#include "os/machine.h"
#include "record/perf_sampler_attributes.h"
#include "unit.h"

#define MB ((size_t)1 << 20)
#define SECOND ((uint64_t)1000000000) /* ns */
#define DUMP 16384

static struct perf_sampler_settings set;

static void begin_test(uint32_t rate, enum record_stacks stacks)
{
    set = (struct perf_sampler_settings){
        .rate = rate, .stacks = stacks, .dump_size = DUMP, .events = {.count = 1}};
    set.events.items[0] = (struct record_event){.type = PERF_TYPE_SOFTWARE,
                                                .config = PERF_SOFTWARE_CPU_CLOCK};
}

static void test_rings_hold_the_samples_of_a_quarter_of_a_second(void **state)
{
    (void)state;
    static const uint32_t rates[] = {19, 99, 999, 2000};
    if (os_cpus_possible() > 16)
        skip(); /* all rings have a limit, too */
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        begin_test(rates[i], RECORD_STACKS_DWARF);
        size_t size = perf_sampler_ring_size(&set);
        assert_true(size >= (size_t)rates[i] * DUMP / 4);
        assert_true(size <= MB / 2 || size <= (size_t)rates[i] * DUMP);
        assert_int_equal(size & (size - 1), 0);
    }
}

static void test_rings_have_a_limit(void **state)
{
    (void)state;
    begin_test(50000, RECORD_STACKS_DWARF);
    assert_true(perf_sampler_ring_size(&set) <= 16 * MB);
    begin_test(99, RECORD_STACKS_FP);
    set.ring_size = 2 * MB;
    assert_int_equal(perf_sampler_ring_size(&set), 2 * MB);
}

/* Two rings of 4 MB: 512 dumps. */
static void test_many_switches_fill_rings(void **state)
{
    (void)state;
    begin_test(99, RECORD_STACKS_DWARF);
    struct perf_sampler s = {.settings = &set, .ring_size = 4 * MB, .ring_count = 2};
    assert_false(perf_sampler_fills_rings(&s, 4000, SECOND));
    assert_true(perf_sampler_fills_rings(&s, 6000, SECOND));
    assert_true(perf_sampler_fills_rings(&s, 1000, SECOND / 10));
    assert_false(perf_sampler_fills_rings(&s, 100, SECOND / 1000)); /* too few to know */
    set.unrated_dump_size = 4096;
    assert_false(perf_sampler_fills_rings(&s, 6000, SECOND));
    assert_true(perf_sampler_fills_rings(&s, 24000, SECOND));
}

static void test_the_first_counter_reports_processes(void **state)
{
    (void)state;
    begin_test(99, RECORD_STACKS_FP);
    set.targets.everyone = true;
    set.events.count = 2;
    set.events.items[1] = (struct record_event){
        .type = PERF_TYPE_SOFTWARE, .config = PERF_SOFTWARE_PAGE_FAULTS, .period = 1};
    struct perf_sampler s = {.settings = &set};
    struct perf_attr first = perf_sampler_attr(&s, 0), second = perf_sampler_attr(&s, 1);
    assert_true(first.flags & PERF_FLAG_COMM && first.flags & PERF_FLAG_FREQUENCY);
    assert_false(first.flags & (PERF_FLAG_BUILD_ID | PERF_FLAG_INHERIT));
    assert_int_equal(first.period, 99);
    assert_false(second.flags & (PERF_SAMPLER_TRACKING | PERF_FLAG_FREQUENCY));
    assert_int_equal(second.period, 1);
    assert_true(perf_sampler_is_unrated(&set.events.items[1]));
    assert_false(perf_sampler_is_unrated(&set.events.items[0]));
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_rings_hold_the_samples_of_a_quarter_of_a_second),
        UNIT(test_rings_have_a_limit),
        UNIT(test_many_switches_fill_rings),
        UNIT(test_the_first_counter_reports_processes),
    };
    return UNITS_RUN(units);
}
