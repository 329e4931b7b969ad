/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by keys as text, in the layout of `perf report --stdio`. */
#include "base/number.h"
#include "base/visible.h"
#include "export/rows_layout.h"

#define FIGURE_WIDTH 8  /* of "Overhead" and "Children" */
#define WEIGHT_WIDTH 12 /* of "Samples" and "Period", as in perf */
#define LAST_MIN 24
#define COLUMN_MAX 80 /* of a column if the width is unlimited; longer texts exceed it */

static const char *const headings[] = {"Command",
                                       "Pid:Command",
                                       "Tid:Command",
                                       "CPU",
                                       "Time",
                                       "Cgroup",
                                       "Parent symbol",
                                       "Shared Object",
                                       "Symbol",
                                       "Source File",
                                       "Source:Line",
                                       "Symbol size",
                                       "Source Symbol",
                                       "Target Symbol",
                                       "Source Shared Object",
                                       "Target Shared Object",
                                       "Branch Mispredicted",
                                       "Transaction abort",
                                       "Branch in transaction",
                                       "Basic Block Cycles"};

static const struct rows_options *options_of(const struct rows_layout *l)
{
    return l->rows->o->rows;
}

static enum breakdown_key key_of(unsigned column)
{
    return (enum breakdown_key)(column - ROWS_KEYS);
}

static bool is_share(unsigned column)
{
    return column < ROWS_SAMPLES;
}

const char *rows_heading(unsigned column)
{
    static const char *const figures[] = {"Children", "Self", "Overhead", "Samples",
                                          "Period"};
    return column >= ROWS_KEYS ? headings[key_of(column)] : figures[column];
}

struct str rows_cell_text(struct rows_layout *l, const struct breakdown_row *row,
                          enum breakdown_key key)
{
    const struct breakdown *b = &l->rows->b;
    l->cell.used = 0;
    if (breakdown_key_is_symbol(key)) {
        uint64_t symbol = breakdown_value(b, row, key);
        output_format(&l->cell, "[%c] ", b->symbols[symbol].level);
    }
    breakdown_write(b, row, key, false, &l->cell);
    l->out->failed |= l->cell.failed;
    return output_contents(&l->cell);
}

static size_t longest_cell(struct rows_layout *l, enum breakdown_key key)
{
    size_t longest = strlen(headings[key]);
    size_t count = options_of(l)->hierarchy ? l->rows->count : l->rows->shown;
    for (size_t i = 0; i < count; i++) {
        struct str text = rows_cell_text(l, &l->rows->b.rows[l->rows->order[i]], key);
        size_t columns = visible_columns(text);
        longest = columns > longest ? columns : longest;
    }
    return longest;
}

/* The width that the options give to a column, or 0. */
static size_t fixed_width(const struct rows_layout *l, unsigned number)
{
    return options_of(l)->widths[number];
}

size_t rows_figure_width(const struct rows_layout *l, unsigned number)
{
    size_t fixed = fixed_width(l, number);
    bool share = is_share(options_of(l)->columns.items[number]);
    return fixed ? fixed : share ? FIGURE_WIDTH : WEIGHT_WIDTH;
}

static size_t figures_width(const struct rows_layout *l)
{
    const struct rows_columns *c = &options_of(l)->columns;
    size_t width = 0;
    for (unsigned i = 0; i < c->count; i++)
        if (c->items[i] < ROWS_KEYS)
            width += 2u + l->rows->events * rows_figure_width(l, i);
    return width;
}

/* If the width is limited, the last column gets the width that the others leave; each
 * of them has at most a quarter. If it is not, one long C++ name does not make the
 * column as wide. */
static void measure_cells(struct rows_layout *l)
{
    const struct rows_columns *c = &options_of(l)->columns;
    size_t width = l->rows->o->width, taken = figures_width(l);
    for (unsigned i = 0; i < c->count; i++) {
        unsigned column = c->items[i];
        if (column < ROWS_KEYS) {
            l->widths[i] = l->rows->events * rows_figure_width(l, i);
            continue;
        }
        size_t fixed = fixed_width(l, i);
        size_t longest = longest_cell(l, key_of(column)), room = width / 4;
        if (i + 1 == c->count)
            room = width > taken + 2 + LAST_MIN ? width - taken - 2 : LAST_MIN;
        if (!width)
            room = COLUMN_MAX;
        l->widths[i] = fixed ? fixed : longest > room ? room : longest;
        taken += 2 + l->widths[i];
    }
}

/* --- Headings ---------------------------------------------------------------------- */

static void write_dots(struct output *out, size_t count)
{
    for (; count > 0; count--)
        output_char(out, '.');
}

/* With a separator, columns are not aligned. */
static void write_plain_headings(struct rows_layout *l)
{
    const struct rows_options *o = options_of(l);
    output_text(l->out, "# ");
    for (unsigned i = 0; i < o->columns.count; i++)
        output_format(l->out, "%s%s", i ? o->separator : "",
                      rows_heading(o->columns.items[i]));
    output_char(l->out, '\n');
}

static void write_headings(struct rows_layout *l)
{
    const struct rows_columns *c = &options_of(l)->columns;
    for (unsigned i = 0; i < c->count; i++) {
        bool is_key = c->items[i] >= ROWS_KEYS, last = i + 1 == c->count;
        struct str text = str_of(rows_heading(c->items[i]));
        if (is_key)
            text = str_head(text, l->widths[i]);
        int room = l->widths[i] > text.len ? (int)(l->widths[i] - text.len) : 0;
        output_format(l->out, "%s%*s%.*s%*s", i ? "  " : "# ", is_key ? 0 : room, "",
                      STR_ARG(text), is_key && !last ? room : 0, "");
    }
    output_char(l->out, '\n');
    for (unsigned i = 0; i < c->count; i++) {
        output_text(l->out, i ? "  " : "# ");
        write_dots(l->out, l->widths[i]);
    }
    output_text(l->out, "\n#\n");
}

/* --- Rows -------------------------------------------------------------------------- */

static void write_percent(struct rows_layout *l, double weight, size_t event,
                          size_t width)
{
    char digits[PERCENT_TEXT_MAX];
    double share = rows_share(l->rows, weight, event);
    const char *colour = table_percent_colour(l->rows->o, share);
    size_t length = rows_write_percent(share, digits);
    output_format(l->out, "%*s%s%s%s", (int)(width > length ? width - length : 0), "",
                  colour, digits, colour[0] ? TABLE_COLOUR_END : "");
}

void rows_write_plain(struct rows_layout *l, struct str text, struct str separator)
{
    while (text.len) {
        size_t at = str_search(text, separator);
        visible_print(l->out, str_head(text, at));
        output_text(l->out, at < text.len ? "." : "");
        text = str_skip(text, at + separator.len);
    }
}

/* Weights are shown as they are, as in perf: in ns, bytes or counts. */
void rows_write_figure(struct rows_layout *l, double figure, unsigned column,
                       size_t event, size_t width)
{
    if (is_share(column)) {
        write_percent(l, figure, event, width);
        return;
    }
    l->cell.used = 0;
    output_double(&l->cell, figure);
    struct str digits = output_contents(&l->cell);
    output_format(l->out, "%*s%.*s", (int)(width > digits.len ? width - digits.len : 0),
                  "", STR_ARG(digits));
}

/* The figures of all events, one after the other; aligned if `width` is not 0. */
static void write_figures(struct rows_layout *l, const struct breakdown_row *row,
                          unsigned column, size_t width)
{
    for (size_t i = 0; i < l->rows->events; i++) {
        output_text(l->out, i && !width ? " " : "");
        rows_write_figure(l, rows_figure(l->rows, row, column, i), column, i, width);
    }
}

static void write_plain_row(struct rows_layout *l, const struct breakdown_row *row)
{
    const struct rows_options *o = options_of(l);
    for (unsigned i = 0; i < o->columns.count; i++) {
        unsigned column = o->columns.items[i];
        output_text(l->out, i ? o->separator : "");
        if (column < ROWS_KEYS)
            write_figures(l, row, column, 0);
        else
            rows_write_plain(l, rows_cell_text(l, row, key_of(column)),
                             str_of(o->separator));
    }
}

/* Writes the text of a column in at most its width if that is limited; returns its
 * columns. */
static size_t write_text(const struct rows_layout *l, struct str text, unsigned number)
{
    size_t width = l->widths[number];
    if (fixed_width(l, number)) /* as perf: the start of the text */
        text = visible_head(text, width);
    else if (l->rows->o->width)
        return visible_print_cut(l->out, text, width);
    visible_print(l->out, text);
    return visible_columns(text);
}

static void write_aligned_row(struct rows_layout *l, const struct breakdown_row *row)
{
    const struct rows_columns *c = &options_of(l)->columns;
    for (unsigned i = 0; i < c->count; i++) {
        size_t width = l->widths[i];
        output_text(l->out, "  ");
        if (c->items[i] < ROWS_KEYS) {
            write_figures(l, row, c->items[i], rows_figure_width(l, i));
            continue;
        }
        size_t used = write_text(l, rows_cell_text(l, row, key_of(c->items[i])), i);
        if (i + 1 < c->count && used < width)
            output_format(l->out, "%*s", (int)(width - used), "");
    }
}

static bool write_row(struct rows_layout *l, uint32_t number, struct error *err)
{
    const struct rows_options *o = options_of(l);
    const struct breakdown_row *row = &l->rows->b.rows[number];
    if (o->separator)
        write_plain_row(l, row);
    else
        write_aligned_row(l, row);
    output_char(l->out, '\n');
    return o->graph.order == CHAINS_NONE ||
           rows_write_graph(l->rows, number, l->out, err);
}

/* The shares that are not shown, by event. */
static void write_rest(const struct rows_layout *l)
{
    const struct rows *r = l->rows;
    bool left_out = false;
    if (r->shown < r->count) {
        output_format(l->out, "# and %zu more (", r->count - r->shown);
        for (size_t i = 0; i < r->events; i++)
            output_format(l->out, "%s%.2f%%", i ? ", " : "",
                          rows_share(r, r->rest[i], i));
        output_text(l->out, " self)\n");
    }
    for (size_t i = 0; i < r->events; i++)
        left_out |= rows_event(r, i).left_out != 0;
    for (size_t i = 0; left_out && i < r->events; i++) {
        struct rows_event e = rows_event(r, i);
        output_format(l->out, "%s%.2f%%", i ? ", " : "# excluded by options: ",
                      e.total != 0 ? 100 * e.left_out / e.total : 0);
    }
    output_text(l->out, left_out ? "\n" : "");
}

/* --- Events ------------------------------------------------------------------------ */

static void write_event(const struct rows_layout *l)
{
    const struct rows *r = l->rows;
    const struct profile *p = r->b.p;
    uint64_t samples = 0;
    for (size_t i = 0; i < r->events; i++)
        samples += rows_event(r, i).samples;
    output_format(l->out, "\n# Samples: %llu of event%s '", (unsigned long long)samples,
                  r->events > 1 ? "s" : "");
    for (size_t i = 0; i < r->events; i++) {
        output_text(l->out, i ? ", " : "");
        visible_print(l->out, profile_string(p, p->events[rows_event(r, i).id].name));
    }
    output_text(l->out, "'\n# Event count: ");
    for (size_t i = 0; i < r->events; i++) {
        enum unit unit = (enum unit)p->events[rows_event(r, i).id].unit;
        output_text(l->out, i ? ", " : "");
        output_double(l->out, rows_event(r, i).total);
        if (unit != UNIT_COUNT && unit != UNIT_EVENTS)
            output_format(l->out, " %s", unit_name(unit));
    }
    output_text(l->out, "\n#\n");
}

static bool write_flat(struct rows_layout *l, struct error *err)
{
    bool ok = true;
    if (options_of(l)->separator)
        write_plain_headings(l);
    else
        write_headings(l);
    for (uint32_t i = 0; ok && i < l->rows->shown; i++)
        ok = write_row(l, l->rows->order[i], err);
    return ok;
}

static bool write_rows(struct rows *r, struct output *out, struct error *err)
{
    struct rows_layout l = {.rows = r, .out = out, .cell = OUTPUT_BUFFER};
    measure_cells(&l);
    write_event(&l);
    bool ok = r->o->rows->hierarchy ? rows_write_hierarchy(&l, err) : write_flat(&l, err);
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
