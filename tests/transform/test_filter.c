/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static const struct row two_threads[] = {
    {"main;read", 5, "web/10/10", "cycles:u", 1000000000, 1},
    {"main;write", 7, "web/10/11", "cycles:u", 2000000000, 2},
    {"loop", 2, "kworker 0:1/4/4", "cycles:u", 3000000000, 3},
    {"main;read", 100, "web/10/10", "faults", 4000000000, 1},
    {"loop", 11, "db/20/20", "cycles:u", 5000000000, 4},
};

static struct transform_options filtering(struct filter_options filter)
{
    return (struct transform_options){.filter = filter};
}

#define WORDS(...)                                                            \
    {                                                                         \
        {__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *) \
    }
#define RANGE(from, to) \
    {                   \
        {{from, to}}, 1 \
    }

static void test_by_comm(void **state)
{
    (void)state;
    struct transform_options keep =
        filtering((struct filter_options){.comms = WORDS("web")});
    struct transform_options drop =
        filtering((struct filter_options){.drop_comms = WORDS("web", "db")});
    struct transform_options shown =
        filtering((struct filter_options){.comms = WORDS("kworker_*")});
    assert_transformed(two_threads, keep,
                       "web-10/10;main;read 5\nweb-10/11;main;write 7\n");
    assert_transformed(two_threads, drop, "kworker_0:1-4/4;loop 2\n");
    assert_transformed(two_threads, shown, "kworker_0:1-4/4;loop 2\n");
}

static void test_comm_of_folded_stacks(void **state)
{
    static const struct row rows[] = {{"java;main;gc", 3}, {"sh;main", 4}, {"java", 1}};
    struct transform_options o =
        filtering((struct filter_options){.comms = WORDS("java")});
    (void)state;
    assert_transformed(rows, o, "java 1\njava;main;gc 3\n");
}

static void test_by_numbers(void **state)
{
    (void)state;
    struct transform_options pid =
        filtering((struct filter_options){.pids = RANGE(10, 10)});
    struct transform_options tids = filtering(
        (struct filter_options){.tids = RANGE(11, 20), .drop_tids = RANGE(20, 20)});
    struct transform_options cpu =
        filtering((struct filter_options){.drop_cpus = RANGE(1, 3)});
    assert_transformed(two_threads, pid,
                       "web-10/10;main;read 5\nweb-10/11;main;write 7\n");
    assert_transformed(two_threads, tids, "web-10/11;main;write 7\n");
    assert_transformed(two_threads, cpu, "web-10/10;main;read 5\n");
}

static void test_by_event(void **state)
{
    struct transform_options one =
        filtering((struct filter_options){.events = WORDS("faults")});
    struct transform_options plain =
        filtering((struct filter_options){.events = WORDS("cycles")});
    struct transform_options none =
        filtering((struct filter_options){.events = WORDS("cycle")});
    struct transform_options but =
        filtering((struct filter_options){.drop_events = WORDS("cycles")});
    (void)state;
    struct profile *p = transformed(PROFILE(two_threads), &one);
    assert_folded(p, "web-10/10;main;read 100\n");
    assert_int_equal(p->event_count, 2); /* dropped data is removed */
    assert_int_equal(p->thread_count, 2);
    assert_int_equal(p->frame_count, 3);
    assert_int_equal(p->facts.samples, 5); /* data that was read stays */
    assert_true(p->facts.filtered);
    profile_destroy(p);
    assert_transformed(two_threads, but, "web-10/10;main;read 100\n");
    assert_transformed(two_threads, plain,
                       "db-20/20;loop 11\nkworker_0:1-4/4;loop 2\nweb-10/10;main;read 5\n"
                       "web-10/11;main;write 7\n");
    assert_refused(two_threads, none, "there is no event 'cycle'");
}

static void test_by_time(void **state)
{
    struct filter_options clock = {
        .start = {.at = TIME_POINT_CLOCK, .ns = 2000000000},
        .end = {.at = TIME_POINT_CLOCK, .ns = 3000000000}}; /* not part of it */
    struct filter_options from_first = {
        .start = {.at = TIME_POINT_FROM_FIRST, .ns = 1000000001}};
    struct filter_options half = {.end = {.at = TIME_POINT_PERCENT, .percent = 50}};
    struct filter_options rest = {.start = {.at = TIME_POINT_PERCENT, .percent = 50},
                                  .end = {.at = TIME_POINT_PERCENT, .percent = 100}};
    struct filter_options turned = {.start = {.at = TIME_POINT_CLOCK, .ns = 9},
                                    .end = {.at = TIME_POINT_CLOCK, .ns = 8}};
    struct transform_options o;
    (void)state;
    o = filtering(clock);
    assert_transformed(two_threads, o, "web-10/11;main;write 7\n");
    o = filtering(from_first);
    assert_transformed(two_threads, o, "db-20/20;loop 11\nkworker_0:1-4/4;loop 2\n");
    o = filtering(half);
    assert_transformed(two_threads, o, "web-10/10;main;read 5\nweb-10/11;main;write 7\n");
    o = filtering(rest); /* with the last sample: the halves make the whole */
    assert_transformed(two_threads, o, "db-20/20;loop 11\nkworker_0:1-4/4;loop 2\n");
    o = filtering(turned);
    assert_refused(two_threads, o, "ends before it begins");
}

static void test_facts_that_the_input_lacks(void **state)
{
    static const struct row rows[] = {{"main", 1, "web"}};
    struct transform_options pid =
        filtering((struct filter_options){.pids = RANGE(1, 1)});
    struct transform_options tid =
        filtering((struct filter_options){.tids = RANGE(1, 1)});
    struct transform_options cpu =
        filtering((struct filter_options){.cpus = RANGE(0, 1)});
    struct transform_options time = filtering(
        (struct filter_options){.start = {.at = TIME_POINT_PERCENT, .percent = 1}});
    (void)state;
    assert_refused(rows, pid, "no process IDs");
    assert_refused(rows, tid, "no thread IDs");
    assert_refused(rows, cpu, "no CPUs");
    assert_refused(rows, time, "no times");
}

static void test_nothing_left(void **state)
{
    struct transform_options o =
        filtering((struct filter_options){.comms = WORDS("nobody")});
    const struct transform *emptied;
    struct error err;
    (void)state;
    struct profile *p = transform_apply(&o, PROFILE(two_threads), &emptied, &err);
    assert_non_null(p);
    assert_ptr_equal(emptied, transform_named(STR("filter")));
    assert_int_equal(p->sample_count, 0);
    assert_int_equal(p->frame_count, 1);
    assert_folded(p, "");
    profile_destroy(p);
}

/* One side of a differential profile is a profile like others. */
static void test_one_side(void **state)
{
    static const struct row rows[] = {{"a;b", 3, NULL, "before"},
                                      {"a;c", 4, NULL, "after"}};
    struct transform_options o =
        filtering((struct filter_options){.events = WORDS("after")});
    struct profile *p = PROFILE(rows);
    (void)state;
    p->facts.differential = true;
    p = transformed(p, &o);
    assert_false(p->facts.differential);
    assert_folded(p, "a;c 4\n");
    profile_destroy(p);
}

static void test_differential_stays(void **state)
{
    static const struct row rows[] = {{"a;b", 3, NULL, "before"},
                                      {"c", 4, NULL, "after"}};
    struct transform_options o =
        filtering((struct filter_options){.drop_comms = WORDS("c")});
    struct profile *p = PROFILE(rows);
    (void)state;
    p->facts.differential = true;
    p = transformed(p, &o);
    assert_true(p->facts.differential);
    assert_folded(p, "a;b 3 0\n");
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_by_comm),
        UNIT(test_comm_of_folded_stacks),
        UNIT(test_by_numbers),
        UNIT(test_by_event),
        UNIT(test_by_time),
        UNIT(test_facts_that_the_input_lacks),
        UNIT(test_nothing_left),
        UNIT(test_one_side),
        UNIT(test_differential_stays),
    };
    return UNITS_RUN(units);
}
