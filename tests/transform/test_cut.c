/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static const struct row rows[] = {
    {"main;a;b;a;c", 5, "t/1"},
    {"main;b", 7, "t/1"},
    {"main;x", 3, "t/1"},
};

static void test_show_from(void **state)
{
    struct transform_options o = {.show_from = {{"^a$", "^x"}, 2}};
    (void)state;
    struct profile *p = transformed(PROFILE(rows), &o);
    assert_folded_event(p, 0, THREAD_COMM, "t;a;b;a;c 5\nt;x 3\n");
    assert_int_equal(p->frame_count, 5); /* main is gone */
    profile_destroy(p);
}

static void test_base(void **state)
{
    struct transform_options o = {.base = {{"a"}, 1}};
    (void)state;
    struct profile *p = transformed(PROFILE(rows), &o);
    assert_folded_event(p, 0, THREAD_COMM, "t;a;c 5\n");
    assert_int_equal(p->stack_count, 3); /* 0, a, a;c */
    assert_int_equal(p->frame_count, 3); /* main, b and x are gone */
    profile_destroy(p);
}

static void test_base_is_a_name(void **state)
{
    static const struct row marked[] = {{"m;f(int);g_[k];h", 1}, {"m;f;h", 2}};
    struct transform_options o = {.base = {{"f", "g"}, 2}};
    (void)state;
    assert_transformed(marked, o, "f;h 2\ng_[k];h 1\n");
}

/* A cut makes equal what began differently. */
static void test_cut_joins(void **state)
{
    static const struct row apart[] = {
        {"x;f;g", 1}, {"y;f;g", 2}, {"f;g", 4}, {"y;f", 8}};
    struct transform_options from = {.show_from = {{"f"}, 1}},
                             base = {.base = {{"f"}, 1}};
    (void)state;
    assert_transformed(apart, from, "f 8\nf;g 7\n");
    assert_transformed(apart, base, "f 8\nf;g 7\n");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_show_from),
        UNIT(test_base),
        UNIT(test_base_is_a_name),
        UNIT(test_cut_joins),
    };
    return UNITS_RUN(units);
}
