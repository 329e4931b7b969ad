/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/measure.h"
#include "base/number.h"

_Static_assert(MEASURE_TEXT_MAX >= NUMBER_TEXT_MAX / 3 * 4, "thousands are set apart");

struct measure measure_for(enum unit unit, double largest, bool fractions)
{
    static const struct measure times[] = {
        {1e9, 3, "s"}, {1e6, 3, "ms"}, {1e3, 3, "us"}, {1, 0, "ns"}};
    static const struct measure bytes[] = {{(double)(1 << 30), 2, "GiB"},
                                           {(double)(1 << 20), 2, "MiB"},
                                           {(double)(1 << 10), 2, "KiB"},
                                           {1, 0, "bytes"}};
    if (unit == UNIT_NANOSECONDS || unit == UNIT_BYTES) {
        const struct measure *m = unit == UNIT_BYTES ? bytes : times;
        while (m->divisor > 1 && largest < m->divisor)
            m++;
        return *m;
    }
    if (unit == UNIT_MILLISECONDS)
        return largest < 1e3 ? (struct measure){1, fractions ? 2 : 0, "ms"}
                             : (struct measure){1e3, 3, "s"};
    return (struct measure){1, fractions ? 2 : 0, ""};
}

/* 1204.5 -> 1,204.5 */
size_t measure_write(const struct measure *m, double v, char *out)
{
    char digits[NUMBER_TEXT_MAX];
    size_t length = number_write_fixed(v / m->divisor, m->decimals, digits), used = 0;
    struct str all = {digits, length};
    size_t from = length && digits[0] == '-', whole = str_find(all, '.');
    if (str_find(all, 'e') < length) { /* too large to print all digits */
        memcpy(out, digits, length);
        return length;
    }
    for (size_t i = 0; i < length; i++) {
        if (i > from && i < whole && (whole - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    return used;
}
