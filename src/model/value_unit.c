/* SPDX-License-Identifier: Apache-2.0 */
#include "model/value_unit.h"

static const struct value_unit units[] = {
    {"nanoseconds", UNIT_NANOSECONDS, 1},
    {"ns", UNIT_NANOSECONDS, 1},
    {"microseconds", UNIT_NANOSECONDS, 1e3},
    {"us", UNIT_NANOSECONDS, 1e3},
    {"milliseconds", UNIT_NANOSECONDS, 1e6},
    {"ms", UNIT_NANOSECONDS, 1e6},
    {"seconds", UNIT_NANOSECONDS, 1e9},
    {"s", UNIT_NANOSECONDS, 1e9},
    {"bytes", UNIT_BYTES, 1},
    {"By", UNIT_BYTES, 1},
    {"kilobytes", UNIT_BYTES, 1024},
    {"megabytes", UNIT_BYTES, 1048576},
    {"cycles", UNIT_CYCLES, 1},
    {"count", UNIT_COUNT, 1},
};

#define UNITS (sizeof units / sizeof *units)

const struct value_unit *value_unit_of(struct str name)
{
    for (size_t i = 0; i < UNITS; i++)
        if (str_equal(name, str_of(units[i].name)))
            return &units[i];
    return &units[UNITS - 1];
}
