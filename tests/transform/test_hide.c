/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static const struct row rows[] = {
    {"main;lib;parse;lib;alloc", 5, "a/1"},
    {"main;emit", 7, "b/2"},
    {"lib;lib", 3, "a/1"},
    {"", 1, "a/1"},
};

static void test_hide(void **state)
{
    struct transform_options o = {.hide = {{"^lib$"}, 1}};
    (void)state;
    /* A stack whose frames are all hidden is dropped; a stack without frames remains. */
    assert_transformed(rows, o, "a-1/? 1\na-1/?;main;parse;alloc 5\nb-2/?;main;emit 7\n");
}

static void test_hide_joins_what_it_parted(void **state)
{
    static const struct row parted[] = {
        {"a;x;b", 1}, {"a;b", 2}, {"a;y;b", 4}, {"a;x", 8}};
    struct transform_options o = {.hide = {{"x", "y"}, 2}};
    (void)state;
    struct profile *p = transformed(PROFILE(parted), &o);
    assert_folded(p, "a 8\na;b 7\n");
    assert_int_equal(p->stack_count, 3);
    assert_int_equal(p->frame_count, 3);
    profile_destroy(p);
}

static void test_show(void **state)
{
    struct transform_options o = {.show = {{"main", "alloc"}, 2}};
    (void)state;
    assert_transformed(rows, o, "a-1/?;main;alloc 5\nb-2/?;main 7\n");
}

static void test_hide_marked(void **state)
{
    static const struct row marked[] = {{"main;sys_read_[k];copy_[k]", 3},
                                        {"main;copy", 4}};
    struct transform_options kernel = {.hide = {{"_\\[k\\]$"}, 1}};
    struct transform_options name = {.hide = {{"^copy$"}, 1}};
    (void)state;
    assert_transformed(marked, kernel, "main 3\nmain;copy 4\n");
    assert_transformed(marked, name, "main 4\nmain;sys_read_[k] 3\n");
}

static void test_hide_all(void **state)
{
    struct transform_options o = {.hide = {{"."}, 1}};
    static const struct row all[] = {{"a;b", 1}, {"c", 2}};
    const struct transform *emptied;
    struct error err;
    (void)state;
    struct profile *p = transform_apply(&o, PROFILE(all), &emptied, &err);
    assert_non_null(p);
    assert_ptr_equal(emptied, transform_named(STR("hide")));
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_hide),     UNIT(test_hide_joins_what_it_parted),
        UNIT(test_show),     UNIT(test_hide_marked),
        UNIT(test_hide_all),
    };
    return UNITS_RUN(units);
}
