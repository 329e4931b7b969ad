/* SPDX-License-Identifier: Apache-2.0 */
/* Counts for programs: the fields of perf stat -x, and the objects of perf stat -j. */
#include "cli/stat/parts.h"
#include "codec/json.h"

#define NS_PER_SECOND 1e9
#define NUMBER_MAX 400 /* a double with %f */

static double percent_running(const struct stat_cell *c)
{
    return c->enabled > 0 && c->running < c->enabled ? 100 * c->running / c->enabled
                                                     : 100;
}

static double noise_of(const struct stat_cell *c)
{
    return c->value > 0 ? 100 * c->deviation / c->value : 0;
}

/* --- Fields ------------------------------------------------------------------------ */

/* A field that contains the separator or a quote is quoted, as in CSV. */
static void put_field(struct output *out, const char *text, const char *separator)
{
    struct str s = str_of(text);
    if (!strstr(text, separator) && str_find(s, '"') == s.len) {
        output_str(out, s);
        return;
    }
    output_char(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"')
            output_char(out, '"');
        output_char(out, s.ptr[i]);
    }
    output_char(out, '"');
}

static void put_fields(struct output *out, const struct stat_table *t,
                       const struct stat_form *form, size_t row, size_t event)
{
    const struct record_event *e = &t->events->items[event];
    const struct stat_cell *c = &t->cells[row * t->events->count + event];
    const char *absent = stat_absent(t, row, event), *x = form->separator;
    struct stat_metric m;
    if (form->intervals)
        output_format(out, "%.9f%s", (double)t->time / NS_PER_SECOND, x);
    if (form->rows != STAT_TOTAL) {
        put_field(out, t->rows[row].name, x);
        output_text(out, x);
    }
    if (stat_counts_targets(form->rows))
        output_format(out, "%zu%s", t->rows[row].targets, x);
    if (absent)
        output_text(out, absent);
    else
        output_format(out, "%.*f", stat_decimals(e), stat_shown(e, c->value));
    output_format(out, "%s%s%s", x, stat_unit(e), x);
    put_field(out, e->name, x);
    output_text(out, x);
    if (t->runs > 1)
        output_format(out, "%.2f%%%s", noise_of(c), x);
    output_format(out, "%.0f%s%.2f%s", c->running, x, percent_running(c), x);
    if (stat_metric(t, row, event, &m))
        output_format(out, "%.*f%s%s", m.decimals, m.value, x, m.unit);
    else
        output_text(out, x);
    output_char(out, '\n');
}

/* --- JSON -------------------------------------------------------------------------- */

static void put_row_name(struct json_writer *w, const struct stat_form *form,
                         const struct stat_row *row)
{
    static const char *const keys[] = {"",       "cpu",  "core",  "die",
                                       "socket", "node", "thread"};
    char number[24];
    struct str name = str_of(row->name);
    if (form->rows == STAT_TOTAL)
        return;
    if (form->rows == STAT_BY_CPU) {
        format_text(number, sizeof number, "%llu", (unsigned long long)row->id);
        name = str_of(number);
    }
    json_member_str(w, keys[form->rows], name);
    if (stat_counts_targets(form->rows))
        json_member_u64(w, "aggregate-number", row->targets);
}

static void put_object(struct output *out, const struct stat_table *t,
                       const struct stat_form *form, size_t row, size_t event)
{
    const struct record_event *e = &t->events->items[event];
    const struct stat_cell *c = &t->cells[row * t->events->count + event];
    const char *absent = stat_absent(t, row, event);
    char number[NUMBER_MAX];
    struct stat_metric m = {.value = 0};
    struct json_writer w = {.out = out};
    json_begin(&w, JSON_OBJECT);
    if (form->intervals)
        json_member_double(&w, "interval", (double)t->time / NS_PER_SECOND);
    put_row_name(&w, form, &t->rows[row]);
    format_text(number, sizeof number, "%.6f", stat_shown(e, c->value));
    json_member_str(&w, "counter-value", str_of(absent ? absent : number));
    json_member_str(&w, "unit", str_of(stat_unit(e)));
    json_member_str(&w, "event", str_of(e->name));
    if (t->runs > 1)
        json_member_double(&w, "variance", noise_of(c));
    json_member_u64(&w, "event-runtime", (uint64_t)c->running);
    json_member_double(&w, "pcnt-running", percent_running(c));
    bool any = stat_metric(t, row, event, &m);
    json_member_double(&w, "metric-value", any ? m.value : 0);
    json_member_str(&w, "metric-unit", str_of(any ? m.unit : ""));
    json_end(&w, JSON_OBJECT);
    output_char(out, '\n');
}

void stat_put_lines(struct output *out, const struct stat_table *t,
                    const struct stat_form *form)
{
    for (size_t event = 0; event < t->events->count; event++) {
        for (size_t row = 0; row < t->row_count; row++) {
            if (form->json)
                put_object(out, t, form, row, event);
            else
                put_fields(out, t, form, row, event);
        }
    }
}
