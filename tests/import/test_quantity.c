#include "import/quantity.h"
#include "unit.h"

static void check(const char *text, double value, double step, const char *rest)
{
    struct str left = str_of(text);
    struct quantity q;
    assert_true(quantity_take(&left, &q));
    assert_double(q.value, value);
    assert_double(q.step, step);
    assert_str(left, rest);
}

static void units_are_known(void **state)
{
    (void)state;
    struct str text = STR("1.5 GB x");
    struct quantity q;
    check("846.00 ms", 846e6, 0.01 * 1e6, "");
    check("4.9 s  100.0%", 4.9 * 1e9, 0.1 * 1e9, "  100.0%");
    check("17ms", 17e6, 1e6, "");
    check("3 ns", 3, 0, "");
    check("1.50kB   main.f", 1.5 * 1024, 0.01 * 1024, "   main.f");
    check("2hrs", 7200e9, 3600e9, "");
    check("532 cycles    0.0%", 532, 0, "    0.0%");
    check("12 things", 12, 0, " things");
    assert_true(quantity_take(&text, &q));
    assert_true(q.has_unit && q.unit == UNIT_BYTES);
    assert_double(q.value, 1.5 * 1073741824);
}

static void commas_group_or_are_points(void **state)
{
    (void)state;
    check("1,234", 1234, 0, "");
    check("12,345,678", 12345678, 0, "");
    check("1,25", 1.25, 0.1 / 10, "");
    check("0,016", 0.016, 0.1 / 10 / 10, "");
    check(".5", 0.5, 0.1, "");
    check("99.5%", 99.5, 0.1, "%");
    check(" - ", 0, 0, "");
}

static void other_texts_are_no_amounts(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "ms",
        "-5",
        "+5",
        "1e5",
        "5x",
        "0x10",
        "1,2,3",
        "99999999999 Gc",
        "1234567890123456789012345678901234567890123456789012345678901234567890"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct str text = str_of(bad[i]);
        struct quantity q;
        if (quantity_take(&text, &q))
            fail_msg("\"%s\" was taken as %g", bad[i], q.value);
    }
}

static void headers_have_units(void **state)
{
    (void)state;
    double scale;
    enum unit unit;
    assert_true(quantity_header_unit(STR("Self (ms)"), &scale, &unit));
    assert_double(scale, 1e6);
    assert_int_equal(unit, UNIT_NANOSECONDS);
    assert_false(quantity_header_unit(STR("Self"), &scale, &unit));
    assert_false(quantity_header_unit(STR("Self (odd)"), &scale, &unit));
    assert_false(quantity_header_unit(STR("(ms"), &scale, &unit));
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(units_are_known),
        UNIT(commas_group_or_are_points),
        UNIT(other_texts_are_no_amounts),
        UNIT(headers_have_units),
    };
    return UNITS_RUN(units);
}
