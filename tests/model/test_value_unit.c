/* SPDX-License-Identifier: Apache-2.0 */
#include "model/value_unit.h"
#include "unit.h"

static void units_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum unit unit;
        int factor;
    } cases[] = {
        {"nanoseconds", UNIT_NANOSECONDS, 1},
        {"ms", UNIT_NANOSECONDS, 1000000},
        {"By", UNIT_BYTES, 1},
        {"kilobytes", UNIT_BYTES, 1024},
        {"cycles", UNIT_CYCLES, 1},
        {"count", UNIT_COUNT, 1},
        {"contentions", UNIT_COUNT, 1},
        {"", UNIT_COUNT, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct value_unit *found = value_unit_of(str_of(cases[i].name));
        assert_int_equal(found->unit, cases[i].unit);
        assert_int_equal((int)found->factor, cases[i].factor);
    }
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(units_by_name),
    };
    return UNITS_RUN(units);
}
