/* SPDX-License-Identifier: Apache-2.0 */
#include "import/quantity.h"
#include "base/number.h"

static const struct named_unit {
    const char *name;
    double scale;
    enum unit unit;
} units[] = {
    {"ns", 1, UNIT_NANOSECONDS},
    {"us", 1e3, UNIT_NANOSECONDS},
    {"\xc2\xb5s", 1e3, UNIT_NANOSECONDS}, /* micro sign */
    {"\xce\xbcs", 1e3, UNIT_NANOSECONDS}, /* Greek mu */
    {"ms", 1e6, UNIT_NANOSECONDS},
    {"msec", 1e6, UNIT_NANOSECONDS},
    {"s", 1e9, UNIT_NANOSECONDS},
    {"sec", 1e9, UNIT_NANOSECONDS},
    {"min", 60e9, UNIT_NANOSECONDS},
    {"mins", 60e9, UNIT_NANOSECONDS},
    {"h", 3600e9, UNIT_NANOSECONDS},
    {"hrs", 3600e9, UNIT_NANOSECONDS},
    {"B", 1, UNIT_BYTES},
    {"Bytes", 1, UNIT_BYTES},
    {"kB", 1024, UNIT_BYTES}, /* of pprof */
    {"KB", 1024, UNIT_BYTES},
    {"KiB", 1024, UNIT_BYTES},
    {"MB", 1048576, UNIT_BYTES},
    {"MiB", 1048576, UNIT_BYTES},
    {"GB", 1073741824, UNIT_BYTES},
    {"GiB", 1073741824, UNIT_BYTES},
    {"cycles", 1, UNIT_CYCLES},
    {"c", 1, UNIT_CYCLES},
    {"Kc", 1e3, UNIT_CYCLES},
    {"Mc", 1e6, UNIT_CYCLES},
    {"Gc", 1e9, UNIT_CYCLES},
    {"Tc", 1e12, UNIT_CYCLES},
};

static const struct named_unit *unit_named(struct str name)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (str_equal(str_of(units[i].name), name))
            return &units[i];
    return NULL;
}

/* Exactly three digits follow: a comma before them groups thousands. */
static bool is_group(struct str s)
{
    if (s.len < 3 || (s.len > 3 && byte_is_digit(s.ptr[3])))
        return false;
    return byte_is_digit(s.ptr[0]) && byte_is_digit(s.ptr[1]) && byte_is_digit(s.ptr[2]);
}

#define DIGITS_MAX 60

/* Copies a number's digits and point; a comma that does not group is a decimal point.
 * Returns its length in s, 0 if it is not a number or too long. */
static size_t take_number(struct str s, char *out, size_t *used, size_t *decimals)
{
    size_t at = 0;
    bool point = false;
    *used = *decimals = 0;
    for (; at < s.len && *used < DIGITS_MAX; at++) {
        char c = s.ptr[at];
        struct str after = str_skip(s, at + 1);
        if (byte_is_digit(c)) {
            out[(*used)++] = c;
            *decimals += point;
        } else if (c == ',' && *used && !point && out[0] != '0' && is_group(after)) {
            continue;
        } else if ((c == '.' || c == ',') && !point && after.len &&
                   byte_is_digit(after.ptr[0])) {
            out[(*used)++] = '.';
            point = true;
        } else {
            break;
        }
    }
    return *used && *used < DIGITS_MAX ? at : 0;
}

static double step_of(size_t decimals)
{
    double step = 1;
    while (decimals--)
        step /= 10;
    return step;
}

/* Removes the unit at the start of *text, if any. False if other characters directly
 * follow the number. */
static bool take_unit(struct str *text, struct quantity *q)
{
    struct str rest = str_trim_left(*text), word = str_word(&rest);
    const struct named_unit *unit = unit_named(word);
    if (!unit)
        return text->len == 0 || byte_is_space(text->ptr[0]) || text->ptr[0] == '%';
    *text = rest;
    q->value *= unit->scale;
    q->step *= unit->scale;
    q->unit = unit->unit;
    q->has_unit = true;
    return true;
}

bool quantity_take(struct str *text, struct quantity *q)
{
    struct str rest = str_trim(*text);
    char digits[DIGITS_MAX];
    size_t used, decimals, length;
    *q = (struct quantity){.unit = UNIT_COUNT};
    if (str_equal(rest, STR("-"))) {
        *text = str_skip(rest, 1);
        return true;
    }
    length = take_number(rest, digits, &used, &decimals);
    if (length == 0 || !number_parse_double((struct str){digits, used}, &q->value))
        return false;
    rest = str_skip(rest, length);
    q->step = step_of(decimals);
    if (!take_unit(&rest, q))
        return false;
    if (q->step == 1) /* an integer in the smallest unit */
        q->step = 0;
    *text = rest;
    return q->value <= QUANTITY_MAX;
}

bool quantity_header_unit(struct str header, double *scale, enum unit *unit)
{
    struct str rest = str_skip(header, str_find(header, '(') + 1);
    size_t end = str_find(rest, ')');
    const struct named_unit *named = unit_named(str_head(rest, end));
    if (!named || end == rest.len)
        return false;
    *scale = named->scale;
    *unit = named->unit;
    return true;
}
