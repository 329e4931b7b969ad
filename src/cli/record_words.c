#include "cli/record_words.h"
#include "base/number.h"
#include "record/refusal.h"

#define RATE_MOST 1000000

bool record_parse_rate(const char *text, void *value, struct error *err)
{
    uint64_t v;
    if (strcmp(text, "max") == 0) {
        v = record_rate_most();
        v = v < RATE_MOST ? v : RATE_MOST;
    } else if (!number_parse_u64(str_of(text), &v) || v == 0 || v > RATE_MOST) {
        error_set(err, "'%s' is no number of samples a second", text);
        return error_hint(err, "from 1 to %d, or max", RATE_MOST);
    }
    *(int64_t *)value = (int64_t)v;
    return true;
}

#define RING_LEAST ((uint64_t)8 << 10)
#define RING_MOST ((uint64_t)1 << 30)

bool record_parse_ring(const char *text, void *value, struct error *err)
{
    struct str number = str_of(text);
    uint64_t v = 0, unit = 4096, size = RING_LEAST;
    if (str_ends(number, STR("K")) || str_ends(number, STR("M"))) {
        unit = str_ends(number, STR("K")) ? 1 << 10 : 1 << 20;
        number.len--;
    }
    if (!number_parse_u64(number, &v) || v == 0 || v > RING_MOST / unit) {
        error_set(err, "'%s' is no size of a ring", text);
        return error_hint(err, "512K, 4M, or a number of pages");
    }
    while (size < v * unit)
        size *= 2;
    *(uint64_t *)value = size;
    return true;
}
