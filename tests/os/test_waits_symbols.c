/* SPDX-License-Identifier: Apache-2.0 */
/* Which function of a kernel ends each switch, and where its scheduler is, in lines as those of
 * /proc/kallsyms of several kernels. */
#include "os/waits_symbols.h"
#include "unit.h"

static struct waits_symbols read_lines(const char *lines)
{
    struct waits_symbols s = {.schedule_start = 0};
    waits_symbols_read(&s, str_of(lines));
    return s;
}

static void expect(const char *lines, const char *finish)
{
    struct waits_symbols s = read_lines(lines);
    assert_string_equal(s.finish_switch, finish);
}

static void the_function_or_a_variant(void **state)
{
    (void)state;
    expect("ffffffff810c0000 t finish_task_switch\n", "finish_task_switch");
    expect("ffffffff813a2370 t __pfx_finish_task_switch.isra.0\n"
           "ffffffff813a2380 t finish_task_switch.isra.0\n"
           "ffffffff813a2630 T kick_process\n",
           "finish_task_switch.isra.0");
    expect("ffff8000100a0000 T finish_task_switch.constprop.0.isra.0\n",
           "finish_task_switch.constprop.0.isra.0");
}

static void other_functions_are_not_used(void **state)
{
    (void)state;
    expect("", "");
    expect("ffffffff810c0000 t finish_task\n", "");
    expect("ffffffff810c0000 t finish_task_switches\n", "");
    expect("ffffffff810c0000 d finish_task_switch\n", "");
    expect("ffffffff810c0000 t finish_task_switch.isra.0.cold\n", "");
    /* in any order */
    expect("ffffffff810c0000 t finish_task_switch.isra.0.cold\n"
           "ffffffff810d0000 t finish_task_switch.isra.0\n",
           "finish_task_switch.isra.0");
    expect("ffffffff810d0000 t finish_task_switch.isra.0\n"
           "ffffffff82000000 t finish_task_switch.isra.0.cold\n",
           "finish_task_switch.isra.0");
}

/* Users without rights see no addresses; the name is enough for a kprobe. */
static void hidden_addresses(void **state)
{
    (void)state;
    struct waits_symbols s = read_lines("0000000000000000 t finish_task_switch.isra.0\n"
                                        "0000000000000000 t __schedule\n"
                                        "0000000000000000 T schedule\n");
    assert_string_equal(s.finish_switch, "finish_task_switch.isra.0");
    assert_int_equal(s.schedule_start, 0);
    assert_int_equal(s.schedule_end, 0);
}

/* Lines need not be sorted: the end is the next address. */
static void the_scheduler(void **state)
{
    (void)state;
    struct waits_symbols s = {.schedule_start = 0};
    waits_symbols_read(&s, STR("ffffffff82000000 T before\n"
                               "ffffffff82001000 t __schedule\n"));
    waits_symbols_read(&s, STR("ffffffff82005000 T later\n"
                               "ffffffff82003000 T schedule\n"
                               "ffffffffc0000000 t of_module\t[nfs]\n"));
    assert_int_equal(s.schedule_start, 0xffffffff82001000);
    assert_int_equal(s.schedule_end, 0xffffffff82003000);
}

static void damaged_lines(void **state)
{
    (void)state;
    static char name[300];
    memset(name, 'x', sizeof name - 1);
    struct str lines[] = {STR("\n\n \n  \n"),       STR("t"),
                          STR("ffffffff810c0000"),  STR("ffffffff810c0000 t"),
                          STR("zz t __schedule\n"), str_of(name)};
    struct waits_symbols s = {.schedule_start = 0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        waits_symbols_read(&s, lines[i]);
    memcpy(name, "ffffffff810c0000 t finish_task_switch.",
           sizeof "ffffffff810c0000 t finish_task_switch." - 1);
    waits_symbols_read(&s, str_of(name)); /* too long for a kprobe */
    assert_string_equal(s.finish_switch, "");
    assert_int_equal(s.schedule_start, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        UNIT(the_function_or_a_variant),
        UNIT(other_functions_are_not_used),
        UNIT(hidden_addresses),
        UNIT(the_scheduler),
        UNIT(damaged_lines),
    };
    return UNITS_RUN(tests);
}
