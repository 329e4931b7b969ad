/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/quantity.h"
#include "base/number.h"

bool quantity_parse(const char *text, const char *units, const uint64_t *factors,
                    uint64_t most, uint64_t *value)
{
    struct str number = str_of(text);
    const char *unit = number.len > 1 ? strchr(units, number.ptr[number.len - 1]) : NULL;
    uint64_t v, factor = unit ? factors[unit - units] : 1;
    if (unit)
        number.len--;
    if (!number_parse_u64(number, &v) || v == 0 || v > most / factor)
        return false;
    *value = v * factor;
    return true;
}

bool quantity_parse_size(const char *text, void *value, struct error *err)
{
    static const uint64_t factors[] = {1 << 10, 1 << 20, 1 << 30};
    if (quantity_parse(text, "KMG", factors, (uint64_t)1 << 50, value))
        return true;
    error_set(err, "invalid size '%s'", text);
    return error_hint(err, "in bytes, or 512K, 64M, 2G");
}
