/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/fields.h"
#include "base/array.h"
#include "metrics/number.h"

#define FIELDS_MAX 65536

static bool parse_line(struct str line, struct metric_field *out)
{
    struct str name = str_word(&line);
    if (str_ends(name, STR(":")))
        name.len--;
    out->name = name;
    if (name.len == 0 || !metrics_next(&line, &out->value))
        return false;
    out->has_unit = str_equal(str_word(&line), STR("kB"));
    return true;
}

bool metric_fields_parse(struct str text, struct arena *a, struct metric_fields *out)
{
    *out = (struct metric_fields){0};
    while (text.len && out->count < FIELDS_MAX) {
        struct metric_field field, *slot;
        if (!parse_line(str_cut(&text, '\n'), &field))
            continue;
        slot = ARRAY_APPEND(a, out->items, out->count, out->cap);
        if (!slot)
            return false;
        *slot = field;
    }
    return true;
}

uint64_t metric_field(const struct metric_fields *f, struct str name)
{
    for (size_t i = 0; i < f->count; i++)
        if (str_equal(f->items[i].name, name))
            return f->items[i].value;
    return 0;
}

uint64_t metric_field_in(struct str text, struct str name)
{
    while (text.len) {
        struct metric_field field;
        if (parse_line(str_cut(&text, '\n'), &field) && str_equal(field.name, name))
            return field.value;
    }
    return 0;
}
