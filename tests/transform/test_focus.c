/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static const struct row rows[] = {
    {"main;run;parse;alloc", 5, "a/1"},
    {"main;run;emit", 7, "b/2"},
    {"main;run;parse;parse;free", 3, "a/1"},
    {"idle", 2, "a/1"},
};

static void test_focus(void **state)
{
    struct transform_options one = {.focus = {{"^pars"}, 1}};
    struct transform_options both = {.focus = {{"parse", "alloc|emit"}, 2}};
    (void)state;
    assert_transformed(
        rows, one, "a-1/?;main;run;parse;alloc 5\na-1/?;main;run;parse;parse;free 3\n");
    assert_transformed(rows, both, "a-1/?;main;run;parse;alloc 5\n");
}

static void test_ignore(void **state)
{
    struct transform_options o = {.ignore = {{"parse", "^idle$"}, 2}};
    (void)state;
    assert_transformed(rows, o, "b-2/?;main;run;emit 7\n");
}

static void test_focus_then_ignore(void **state)
{
    struct transform_options o = {.focus = {{"run"}, 1}, .ignore = {{"free"}, 1}};
    (void)state;
    assert_transformed(rows, o, "a-1/?;main;run;parse;alloc 5\nb-2/?;main;run;emit 7\n");
}

static void test_nothing_left(void **state)
{
    struct transform_options o = {.focus = {{"nothing"}, 1}};
    const struct transform *emptied;
    struct error err;
    (void)state;
    struct profile *p = transform_apply(&o, PROFILE(rows), &emptied, &err);
    assert_non_null(p);
    assert_ptr_equal(emptied, transform_named(STR("focus")));
    assert_int_equal(p->stack_count, 1);
    assert_int_equal(p->thread_count, 1);
    profile_destroy(p);
}

static void test_bad_pattern(void **state)
{
    struct transform_options o = {.focus = {{"(a"}, 1}};
    (void)state;
    assert_refused(rows, o, "invalid pattern '(a'");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_focus),        UNIT(test_ignore),      UNIT(test_focus_then_ignore),
        UNIT(test_nothing_left), UNIT(test_bad_pattern),
    };
    return UNITS_RUN(units);
}
