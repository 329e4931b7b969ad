/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/transform.h"
#include "unit.h"

static void test_numbers(void **state)
{
    struct number_set set = {0};
    struct error err;
    (void)state;
    assert_true(number_set_add(&set, STR("7,10-12"), &err));
    assert_true(number_set_add(&set, STR("0"), &err));
    assert_int_equal(set.count, 3);
    assert_int_equal(set.ranges[0].first, 7);
    assert_int_equal(set.ranges[0].last, 7);
    assert_int_equal(set.ranges[1].first, 10);
    assert_int_equal(set.ranges[1].last, 12);
    assert_int_equal(set.ranges[2].last, 0);
}

static void test_bad_numbers(void **state)
{
    static const char *const bad[] = {
        "", "x", "1-", "-1", "3-2", ",1", "1 2", "1-2-3", "99999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct number_set set = {0};
        struct error err;
        if (number_set_add(&set, str_of(bad[i]), &err))
            fail_msg("'%s' was taken", bad[i]);
    }
    struct number_set many = {0};
    struct error err;
    for (size_t i = 0; i < TRANSFORM_WORDS_MAX; i++)
        assert_true(number_set_add(&many, STR("1"), &err));
    assert_false(number_set_add(&many, STR("1"), &err));
}

static void assert_time(const char *text, int at, uint64_t ns)
{
    struct time_point t;
    struct error err;
    assert_true(time_point_parse(str_of(text), &t, &err));
    assert_int_equal(t.at, at);
    assert_int_equal(t.ns, ns);
}

static void test_times(void **state)
{
    struct time_point t;
    struct error err;
    (void)state;
    assert_time("12.5", TIME_POINT_CLOCK, 12500000000);
    assert_time("9876543.123456789", TIME_POINT_CLOCK, 9876543123456789);
    assert_time(".5s", TIME_POINT_CLOCK, 500000000);
    assert_time("+1.5", TIME_POINT_FROM_FIRST, 1500000000);
    assert_time("+200ms", TIME_POINT_FROM_FIRST, 200000000);
    assert_time("+1.5us", TIME_POINT_FROM_FIRST, 1500);
    assert_time("7ns", TIME_POINT_CLOCK, 7);
    assert_time("1.23456789012345", TIME_POINT_CLOCK, 1234567890);
    assert_true(time_point_parse(STR("12.5%"), &t, &err));
    assert_int_equal(t.at, TIME_POINT_PERCENT);
    assert_double(t.percent, 12.5);
}

static void test_bad_times(void **state)
{
    static const char *const bad[] = {
        "",  "x", "4x", "1.2.3", "-1",  "101%",          "-1%",
        "%", "+", "s",  ".",     "1e3", "99999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct time_point t;
        struct error err;
        if (time_point_parse(str_of(bad[i]), &t, &err))
            fail_msg("'%s' was taken", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_numbers), UNIT(test_bad_numbers),
                                       UNIT(test_times), UNIT(test_bad_times)};
    return UNITS_RUN(units);
}
