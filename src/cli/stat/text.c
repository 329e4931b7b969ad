/* SPDX-License-Identifier: Apache-2.0 */
/* The text of stoke stat: the columns of perf stat. */
#include "analysis/measure.h"
#include "cli/stat/parts.h"
#include <math.h>

#define NS_PER_SECOND 1e9
#define COUNT_WIDTH 18
#define NAME_WIDTH 32
#define METRIC_UNIT_WIDTH 24

/* The width of the name of a row, with the space after it. */
static int row_width(enum stat_rows rows)
{
    return rows == STAT_TOTAL       ? 0
           : rows == STAT_BY_CPU    ? 11
           : rows == STAT_BY_THREAD ? 26
                                    : 12;
}

static void put_count(struct output *out, const struct record_event *e, double value,
                      bool all_digits)
{
    char text[MEASURE_TEXT_MAX];
    struct measure m = {.divisor = 1, .decimals = stat_decimals(e), .unit = ""};
    if (all_digits || value < 0) {
        output_format(out, "%*.*f", COUNT_WIDTH, m.decimals, value);
        return;
    }
    size_t length = measure_write(&m, value, text);
    output_format(out, "%*.*s", COUNT_WIDTH, (int)length, text);
}

static void put_line_start(struct output *out, const struct stat_table *t,
                           const struct stat_form *form, const struct stat_row *row)
{
    if (form->intervals)
        output_format(out, "%6llu.%09llu ",
                      (unsigned long long)(t->time / (uint64_t)NS_PER_SECOND),
                      (unsigned long long)(t->time % (uint64_t)NS_PER_SECOND));
    if (form->rows == STAT_BY_THREAD)
        output_format(out, "%*s ", row_width(form->rows) - 1, row->name);
    else if (form->rows != STAT_TOTAL)
        output_format(out, "%-*s", row_width(form->rows), row->name);
    if (stat_counts_targets(form->rows))
        output_format(out, "%4zu ", row->targets);
}

/* "#    0.087 CPUs utilized" */
static void put_metric(struct output *out, const struct stat_table *t, size_t row,
                       size_t event, bool more_follows)
{
    struct stat_metric m;
    bool any = stat_metric(t, row, event, &m);
    if (any)
        output_format(out, " # %*.*f%s %s", m.percent ? 7 : 8, m.decimals, m.value,
                      m.percent ? "%" : "", m.unit);
    if (!more_follows)
        return;
    size_t used = any ? strlen(m.unit) : 0;
    if (!any)
        output_format(out, "%*s", 12, "");
    output_format(out, "%*s",
                  used < METRIC_UNIT_WIDTH ? (int)(METRIC_UNIT_WIDTH - used) : 0, "");
}

static void put_event(struct output *out, const struct stat_table *t,
                      const struct stat_form *form, size_t row, size_t event)
{
    const struct record_event *e = &t->events->items[event];
    const struct stat_cell *c = &t->cells[row * t->events->count + event];
    const char *absent = stat_absent(t, row, event);
    struct stat_metric ignored;
    bool noise = !absent && c->deviation > 0 && c->value > 0;
    bool scaled = !absent && c->running < c->enabled;
    bool metric = stat_metric(t, row, event, &ignored);
    put_line_start(out, t, form, &t->rows[row]);
    if (absent)
        output_format(out, "%*s", COUNT_WIDTH, absent);
    else
        put_count(out, e, stat_shown(e, c->value), form->all_digits);
    output_format(out, " %-4s ", stat_unit(e));
    if (metric || noise || scaled)
        output_format(out, "%-*s", NAME_WIDTH, e->name);
    else
        output_text(out, e->name);
    put_metric(out, t, row, event, noise || scaled);
    if (noise)
        output_format(out, "  ( +-%6.2f%% )", 100 * c->deviation / c->value);
    if (scaled)
        output_format(out, "  (%.2f%%)", 100 * c->running / c->enabled);
    output_char(out, '\n');
}

void stat_put_text(struct output *out, const struct stat_table *t,
                   const struct stat_form *form)
{
    for (size_t event = 0; event < t->events->count; event++)
        for (size_t row = 0; row < t->row_count; row++)
            put_event(out, t, form, row, event);
}

void stat_put_heading(struct output *out, const char *what, uint64_t runs)
{
    output_format(out, "\n Performance counter stats for %s", what);
    if (runs > 1)
        output_format(out, " (%llu runs)", (unsigned long long)runs);
    output_text(out, ":\n\n");
}

void stat_put_columns(struct output *out)
{
    output_text(out, "#           time             counts unit events\n");
}

/* --- Times ------------------------------------------------------------------------- */

/* Digits after the point for two digits of the uncertainty. */
static int digits_of(double deviation)
{
    double digits = deviation > 0 ? ceil(-log10(deviation)) + 2 : 9;
    return digits < 0 ? 0 : digits > 9 ? 9 : (int)digits;
}

/* Each run, and its difference from the mean as a bar. */
static void put_runs(struct output *out, const struct stat_table *t, int digits)
{
    static const char bar[] = "####################";
    double mean = t->elapsed / NS_PER_SECOND;
    output_text(out, "          # Table of individual measurements:\n");
    for (uint64_t i = 0; i < t->runs; i++) {
        double time = t->times[i] / NS_PER_SECOND;
        double percent = mean > 0 ? fabs(100 * (time - mean) / mean) : 0;
        int length = percent / 5 + 1 > 20 ? 20 : (int)(percent / 5) + 1;
        output_format(out, " %17.*f (%s%.*f) %.*s\n", digits, time,
                      time < mean ? "-" : "+", digits, fabs(time - mean), length, bar);
    }
    output_text(out, "\n          # Final result:\n");
}

void stat_put_times(struct output *out, const struct stat_table *t,
                    const struct stat_form *form, bool of_command)
{
    double mean = t->elapsed / NS_PER_SECOND;
    double deviation = t->elapsed_deviation / NS_PER_SECOND;
    output_char(out, '\n');
    if (t->runs > 1) {
        int digits = digits_of(deviation);
        if (form->each_run)
            put_runs(out, t, digits);
        output_format(out, " %17.*f +- %.*f seconds time elapsed  ( +-%6.2f%% )\n",
                      digits, mean, digits, deviation,
                      mean > 0 ? 100 * deviation / mean : 0);
    } else {
        output_format(out, " %17.9f seconds time elapsed\n", mean);
        if (of_command)
            output_format(out, "\n %17.9f seconds user\n %17.9f seconds sys\n",
                          t->user_time / NS_PER_SECOND, t->kernel_time / NS_PER_SECOND);
    }
    output_char(out, '\n');
}
