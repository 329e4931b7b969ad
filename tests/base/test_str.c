/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "unit.h"

static void finding(void **state)
{
    (void)state;
    struct str s = STR("a;b;c");
    assert_int_equal(str_find(s, ';'), 1);
    assert_int_equal(str_rfind(s, ';'), 3);
    assert_int_equal(str_find(s, 'x'), 5);
    assert_int_equal(str_rfind(s, 'x'), 5);
    assert_int_equal(str_find(STR(""), 'x'), 0);
    assert_int_equal(str_search(STR("aaab"), STR("aab")), 1);
    assert_int_equal(str_search(STR("aaaa"), STR("aab")), 4);
    assert_int_equal(str_search(STR("ab"), STR("abc")), 2);
    assert_int_equal(str_search(STR("ab"), STR("")), 0);
    assert_int_equal(str_rsearch(STR("aabaab"), STR("aab")), 3);
    assert_int_equal(str_rsearch(STR("aaaa"), STR("aab")), 4);
    assert_int_equal(str_rsearch(STR("ab"), STR("abc")), 2);
    assert_true(str_has(STR("ab"), STR("b")));
    assert_true(str_has(STR(""), STR("")));
    assert_false(str_has(STR(""), STR("b")));
}

static void comparing(void **state)
{
    (void)state;
    assert_true(str_compare(STR("a"), STR("ab")) < 0);
    assert_true(str_compare(STR("b"), STR("ab")) > 0);
    assert_true(str_compare(STR("\x80"), STR("a")) > 0); /* bytes are unsigned */
    assert_int_equal(str_compare(STR(""), STR("")), 0);
    assert_true(str_starts(STR("perf"), STR("")));
    assert_true(str_ends(STR("perf"), STR("rf")));
    assert_false(str_ends(STR("rf"), STR("perf")));
}

static void cutting(void **state)
{
    (void)state;
    struct str rest = STR("one;;two");
    assert_str(str_cut(&rest, ';'), "one");
    assert_str(str_cut(&rest, ';'), "");
    assert_str(str_cut(&rest, ';'), "two");
    assert_int_equal(rest.len, 0);
    assert_str(str_cut(&rest, ';'), "");
    rest = STR("  comm \t 12  ");
    assert_str(str_word(&rest), "comm");
    assert_str(str_word(&rest), "12");
    assert_str(str_word(&rest), "");
    assert_str(str_skip(STR("abc"), 9), "");
    assert_str(str_head(STR("abc"), 9), "abc");
}

static void trimming(void **state)
{
    (void)state;
    assert_str(str_trim(STR(" \t a b\r\n")), "a b");
    assert_str(str_trim(STR(" \v\f ")), "");
    assert_str(str_trim_left(STR(" a ")), "a ");
    assert_str(str_trim_right(STR(" a ")), " a");
}

static void basename_of_a_path(void **state)
{
    (void)state;
    assert_str(str_basename(STR("/usr/lib/libc.so.6")), "libc.so.6");
    assert_str(str_basename(STR("libc.so.6")), "libc.so.6");
    assert_str(str_basename(STR("/")), "");
    assert_str(str_basename(STR("")), "");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(finding),  UNIT(comparing),          UNIT(cutting),
        UNIT(trimming), UNIT(basename_of_a_path),
    };
    return UNITS_RUN(units);
}
