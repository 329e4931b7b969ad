/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static const struct transform_options latency = {.latency = true};

static struct profile *in_ns(const struct row *rows, size_t count)
{
    struct builder b;
    assert_true(builder_init(&b, BUILD_KEEP));
    builder_event(&b, STR("cpu-clock"), UNIT_NANOSECONDS);
    builder_event(&b, STR("off-cpu"), UNIT_NANOSECONDS);
    return profile_built(&b, rows, count);
}

#define IN_NS(rows) in_ns(rows, sizeof(rows) / sizeof *(rows))

/* 20 ns alone, then 20 ns on two CPUs. */
static void what_runs_alone_weighs_more(void **state)
{
    static const struct row rows[] = {
        {"serial", 10, "t/1/1", "cpu-clock", 110, 1},
        {"serial", 10, "t/1/1", "cpu-clock", 120, 1},
        {"parallel", 10, "t/1/1", "cpu-clock", 130, 1},
        {"parallel", 10, "t/1/2", "cpu-clock", 130, 2},
        {"parallel", 10, "t/1/2", "cpu-clock", 140, 2},
        {"parallel", 10, "t/1/1", "cpu-clock", 140, 1},
        {"wait", 500, "t/1/3", "off-cpu", 140, 1},
    };
    (void)state;
    struct profile *p = transformed(IN_NS(rows), &latency);
    assert_folded(p, "t-1/1;parallel 10\nt-1/1;serial 20\nt-1/2;parallel 10\n");
    assert_int_equal(p->event_count, 2);
    assert_int_equal(p->events[1].unit, UNIT_NANOSECONDS);
    profile_destroy(p);
}

/* From 100 to 103 a runs alone, to 110 both do, to 113 b does. */
static void spans_overlap_in_part(void **state)
{
    static const struct row rows[] = {{"b", 10, "t/1/2", "cpu-clock", 113, 2},
                                      {"a", 10, "t/1/1", "cpu-clock", 110, 1}};
    (void)state;
    struct profile *p = transformed(IN_NS(rows), &latency);
    double sum = p->samples[0].weight + p->samples[1].weight; /* 6.5 each, rounded */
    assert_true(sum >= 13 && sum <= 14);
    assert_true(p->samples[0].weight >= 6 && p->samples[0].weight <= 7);
    profile_destroy(p);
}

/* A CPU runs one thread at a time: the periods of threads that take turns do not overlap.
 * Without CPUs, a thread does not overlap itself. */
static void a_cpu_is_counted_once(void **state)
{
    static const struct row cpus[] = {{"a", 10, "t/1/1", "cpu-clock", 110, 1},
                                      {"b", 10, "t/1/2", "cpu-clock", 115, 1},
                                      {"a", 10, "t/1/1", "cpu-clock", 130, 1}},
                            threads[] = {{"a", 10, "t/1/1", "cpu-clock", 110},
                                         {"b", 10, "t/1/1", "cpu-clock", 113}};
    (void)state;
    struct profile *p = transformed(IN_NS(cpus), &latency);
    assert_folded(p, "t-1/1;a 20\nt-1/2;b 5\n");
    profile_destroy(p);
    p = transformed(IN_NS(threads), &latency);
    assert_folded(p, "t-1/1;a 10\nt-1/1;b 3\n");
    profile_destroy(p);
}

/* The sum of the weights is the time in which any span runs. */
static void the_sum_is_the_time_of_running(void **state)
{
    enum { SAMPLES = 3000, TIME = 20000, CPUS = 5 };
    static struct row rows[SAMPLES];
    static unsigned char runs[TIME + 1];
    uint64_t seed = 42, last[CPUS] = {0};
    double sum = 0, expected = 0;
    (void)state;
    uint64_t time = 1;
    for (size_t i = 0; i < SAMPLES; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        time += (seed >> 40) % 13;
        uint32_t cpu = (uint32_t)((seed >> 33) % CPUS);
        uint64_t weight = (seed >> 50) % 40, from = time > weight ? time - weight : 0;
        rows[i] = (struct row){"f", (double)weight, "t/1/1", "cpu-clock", time, cpu + 1};
        assert_true(time <= TIME);
        for (uint64_t at = from > last[cpu] ? from : last[cpu]; at < time; at++)
            runs[at] = 1;
        last[cpu] = time;
    }
    for (size_t i = 0; i <= TIME; i++)
        expected += runs[i];
    struct profile *p = transformed(IN_NS(rows), &latency);
    for (size_t i = 0; i < p->sample_count; i++)
        sum += p->samples[i].weight;
    assert_int_equal(p->sample_count, SAMPLES);
    assert_true(sum > expected - SAMPLES && sum < expected + SAMPLES);
    assert_true(expected > 5000);
    profile_destroy(p);
}

static void without_times_it_is_refused(void **state)
{
    static const struct row rows[] = {{"a", 5, "t/1", "cpu-clock"}};
    struct transform_options both = {.latency = true, .wall = true};
    struct error err;
    const struct transform *emptied;
    (void)state;
    assert_null(transform_apply(&latency, IN_NS(rows), &emptied, &err));
    assert_str(str_of(err.message), "the samples have no times");
    assert_null(transform_apply(&both, IN_NS(rows), &emptied, &err));
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(what_runs_alone_weighs_more), UNIT(spans_overlap_in_part),
        UNIT(a_cpu_is_counted_once), UNIT(the_sum_is_the_time_of_running),
        UNIT(without_times_it_is_refused)};
    return UNITS_RUN(units);
}
