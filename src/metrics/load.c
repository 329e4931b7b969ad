/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/load.h"
#include "metrics/number.h"

bool load_average_parse(struct str text, struct load_average *out)
{
    *out = (struct load_average){0};
    for (size_t i = 0; i < 3; i++)
        if (!number_parse_double(str_word(&text), &out->minutes[i]))
            return false;
    struct str threads = str_word(&text), running = str_cut(&threads, '/');
    return number_parse_u64(running, &out->running) &&
           number_parse_u64(threads, &out->threads);
}

/* Reads "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" after its first word. */
static void parse_fields(struct str line, struct pressure *out)
{
    static const char *const averages[3] = {"avg10", "avg60", "avg300"};
    for (struct str value = str_word(&line); value.len; value = str_word(&line)) {
        struct str name = str_cut(&value, '=');
        for (size_t i = 0; i < 3; i++)
            if (str_equal(name, str_of(averages[i])))
                number_parse_double(value, &out->average[i]);
        if (str_equal(name, STR("total")))
            number_parse_u64(value, &out->total);
    }
}

bool pressure_parse(struct str text, struct pressure out[PRESSURE_KINDS])
{
    static const char *const names[PRESSURE_KINDS] = {"some", "full"};
    bool found = false;
    for (size_t i = 0; i < PRESSURE_KINDS; i++)
        out[i] = (struct pressure){0};
    while (text.len) {
        struct str line = str_cut(&text, '\n'), kind = str_word(&line);
        for (size_t i = 0; i < PRESSURE_KINDS; i++)
            if (str_equal(kind, str_of(names[i]))) {
                parse_fields(line, &out[i]);
                found = true;
            }
    }
    return found;
}
