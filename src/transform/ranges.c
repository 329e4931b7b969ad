/* SPDX-License-Identifier: Apache-2.0 */
/* Parses numbers, ranges and times. */
#include "base/number.h"
#include "transform/transform.h"

static bool bad_range(struct str text, struct error *err)
{
    error_set(err, "invalid list of numbers '%.*s'", STR_ARG(text));
    return error_hint(err, "for example 3 or 3,7,10-12");
}

bool number_set_has(const struct number_set *set, uint64_t number)
{
    for (size_t i = 0; i < set->count; i++)
        if (number >= set->ranges[i].first && number <= set->ranges[i].last)
            return true;
    return false;
}

bool number_set_add(struct number_set *set, struct str text, struct error *err)
{
    struct str rest = text;
    if (text.len == 0)
        return bad_range(text, err);
    while (rest.len) {
        struct str part = str_cut(&rest, ','), first = str_cut(&part, '-');
        uint64_t from, to;
        if (set->count == TRANSFORM_WORDS_MAX)
            return error_set(err, "more than %d ranges", TRANSFORM_WORDS_MAX);
        if (!number_parse_u64(first, &from))
            return bad_range(text, err);
        to = from;
        if (part.ptr != first.ptr + first.len && !number_parse_u64(part, &to))
            return bad_range(text, err);
        if (to < from)
            return bad_range(text, err);
        set->ranges[set->count].first = from;
        set->ranges[set->count++].last = to;
    }
    return true;
}

static bool bad_time(struct str text, struct error *err)
{
    error_set(err, "invalid time '%.*s'", STR_ARG(text));
    return error_hint(err, "12.5 (seconds by the input's clock), +1.5 or +200ms (from "
                           "its first sample on), or 20%%");
}

/* The number of decimals that the unit has in nanoseconds. Removes the unit. */
static int take_unit(struct str *s)
{
    static const struct {
        const char *name;
        int decimals;
    } units[] = {{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!str_ends(*s, str_of(units[i].name)))
            continue;
        s->len -= strlen(units[i].name);
        return units[i].decimals;
    }
    return 9;
}

/* Parses a decimal number as value * 10^decimals, exactly; further decimals are
 * ignored. */
static bool parse_scaled(struct str s, int decimals, uint64_t *out)
{
    struct str fraction = s, whole = str_cut(&fraction, '.');
    uint64_t v = 0, digit;
    if (whole.len && !number_parse_u64(whole, &v))
        return false;
    if (whole.len + fraction.len == 0)
        return false;
    for (size_t i = 0; i < fraction.len; i++)
        if (!byte_is_digit(fraction.ptr[i]))
            return false;
    for (int i = 0; i < decimals; i++) {
        digit = (size_t)i < fraction.len ? (uint64_t)(fraction.ptr[i] - '0') : 0;
        if (v > (UINT64_MAX - 9) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

bool time_point_parse(struct str text, struct time_point *out, struct error *err)
{
    struct str s = text;
    *out = (struct time_point){.at = TIME_POINT_CLOCK};
    if (str_ends(s, STR("%"))) {
        s.len--;
        out->at = TIME_POINT_PERCENT;
        return (number_parse_double(s, &out->percent) && out->percent >= 0 &&
                out->percent <= 100) ||
               bad_time(text, err);
    }
    if (str_starts(s, STR("+"))) {
        s = str_skip(s, 1);
        out->at = TIME_POINT_FROM_FIRST;
    }
    int decimals = take_unit(&s);
    return parse_scaled(s, decimals, &out->ns) || bad_time(text, err);
}

static uint64_t add_clamped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t time_point_resolve(const struct time_point *t, uint64_t first, uint64_t last)
{
    double length = (double)(last - first);
    switch (t->at) {
    case TIME_POINT_FROM_FIRST:
        return add_clamped(first, t->ns);
    case TIME_POINT_PERCENT: /* the first share of a single moment has it */
        return t->percent >= 100 || (first == last && t->percent > 0)
                   ? add_clamped(last, 1)
                   : add_clamped(first, (uint64_t)(length * t->percent / 100));
    default:
        return t->ns;
    }
}

static bool bad_slice(struct str text, struct error *err)
{
    error_set(err, "invalid share of the time '%.*s'", STR_ARG(text));
    return error_hint(err, "10%%-20%%, or 10%%/2, the second tenth");
}

static bool take_percent(struct str *text, double *percent)
{
    struct str number = str_cut(text, '%');
    return number_parse_double(number, percent) && *percent >= 0 && *percent <= 100;
}

/* "10%-20%" or "10%/2". */
static bool parse_slice(struct str text, struct time_point *start, struct time_point *end,
                        struct error *err)
{
    struct str rest = text;
    double first, last;
    uint64_t part;
    if (!take_percent(&rest, &first) || rest.len == 0)
        return bad_slice(text, err);
    bool is_part = rest.ptr[0] == '/', is_range = rest.ptr[0] == '-';
    rest = str_skip(rest, 1);
    if (is_part) {
        if (!number_parse_u64(rest, &part) || part == 0 || (double)part * first > 100)
            return bad_slice(text, err);
        last = (double)part * first;
        first = last - first;
    } else if (!is_range || !str_ends(rest, STR("%")) || !take_percent(&rest, &last) ||
               rest.len) {
        return bad_slice(text, err);
    }
    *start = (struct time_point){.at = TIME_POINT_PERCENT, .percent = first};
    *end = (struct time_point){.at = TIME_POINT_PERCENT, .percent = last};
    return true;
}

/* "START,STOP": either may be missing. */
static bool parse_range(struct str text, struct time_point *start, struct time_point *end,
                        struct error *err)
{
    struct str stop = text, from = str_cut(&stop, ',');
    if ((from.len && !time_point_parse(from, start, err)) ||
        (stop.len && !time_point_parse(stop, end, err)))
        return false;
    if (end->at == TIME_POINT_CLOCK || end->at == TIME_POINT_FROM_FIRST)
        end->ns = add_clamped(end->ns, 1); /* STOP itself is in the range */
    return true;
}

static bool ends_first(const struct time_point *start, const struct time_point *end)
{
    if (start->at != end->at || start->at == TIME_POINT_NONE)
        return false;
    return start->at == TIME_POINT_PERCENT ? start->percent >= end->percent
                                           : start->ns >= end->ns;
}

static bool add_span(struct time_spans *spans, struct str text, bool is_slice,
                     struct error *err)
{
    struct time_point start = {.at = TIME_POINT_NONE}, end = start;
    if (spans->count == TIME_SPANS_MAX)
        return error_set(err, "more than %d ranges of time", TIME_SPANS_MAX);
    if (is_slice ? !parse_slice(text, &start, &end, err)
                 : !parse_range(text, &start, &end, err))
        return false;
    if (ends_first(&start, &end))
        return error_set(err, "'%.*s' ends before it begins", STR_ARG(text));
    spans->items[spans->count].start = start;
    spans->items[spans->count++].end = end;
    return true;
}

bool time_spans_parse(struct str text, struct time_spans *spans, struct error *err)
{
    spans->count = 0;
    while (text.len) {
        struct str word = str_cut(&text, ' ');
        bool is_slice = str_has(word, STR("%-")) || str_has(word, STR("%/"));
        while (word.len) {
            struct str one = is_slice ? str_cut(&word, ',') : word;
            word = is_slice ? word : STR("");
            if (!add_span(spans, one, is_slice, err))
                return false;
        }
    }
    return spans->count || error_set(err, "the list of times is empty");
}
