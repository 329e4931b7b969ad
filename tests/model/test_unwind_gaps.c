/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "model/unwind_gaps.h"
#include "unit.h"

static void by_file(void **state)
{
    struct unwind_gaps g = {0}, other = {0};
    (void)state;
    assert_null(unwind_gaps_most(&g));
    unwind_gaps_add(&g, STR("/usr/lib/liba.so"), 2);
    unwind_gaps_add(&g, STR("/opt/libb.so"), 3);
    unwind_gaps_add(&g, STR("/other/liba.so"), 2);
    unwind_gaps_add(&g, STR(""), 1);
    assert_int_equal(g.count, 3);
    assert_int_equal(g.stacks, 8);
    assert_string_equal(unwind_gaps_most(&g)->file, "liba.so");
    unwind_gaps_add(&other, STR("libb.so"), 5);
    unwind_gaps_merge(&g, &other);
    assert_int_equal(g.count, 3);
    assert_int_equal(g.stacks, 13);
    assert_string_equal(unwind_gaps_most(&g)->file, "libb.so");
}

/* Names are shown by all outputs: in terminals, pictures and pages. */
static void hostile_names(void **state)
{
    struct unwind_gaps g = {0};
    (void)state;
    unwind_gaps_add(&g, STR("/a/\x1b[31m<b>&\"\n\xff"), 1);
    assert_string_equal(g.files[0].file, "?[31m?b?????");
    unwind_gaps_add(&g, STR("/a/0123456789012345678901234567890123456789012345678901234"),
                    2);
    assert_int_equal(strlen(g.files[1].file), UNWIND_GAP_NAME_MAX);
}

static void many_files(void **state)
{
    struct unwind_gaps g = {0}, all = {0};
    char name[16];
    (void)state;
    for (unsigned i = 0; i < UNWIND_GAPS_MAX + 10; i++) {
        format_text(name, sizeof name, "lib%u.so", i);
        unwind_gaps_add(&g, str_of(name), 1);
    }
    assert_int_equal(g.count, UNWIND_GAPS_MAX);
    assert_int_equal(g.stacks, UNWIND_GAPS_MAX + 10);
    unwind_gaps_merge(&all, &g);
    assert_int_equal(all.stacks, UNWIND_GAPS_MAX + 10);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(by_file), UNIT(hostile_names),
                                       UNIT(many_files)};
    return UNITS_RUN(units);
}
