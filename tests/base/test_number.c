/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"
#include "unit.h"

static void assert_written(double v, const char *expected)
{
    char text[NUMBER_TEXT_MAX];
    assert_str(((struct str){text, number_write_double(v, text)}), expected);
}

static void assert_fixed(double v, int decimals, const char *expected)
{
    char text[NUMBER_TEXT_MAX];
    assert_str(((struct str){text, number_write_fixed(v, decimals, text)}), expected);
}

static void assert_read(const char *text, double expected)
{
    double v = -12345;
    if (!number_parse_double(str_of(text), &v))
        fail_msg("'%s' was refused", text);
    assert_double(v, expected);
}

static void unsigned_numbers(void **state)
{
    (void)state;
    uint64_t v = 7;
    assert_true(number_parse_u64(STR("0"), &v));
    assert_int_equal(v, 0);
    assert_true(number_parse_u64(STR("18446744073709551615"), &v));
    assert_true(v == UINT64_MAX);
    v = 7;
    assert_false(number_parse_u64(STR("18446744073709551616"), &v));
    assert_false(number_parse_u64(STR("99999999999999999999"), &v));
    assert_false(number_parse_u64(STR(""), &v));
    assert_false(number_parse_u64(STR("-1"), &v));
    assert_false(number_parse_u64(STR("1 "), &v));
    assert_int_equal(v, 7);
}

static void hexadecimal_numbers(void **state)
{
    (void)state;
    uint64_t v = 7;
    assert_true(number_parse_hex(STR("ffffffff81000000"), &v));
    assert_true(v == 0xffffffff81000000u);
    assert_true(number_parse_hex(STR("0xAb"), &v));
    assert_int_equal(v, 0xab);
    v = 7;
    assert_false(number_parse_hex(STR("0x"), &v));
    assert_false(number_parse_hex(STR("10000000000000000"), &v));
    assert_false(number_parse_hex(STR("g"), &v));
    assert_int_equal(v, 7);
}

static void whole_numbers_are_written_in_full(void **state)
{
    (void)state;
    char text[NUMBER_TEXT_MAX];
    assert_str(((struct str){text, number_write_u64(UINT64_MAX, text)}),
               "18446744073709551615");
    assert_str(((struct str){text, number_write_hex(0xdeadbeefu, text)}), "deadbeef");
    assert_str(((struct str){text, number_write_hex(0, text)}), "0");
    assert_written(0, "0");
    assert_written(-0.0, "0");
    assert_written(3, "3");
    assert_written(-41, "-41");
    assert_written(9007199254740991, "9007199254740991");
    assert_written(1000000000000000, "1000000000000000");
    assert_written(9007199254740994, "9007199254740994");
    assert_written(-123456789012345680, "-123456789012345680");
    assert_written(18446744073709549568.0, "18446744073709549568");
}

/* Around each power of ten and of two, where the number of digits changes. */
static void whole_numbers_of_each_length_read_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 84; i++) {
        uint64_t power = i < 64 ? (uint64_t)1 << i : 1;
        for (unsigned j = 64; j <= i; j++)
            power *= 10;
        for (uint64_t v = power - 2; v != power + 3; v++) {
            char text[NUMBER_TEXT_MAX];
            struct str written = {text, number_write_u64(v, text)};
            uint64_t back;
            assert_true(number_parse_u64(written, &back));
            assert_true(back == v && (text[0] != '0' || v == 0));
        }
    }
}

static void fractions_are_written_short(void **state)
{
    (void)state;
    assert_written(0.1, "0.1");
    assert_written(0.1 + 0.2, "0.3");
    assert_written(2.5, "2.5");
    assert_written(1234567.125, "1234567.125");
    assert_written(0.00001234, "0.00001234");
    assert_written(-0.75, "-0.75");
    assert_written(1.5e20, "1.5e+20");
    assert_written(1e-9, "1e-9");
    assert_written(1000000000000000.5, "1e+15"); /* the sixteenth digit is lost */
}

static void the_largest_and_the_smallest(void **state)
{
    (void)state;
    char text[NUMBER_TEXT_MAX];
    double v;
    static const double edges[] = {
        1.7e308, 1e300, 5e-324, 2.2250738585072014e-308, 1e-300, 9007199254740993.0,
        1e15,    1e16};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        size_t n = number_write_double(-edges[i], text);
        assert_true(n > 1 && n < NUMBER_TEXT_MAX);
        if (edges[i] >= 1e300)
            continue;
        assert_true(number_parse_double((struct str){text, n}, &v));
        assert_true(v < 0 && -v >= edges[i] * (1 - 1e-14) &&
                    -v <= edges[i] * (1 + 1e-14));
    }
    assert_true(number_parse_double(STR("1e299"), &v));
    assert_false(number_parse_double(STR("1e301"), &v));
    assert_false(number_parse_double(STR("1e99999"), &v));
    assert_read("1e-5000", 0);
    assert_read("0e9999", 0);
}

static void decimals_are_read_exactly(void **state)
{
    (void)state;
    assert_read("0", 0);
    assert_read("+5", 5);
    assert_read("-5", -5);
    assert_read("5.", 5);
    assert_read(".5", 0.5);
    assert_read("0.1", 0.1);
    assert_read("123456.789", 123456.789);
    assert_read("1e3", 1000);
    assert_read("1E+3", 1000);
    assert_read("25e-1", 2.5);
    assert_read("9007199254740992", 9007199254740992.0);
    assert_read("000000000000000000000000000001", 1);
    assert_read("1.0000000000000000000000000000000000", 1);
}

static void invalid_numbers_are_rejected(void **state)
{
    (void)state;
    static const char *const words[] = {
        "",    "-",   "+",    ".",  "e5", "1e",  "1e+",   "1.2.3", "1x",
        "nan", "inf", "0x10", " 1", "1 ", "--1", "1e5.5", "1,5",   "Infinity"};
    double v = 7;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (number_parse_double(str_of(words[i]), &v))
            fail_msg("'%s' was read as %g", words[i], v);
    assert_double(v, 7);
}

/* Numbers of at most 15 digits are unchanged after writing and reading. */
static void numbers_survive_the_round_trip(void **state)
{
    (void)state;
    uint64_t seed = 1;
    char text[NUMBER_TEXT_MAX], expected[NUMBER_TEXT_MAX];
    for (int i = 0; i < 200000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int decimals = (int)(seed >> 60) % 7;
        double v = (double)(seed >> 16 & 0xffffffff), back;
        for (int d = 0; d < decimals; d++)
            v /= 10;
        size_t n = number_write_double(v, text);
        assert_true(number_parse_double((struct str){text, n}, &back));
        snprintf(expected, sizeof expected, "%.15g", v);
        double libc = strtod(expected, NULL);
        if (memcmp(&back, &libc, sizeof back) != 0)
            fail_msg("%.17g became %.*s, libc has %s", v, (int)n, text, expected);
    }
}

/* Halves become even, and numbers that only look like halves are rounded by their exact value. */
static void fixed_decimals_are_those_of_printf(void **state)
{
    (void)state;
    uint64_t random = 7;
    assert_fixed(0.625, 2, "0.62");
    assert_fixed(0.875, 2, "0.88");
    assert_fixed(1.115, 2, "1.11");
    assert_fixed(0.5, 0, "0");
    assert_fixed(1.5, 0, "2");
    for (unsigned i = 0; i < 200000; i++) {
        char expected[64];
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned decimals = i % 5;
        double v = (double)(random >> 40) / (i & 1 ? 1000 : 1024);
        snprintf(expected, sizeof expected, "%.*f", (int)decimals, v);
        assert_fixed(v, (int)decimals, expected);
    }
}

static void fixed_decimals(void **state)
{
    (void)state;
    assert_fixed(0, 2, "0.00");
    assert_fixed(99.995, 2, "100.00");
    assert_fixed(12.345, 1, "12.3");
    assert_fixed(0.5, 0, "0");
    assert_fixed(-0.04, 1, "0.0");
    assert_fixed(-0.06, 1, "-0.1");
    assert_fixed(-12.5, 0, "-12");
    assert_fixed(0.000000001, 9, "0.000000001");
    assert_fixed(1e14, 1, "100000000000000.0");
    assert_fixed(999999999999999, 2, "999999999999999.00");
    assert_fixed(140737488355327.5, 3, "140737488355327.500");
    assert_fixed(1e20, 2, "1e+20"); /* too large for decimals */
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(unsigned_numbers),
        UNIT(hexadecimal_numbers),
        UNIT(whole_numbers_are_written_in_full),
        UNIT(whole_numbers_of_each_length_read_back),
        UNIT(fractions_are_written_short),
        UNIT(the_largest_and_the_smallest),
        UNIT(decimals_are_read_exactly),
        UNIT(invalid_numbers_are_rejected),
        UNIT(numbers_survive_the_round_trip),
        UNIT(fixed_decimals),
        UNIT(fixed_decimals_are_those_of_printf),
    };
    return UNITS_RUN(units);
}
