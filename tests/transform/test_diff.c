/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static struct profile *diff(const struct profile *before, const struct profile *after,
                            struct diff_options o)
{
    struct error err = {.location = LOCATION_NONE};
    struct profile *p = transform_diff(before, after, &o, &err);
    if (!p)
        fail_msg("%s", err.message);
    assert_sound(p);
    return p;
}

static const struct row before_rows[] = {
    {"main;f;f", 4, "web/1/1"}, {"main;gone", 3, "web/1/1"}, {"x", 2, "db/2/2"}};
static const struct row after_rows[] = {
    {"main;f;f", 6, "web/7/7"}, {"main;new", 5, "web/7/8"}, {"x", 7, "db/9/9"}};

static void test_diff(void **state)
{
    struct profile *before = PROFILE(before_rows), *after = PROFILE(after_rows);
    (void)state;
    struct profile *p = diff(before, after, (struct diff_options){0});
    assert_true(p->facts.differential);
    assert_int_equal(p->facts.samples, 6);
    /* Threads are compared by name: process ids differ between runs. */
    assert_folded(p, "db;x 2 7\nweb;main;f;f 4 6\nweb;main;gone 3 0\nweb;main;new 0 5\n");
    profile_destroy(p);
    p = diff(before, after, (struct diff_options){.threads = THREAD_PID});
    assert_folded_event(
        p, 0, THREAD_PID,
        "db-2;x 2 0\ndb-9;x 0 7\nweb-1;main;f;f 4 0\nweb-1;main;gone 3 0\n"
        "web-7;main;f;f 0 6\nweb-7;main;new 0 5\n");
    profile_destroy(p);
    profile_destroy(before);
    profile_destroy(after);
}

/* Threads keep their names, whatever the processes are. */
static void test_processes(void **state)
{
    static const int64_t ids_before[] = {ID_NONE, 1, 2};
    static const int64_t ids_after[] = {ID_NONE, 1, 1, 2};
    struct profile *before = PROFILE(before_rows), *after = PROFILE(after_rows);
    (void)state;
    struct profile *p =
        diff(before, after, (struct diff_options){.processes = {ids_before, ids_after}});
    assert_folded_event(p, 0, THREAD_PID,
                        "db-2;x 2 7\nweb-1;main;f;f 4 6\nweb-1;main;gone 3 0\n"
                        "web-1;main;new 0 5\n");
    profile_destroy(p);
    profile_destroy(before);
    profile_destroy(after);
}

static void test_normalised(void **state)
{
    struct profile *before = PROFILE(before_rows), *after = PROFILE(after_rows);
    (void)state;
    struct profile *p = diff(before, after, (struct diff_options){.normalise = true});
    assert_folded(p, "db;x 4 7\nweb;main;f;f 8 6\nweb;main;gone 6 0\nweb;main;new 0 5\n");
    profile_destroy(p);
    profile_destroy(before);
    profile_destroy(after);
}

/* Of several events one is compared: the first of after, and its namesake. */
static void test_events(void **state)
{
    static const struct row old[] = {{"a", 1, NULL, "faults"}, {"a", 2, NULL, "cycles"}};
    static const struct row new[] = {{"a", 4, NULL, "cycles"}, {"a", 8, NULL, "faults"}};
    static const struct row other[] = {{"a", 16, NULL, "clock"},
                                       {"b", 32, NULL, "faults"}};
    struct profile *before = PROFILE(old), *after = PROFILE(new), *third = PROFILE(other);
    (void)state;
    struct profile *p = diff(before, after, (struct diff_options){0});
    assert_folded(p, "a 2 4\n");
    profile_destroy(p);
    p = diff(before, third, (struct diff_options){0});
    assert_folded(p, "a 1 16\n");
    profile_destroy(p);
    profile_destroy(before);
    profile_destroy(after);
    profile_destroy(third);
}

static void test_one_side_empty(void **state)
{
    static const struct row some[] = {{"a;b", 3}};
    struct profile *full = PROFILE(some), *empty = profile_of(NULL, 0, BUILD_COUNT);
    (void)state;
    struct profile *p = diff(empty, full, (struct diff_options){.normalise = true});
    assert_folded(p, "a;b 0 3\n");
    profile_destroy(p);
    p = diff(full, empty, (struct diff_options){.normalise = true});
    assert_folded(p, "a;b 3 0\n");
    profile_destroy(p);
    profile_destroy(full);
    profile_destroy(empty);
}

/* The transforms take a differential profile as they take any. */
static void test_transformed_after(void **state)
{
    struct profile *before = PROFILE(before_rows), *after = PROFILE(after_rows);
    struct transform_options o = {.focus = {{"^f$"}, 1}, .collapse = COLLAPSE_ADJACENT};
    (void)state;
    struct profile *p = transformed(diff(before, after, (struct diff_options){0}), &o);
    assert_true(p->facts.differential);
    assert_folded(p, "web;main;f 4 6\n");
    profile_destroy(p);
    profile_destroy(before);
    profile_destroy(after);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_diff),           UNIT(test_normalised),        UNIT(test_events),
        UNIT(test_one_side_empty), UNIT(test_transformed_after), UNIT(test_processes),
    };
    return UNITS_RUN(units);
}
