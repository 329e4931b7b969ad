/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static void test_list(void **state)
{
    (void)state;
    for (size_t i = 0; transforms[i]; i++) {
        const struct transform_options none = {0};
        assert_ptr_equal(transform_named(str_of(transforms[i]->name)), transforms[i]);
        assert_true(strlen(transforms[i]->summary) > 10);
        assert_false(transforms[i]->requested(&none)); /* all zero: no transform */
    }
    assert_null(transform_named(STR("nothing")));
}

static void test_nothing_expected(void **state)
{
    static const struct row rows[] = {{"a", 1}};
    const struct transform_options none = {0};
    const struct transform *emptied;
    struct error err;
    struct profile *p = PROFILE(rows);
    (void)state;
    assert_ptr_equal(transform_apply(&none, p, &emptied, &err), p);
    assert_null(emptied);
    profile_destroy(p);
    assert_null(transform_apply(&none, NULL, &emptied, &err));
}

/* Names are shortened before patterns match, recursion is collapsed in the remaining
 * frames; threads and the reversal come last. */
static void test_order(void **state)
{
    static const struct row rows[] = {
        {"main;f(int);glue;f(char);g", 3, "t/1"},
        {"main;glue", 5, "t/1"},
        {"other;g", 7, "t/1"},
    };
    struct transform_options o = {.strip = {.arguments = true},
                                  .focus = {{"^f$"}, 1},
                                  .hide = {{"glue"}, 1},
                                  .collapse = COLLAPSE_ADJACENT,
                                  .reverse = true,
                                  .scale = 2};
    (void)state;
    assert_transformed(rows, o, "g;f;main;t 6\n");
}

/* A chain preserves times, CPUs and the order of samples. */
static void test_samples_are_preserved(void **state)
{
    static const struct row rows[] = {{"a;x", 1, "t/1", NULL, 30, 1},
                                      {"a;y", 2, "t/1", NULL, 10, 2},
                                      {"a;x", 4, "t/1", NULL, 20, 3},
                                      {"b", 8, "t/1", NULL, 40, 4}};
    struct transform_options o = {.ignore = {{"b"}, 1}, .hide = {{"a"}, 1}, .scale = 3};
    (void)state;
    struct profile *p = transformed(PROFILE(rows), &o);
    assert_true(p->all_samples);
    assert_int_equal(p->sample_count, 3);
    assert_int_equal(p->samples[0].time, 30);
    assert_int_equal(p->samples[1].time, 10);
    assert_int_equal(p->samples[2].cpu, 2);
    assert_double(p->samples[2].weight, 12);
    assert_int_equal(p->samples[0].stack, p->samples[2].stack);
    assert_int_equal(p->facts.time_last, 40);
    profile_destroy(p);
}

/* Where samples are counted only, rows that become equal become one. */
static void test_counted_rows_join(void **state)
{
    static const struct row rows[] = {{"a;x", 1}, {"a;y", 2}, {"a", 4}};
    struct transform_options o = {.hide = {{"x|y"}, 1}};
    (void)state;
    struct profile *p = transformed(profile_of(rows, 3, BUILD_COUNT), &o);
    assert_false(p->all_samples);
    assert_int_equal(p->sample_count, 1);
    assert_int_equal(p->samples[0].count, 3);
    assert_double(p->samples[0].weight, 7);
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_list),
        UNIT(test_nothing_expected),
        UNIT(test_order),
        UNIT(test_samples_are_preserved),
        UNIT(test_counted_rows_join),
    };
    return UNITS_RUN(units);
}
