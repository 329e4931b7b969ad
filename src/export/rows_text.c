/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by keys as text, in the layout of `perf report --stdio`. */
#include "base/number.h"
#include "base/visible.h"
#include "export/rows.h"

#define CELL_MAX MEASURE_TEXT_MAX
#define FIGURE_WIDTH 8  /* of "Overhead" and "Children" */
#define WEIGHT_WIDTH 12 /* of "Samples" and "Period", as in perf */
#define LAST_MIN 24
#define COLUMN_MAX 80 /* of a column if the width is unlimited; longer texts exceed it */

static const char *const headings[] = {"Command",       "Pid:Command",   "Tid:Command",
                                       "CPU",           "Time",          "Cgroup",
                                       "Parent symbol", "Shared Object", "Symbol",
                                       "Source File",   "Source:Line"};

struct layout {
    struct rows *rows;
    struct output *out;
    struct measure measure;
    struct output cell; /* the text of one cell */
    size_t widths[KEY_COUNT];
    size_t figures; /* number of columns before the keys */
};

static const struct rows_options *options_of(const struct layout *l)
{
    return l->rows->o->rows;
}

/* The printable text of a cell, valid until the next call. */
static struct str cell_text(struct layout *l, const struct breakdown_row *row,
                            enum breakdown_key key)
{
    const struct breakdown *b = &l->rows->b;
    l->cell.used = 0;
    if (key == KEY_SYM) {
        uint64_t symbol = breakdown_value(b, row, key);
        output_format(&l->cell, "[%c] ", b->symbols[symbol].level);
    }
    breakdown_write(b, row, key, false, &l->cell);
    l->out->failed |= l->cell.failed;
    return output_contents(&l->cell);
}

static size_t longest_cell(struct layout *l, enum breakdown_key key)
{
    size_t longest = strlen(headings[key]);
    for (uint32_t i = 0; i < l->rows->shown; i++) {
        struct str text = cell_text(l, &l->rows->b.rows[l->rows->order[i]], key);
        size_t columns = visible_columns(text);
        longest = columns > longest ? columns : longest;
    }
    return longest;
}

/* If the width is limited, the last column gets the width that the others leave; each
 * of them has at most a quarter. If it is not, one long C++ name does not make the
 * column as wide. */
static void measure_cells(struct layout *l)
{
    const struct rows_options *o = options_of(l);
    size_t width = l->rows->o->width, taken = l->figures;
    for (unsigned k = 0; k < o->by.key_count; k++) {
        bool last = k + 1 == o->by.key_count;
        size_t longest = longest_cell(l, o->by.keys[k]), room = width / 4;
        if (last)
            room = width > taken + 2 + LAST_MIN ? width - taken - 2 : LAST_MIN;
        if (!width)
            room = COLUMN_MAX;
        l->widths[k] = longest > room ? room : longest;
        taken += 2 + l->widths[k];
    }
}

/* --- Headings ---------------------------------------------------------------------- */

static void write_dots(struct output *out, size_t count)
{
    for (; count > 0; count--)
        output_char(out, '.');
}

/* With a separator, columns are not aligned. */
static void write_plain_headings(struct layout *l, const char *weight)
{
    const struct rows_options *o = options_of(l);
    struct output *out = l->out;
    output_text(out, "# ");
    if (o->by.children)
        output_format(out, "Children%sSelf", o->separator);
    else
        output_text(out, "Overhead");
    if (o->samples)
        output_format(out, "%sSamples", o->separator);
    if (o->period)
        output_format(out, "%s%s", o->separator, weight);
    for (unsigned k = 0; k < o->by.key_count; k++)
        output_format(out, "%s%s", o->separator, headings[o->by.keys[k]]);
    output_char(out, '\n');
}

static void write_headings(struct layout *l)
{
    const struct rows_options *o = options_of(l);
    struct output *out = l->out;
    char weight[CELL_MAX];
    format_text(weight, sizeof weight, l->measure.unit[0] ? "Period %s" : "Period",
                l->measure.unit);
    if (o->separator) {
        write_plain_headings(l, weight);
        return;
    }
    output_text(out, o->by.children ? "# Children      Self" : "# Overhead");
    if (o->samples)
        output_format(out, "  %*s", WEIGHT_WIDTH, "Samples");
    if (o->period)
        output_format(out, "  %*s", WEIGHT_WIDTH, weight);
    for (unsigned k = 0; k < o->by.key_count; k++) {
        bool last = k + 1 == o->by.key_count;
        struct str heading = str_head(str_of(headings[o->by.keys[k]]), l->widths[k]);
        output_format(out, "  %.*s%*s", STR_ARG(heading),
                      last ? 0 : (int)(l->widths[k] - heading.len), "");
    }
    output_text(out, o->by.children ? "\n# ........  ........" : "\n# ........");
    for (int i = 0; i < o->samples + o->period; i++) {
        output_text(out, "  ");
        write_dots(out, WEIGHT_WIDTH);
    }
    for (unsigned k = 0; k < o->by.key_count; k++) {
        output_text(out, "  ");
        write_dots(out, l->widths[k]);
    }
    output_text(out, "\n#\n");
}

/* --- Rows -------------------------------------------------------------------------- */

static void write_percent(struct layout *l, double weight, size_t width)
{
    char digits[NUMBER_TEXT_MAX + 1];
    double share = rows_share(l->rows, weight);
    const char *colour = table_percent_colour(l->rows->o, share);
    size_t length = number_write_fixed(share, 2, digits);
    digits[length++] = '%';
    digits[length] = 0;
    output_format(l->out, "%*s%s%s%s", (int)(width > length ? width - length : 0), "",
                  colour, digits, colour[0] ? TABLE_COLOUR_END : "");
}

/* The text without the separator, which becomes dots. */
static void write_plain_text(struct layout *l, struct str text, struct str separator)
{
    output_text(l->out, options_of(l)->separator);
    while (text.len) {
        size_t at = str_search(text, separator);
        visible_print(l->out, str_head(text, at));
        output_text(l->out, at < text.len ? "." : "");
        text = str_skip(text, at + separator.len);
    }
}

static void write_plain_row(struct layout *l, const struct breakdown_row *row)
{
    const struct rows_options *o = options_of(l);
    char digits[CELL_MAX];
    write_percent(l, o->by.children ? row->total : row->self, 0);
    if (o->by.children) {
        output_text(l->out, o->separator);
        write_percent(l, row->self, 0);
    }
    if (o->samples) {
        digits[number_write_u64(row->samples, digits)] = 0;
        output_format(l->out, "%s%s", o->separator, digits);
    }
    if (o->period) {
        double weight = o->by.children ? row->total : row->self;
        digits[measure_write(&l->measure, weight, digits)] = 0;
        output_format(l->out, "%s%s", o->separator, digits);
    }
    for (unsigned k = 0; k < o->by.key_count; k++)
        write_plain_text(l, cell_text(l, row, o->by.keys[k]), str_of(o->separator));
}

static void write_figures(struct layout *l, const struct breakdown_row *row)
{
    const struct rows_options *o = options_of(l);
    char digits[CELL_MAX];
    write_percent(l, o->by.children ? row->total : row->self, FIGURE_WIDTH + 2);
    if (o->by.children)
        write_percent(l, row->self, FIGURE_WIDTH + 2);
    if (o->samples) {
        digits[number_write_u64(row->samples, digits)] = 0;
        output_format(l->out, "  %*s", WEIGHT_WIDTH, digits);
    }
    if (o->period) {
        double weight = o->by.children ? row->total : row->self;
        digits[measure_write(&l->measure, weight, digits)] = 0;
        output_format(l->out, "  %*s", WEIGHT_WIDTH, digits);
    }
}

/* Writes a text in at most `width` columns if the width is limited; returns its
 * columns. */
static size_t write_text(const struct layout *l, struct str text, size_t width)
{
    if (l->rows->o->width)
        return visible_print_cut(l->out, text, width);
    visible_print(l->out, text);
    return visible_columns(text);
}

static bool write_row(struct layout *l, uint32_t number, struct error *err)
{
    const struct rows_options *o = options_of(l);
    const struct breakdown_row *row = &l->rows->b.rows[number];
    if (o->separator)
        write_plain_row(l, row);
    else
        write_figures(l, row);
    for (unsigned k = 0; !o->separator && k < o->by.key_count; k++) {
        bool last = k + 1 == o->by.key_count;
        output_text(l->out, "  ");
        size_t used = write_text(l, cell_text(l, row, o->by.keys[k]), l->widths[k]);
        if (!last && used < l->widths[k])
            output_format(l->out, "%*s", (int)(l->widths[k] - used), "");
    }
    output_char(l->out, '\n');
    return o->graph.order == CHAINS_NONE ||
           rows_write_graph(l->rows, number, l->out, err);
}

/* The share of the rows that are not shown. */
static void write_rest(const struct layout *l)
{
    const struct rows *r = l->rows;
    if (r->shown < r->count)
        output_format(l->out, "# and %zu more (%.2f%% self)\n", r->count - r->shown,
                      rows_share(r, r->rest));
    if (r->b.left_out != 0)
        output_format(l->out, "# excluded by options: %.2f%%\n",
                      100 * r->b.left_out / r->b.total);
}

/* --- Events ------------------------------------------------------------------------ */

static bool has_fractions(const struct profile *p, event_id event)
{
    for (size_t i = 0; i < p->sample_count; i++) {
        double v = p->samples[i].weight;
        if (p->samples[i].event == event && v < 9e15 && v > -9e15 &&
            v != (double)(int64_t)v)
            return true;
    }
    return false;
}

static void write_event(const struct layout *l)
{
    const struct breakdown *b = &l->rows->b;
    const struct event *event = &b->p->events[b->event];
    output_format(l->out, "\n# Samples: %llu of event '", (unsigned long long)b->samples);
    visible_print(l->out, profile_string(b->p, event->name));
    output_text(l->out, "'\n# Event count: ");
    output_double(l->out, b->total);
    if (event->unit != UNIT_COUNT && event->unit != UNIT_EVENTS)
        output_format(l->out, " %s", unit_name((enum unit)event->unit));
    output_text(l->out, "\n#\n");
}

static bool write_rows(struct rows *r, struct output *out, struct error *err)
{
    const struct breakdown *b = &r->b;
    const struct rows_options *o = r->o->rows;
    enum unit unit = (enum unit)b->p->events[b->event].unit;
    struct layout l = {.rows = r, .out = out, .cell = OUTPUT_BUFFER};
    bool ok = true;
    l.measure = measure_for(unit, b->total, has_fractions(b->p, b->event));
    l.figures = (size_t)(FIGURE_WIDTH + 2) * (o->by.children ? 2 : 1) +
                (WEIGHT_WIDTH + 2) * ((size_t)o->samples + o->period);
    measure_cells(&l);
    write_event(&l);
    write_headings(&l);
    for (uint32_t i = 0; ok && i < r->shown; i++)
        ok = write_row(&l, r->order[i], err);
    write_rest(&l);
    output_deinit(&l.cell);
    return ok;
}

bool rows_write_text(const struct profile *p, const struct export_options *options,
                     struct output *out, struct error *err)
{
    bool ok = true;
    table_write_facts(out, p, options->title);
    for (event_id e = 0; ok && (e = rows_next_event(p, options, e)) != 0;) {
        struct rows r;
        ok = rows_init(&r, p, options, e, err) && write_rows(&r, out, err);
        rows_deinit(&r);
    }
    return ok;
}
