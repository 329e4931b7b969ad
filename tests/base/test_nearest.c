/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"
#include "unit.h"

static void assert_nearest(const char *word, const char *names, const char *expected)
{
    struct nearest n = {.word = str_of(word)};
    for (struct str rest = str_of(names); rest.len;)
        nearest_offer(&n, str_cut(&rest, ' '));
    assert_str(n.name, expected);
}

static void typing_errors(void **state)
{
    (void)state;
    assert_nearest("flod", "fold flamegraph info", "fold"); /* swap */
    assert_nearest("titel", "title total", "title");        /* swap */
    assert_nearest("wdth", "width height", "width");        /* omission */
    assert_nearest("reporrt", "report", "report");          /* insertion */
    assert_nearest("colars", "colors comm", "colors");      /* change */
    assert_nearest("FOLDED", "perf folded", "folded");      /* case */
    assert_nearest("cycels", "instructions cycles", "cycles");
}

static void a_prefix_is_enough(void **state)
{
    (void)state;
    assert_nearest("thr", "tree threads", "threads");
    assert_nearest("flamegr", "fold flamegraph", "flamegraph");
    assert_nearest("th", "threads", ""); /* too short: would match any name */
    assert_nearest("perf-script", "folded perf", "perf");
}

static void the_nearest_wins_and_the_first_of_equals(void **state)
{
    (void)state;
    assert_nearest("sort", "sport short sort", "sort");
    assert_nearest("fold", "bold cold", "bold");
}

static void different_names_are_not_offered(void **state)
{
    (void)state;
    assert_nearest("zebra", "fold report diff", "");
    assert_nearest("x", "y", "");
    assert_nearest("", "a", "");
    assert_nearest("abc", "", "");
    assert_nearest("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(typing_errors),
        UNIT(a_prefix_is_enough),
        UNIT(the_nearest_wins_and_the_first_of_equals),
        UNIT(different_names_are_not_offered),
    };
    return UNITS_RUN(units);
}
