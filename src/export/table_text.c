/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for users: facts about the data, then a section per event, in columns. */
#include "analysis/losses.h"
#include "base/number.h"
#include "base/visible.h"
#include "export/table_parts.h"

#define CELL_MAX MEASURE_TEXT_MAX
#define COLUMNS_MAX 6
#define MODULE_MIN 12 /* minimum columns of a module; with fewer it is not shown */
#define NAME_MIN \
    24 /* minimum columns of names; with fewer, modules and weights are not shown */
#define NAME_MAX 80 /* where modules begin if the width is unlimited */

/* --- Facts about the data ----------------------------------------------------------- */

static void write_count(struct output *out, uint64_t count, const char *one,
                        const char *many)
{
    static const struct measure counted = {1, 0, ""};
    char digits[CELL_MAX];
    output_bytes(out, digits, measure_write(&counted, (double)count, digits));
    output_format(out, " %s", count == 1 ? one : many);
}

/* Samples or, if the input has added them up like folded stacks, stacks. */
static void write_sample_count(struct output *out, const struct profile *p,
                               uint64_t count)
{
    bool samples = p->thread_count > 1 || p->facts.time_first != TIME_NONE;
    write_count(out, count, samples ? "sample" : "stack", samples ? "samples" : "stacks");
}

static void write_fact(struct output *out, const char *name, struct str value)
{
    if (value.len == 0)
        return;
    output_format(out, "# %s: ", name);
    visible_print(out, value);
    output_char(out, '\n');
}

static void write_losses(struct output *out, const struct facts *facts)
{
    char line[LOSS_LINE_MAX];
    for (unsigned i = 0; i < LOSS_LINES; i++)
        if (losses_line(facts, i, line))
            output_format(out, "# %s\n", line);
    for (unsigned i = 0; i < facts->warning_count; i++) {
        output_text(out, "# ");
        write_count(out, facts->warnings[i].count, "time: ", "times: ");
        if (facts->warnings[i].inferred)
            output_text(out, "inferred: ");
        visible_print(out, str_of(facts->warnings[i].what));
        output_char(out, '\n');
    }
}

void table_write_facts(struct output *out, const struct profile *p, struct str title)
{
    const struct facts *facts = &p->facts;
    output_str(out, profile_string(p, facts->header));
    write_fact(out, "title", title);
    output_text(out, "# ");
    if (facts->format) {
        visible_print(out, profile_string(p, facts->format));
        output_text(out, ", ");
    }
    write_sample_count(out, p, facts->samples);
    if (facts->time_first != TIME_NONE && facts->time_last > facts->time_first)
        output_format(out, " from %.6f s to %.6f s (%.3f s)",
                      (double)facts->time_first / 1e9, (double)facts->time_last / 1e9,
                      (double)(facts->time_last - facts->time_first) / 1e9);
    output_char(out, '\n');
    write_fact(out, "host", profile_string(p, facts->host));
    write_fact(out, "command", profile_string(p, facts->command));
    if (facts->filtered)
        output_text(out, "# filtered: not all samples are shown\n");
    write_losses(out, facts);
}

/* --- Columns ------------------------------------------------------------------------ */

struct column {
    const char *heading;
    const char *unit; /* in brackets after it; empty for none */
    size_t (*write)(const struct table *t, const struct measure *m,
                    const struct table_row *r, char *out);
    const char *(*colour)(const struct table *t, const struct table_row *r);
    bool weight; /* omitted first if the terminal is narrow */
    size_t width;
};

static size_t write_percent(double v, bool sign, char *out)
{
    size_t n = 0;
    if (sign && v >= 0.005)
        out[n++] = '+';
    n += number_write_fixed(v, 2, out + n);
    out[n++] = '%';
    return n;
}

static double change_of(const struct table *t, const struct table_row *r)
{
    return table_share(t, table_weight(t, r)) -
           table_base_share(t, table_base_weight(t, r));
}

static size_t self_percent(const struct table *t, const struct measure *m,
                           const struct table_row *r, char *out)
{
    (void)m;
    return write_percent(table_share(t, r->self), false, out);
}

static size_t total_percent(const struct table *t, const struct measure *m,
                            const struct table_row *r, char *out)
{
    (void)m;
    return write_percent(table_share(t, r->total), false, out);
}

static size_t self_weight(const struct table *t, const struct measure *m,
                          const struct table_row *r, char *out)
{
    (void)t;
    return measure_write(m, r->self, out);
}

static size_t total_weight(const struct table *t, const struct measure *m,
                           const struct table_row *r, char *out)
{
    (void)t;
    return measure_write(m, r->total, out);
}

static size_t change_points(const struct table *t, const struct measure *m,
                            const struct table_row *r, char *out)
{
    (void)m;
    return write_percent(change_of(t, r), true, out);
}

static size_t before_percent(const struct table *t, const struct measure *m,
                             const struct table_row *r, char *out)
{
    (void)m;
    return write_percent(table_base_share(t, table_base_weight(t, r)), false, out);
}

static size_t after_percent(const struct table *t, const struct measure *m,
                            const struct table_row *r, char *out)
{
    (void)m;
    return write_percent(table_share(t, table_weight(t, r)), false, out);
}

static size_t before_weight(const struct table *t, const struct measure *m,
                            const struct table_row *r, char *out)
{
    return measure_write(m, table_base_weight(t, r), out);
}

static size_t after_weight(const struct table *t, const struct measure *m,
                           const struct table_row *r, char *out)
{
    return measure_write(m, table_weight(t, r), out);
}

static size_t delta_weight(const struct table *t, const struct measure *m,
                           const struct table_row *r, char *out)
{
    double delta = table_weight(t, r) - table_base_weight(t, r);
    size_t n = 0;
    if (delta > 0)
        out[n++] = '+';
    return n + measure_write(m, delta, out + n);
}

const char *table_percent_colour(const struct table_options *o, double percent)
{
    if (!o->colour || percent < 0.5)
        return "";
    return percent >= 5 ? "\x1b[31m" : "\x1b[32m";
}

const char *table_share_colour(const struct table *t, double percent)
{
    return table_percent_colour(t->o, percent);
}

const char *table_change_colour(const struct table *t, double points)
{
    if (!t->o->colour || (points < 0.005 && points > -0.005))
        return "";
    return points > 0 ? "\x1b[31m" : "\x1b[34m";
}

static const char *self_colour(const struct table *t, const struct table_row *r)
{
    return table_share_colour(t, table_share(t, r->self));
}

static const char *total_colour(const struct table *t, const struct table_row *r)
{
    return table_share_colour(t, table_share(t, r->total));
}

static const char *change_colour(const struct table *t, const struct table_row *r)
{
    return table_change_colour(t, change_of(t, r));
}

static const struct column plain_columns[] = {
    {"self", "%", self_percent, self_colour, false, 0},
    {"self", NULL, self_weight, NULL, true, 0},
    {"total", "%", total_percent, total_colour, false, 0},
    {"total", NULL, total_weight, NULL, true, 0},
};

static const struct column change_columns[] = {
    {"delta", NULL, delta_weight, NULL, false, 0},
    {"change", "", change_points, change_colour, false, 0},
    {"before", "%", before_percent, NULL, false, 0},
    {"after", "%", after_percent, NULL, false, 0},
    {"before", NULL, before_weight, NULL, true, 0},
    {"after", NULL, after_weight, NULL, true, 0},
};

/* --- Layout ------------------------------------------------------------------------- */

struct layout {
    const struct table *t;
    struct output *out;
    struct measure measure;
    struct column columns[COLUMNS_MAX];
    size_t count;
    size_t name_width, module_width; /* 0: no modules */
};

static void write_heading(const struct column *c, const struct measure *m, char *out,
                          size_t size)
{
    const char *unit = c->unit ? c->unit : m->unit;
    format_text(out, size, unit[0] ? "%s %s" : "%s", c->heading, unit);
}

static const char *name_heading(const struct table *t)
{
    return t->o->heading ? t->o->heading : "function";
}

static void measure_columns(struct layout *l)
{
    const struct table *t = l->t;
    char text[CELL_MAX];
    for (size_t c = 0; c < l->count; c++) {
        struct column *column = &l->columns[c];
        write_heading(column, &l->measure, text, sizeof text);
        column->width = strlen(text);
        for (size_t i = 0; i < t->shown; i++) {
            size_t n = column->write(t, &l->measure, &t->rows[t->order[i]], text);
            if (n > column->width)
                column->width = n;
        }
    }
}

static size_t columns_width(const struct layout *l)
{
    size_t width = 0;
    for (size_t c = 0; c < l->count; c++)
        width += l->columns[c].width + 2;
    return width;
}

static void drop_weights(struct layout *l)
{
    size_t count = 0;
    for (size_t c = 0; c < l->count; c++)
        if (!l->columns[c].weight)
            l->columns[count++] = l->columns[c];
    l->count = count;
}

static void longest_texts(const struct table *t, size_t *name, size_t *module)
{
    *name = strlen(name_heading(t));
    *module = 0;
    for (size_t i = 0; i < t->shown; i++) {
        const struct table_row *r = &t->rows[t->order[i]];
        size_t columns = visible_columns(r->name);
        *name = columns > *name ? columns : *name;
        columns = visible_columns(r->module);
        *module = columns > *module ? columns : *module;
    }
    if (*module && *module < strlen("module"))
        *module = strlen("module");
}

/* Names get the columns that numbers leave; modules get a third of them if not all
 * fits. Columns that are too narrow are omitted: modules, then weights; shares are
 * always shown. */
static void set_text_widths(struct layout *l)
{
    size_t width = l->t->o->width, name, module;
    longest_texts(l->t, &name, &module);
    if (width == 0) {
        l->name_width = name < NAME_MAX ? name : NAME_MAX;
        l->module_width = module;
        return;
    }
    if (width < columns_width(l) + NAME_MIN)
        drop_weights(l);
    size_t figures = columns_width(l);
    size_t room_left = width > figures + NAME_MIN ? width - figures : NAME_MIN;
    if (module && name + 2 + module > room_left) {
        size_t third = room_left / 3;
        if (module > third)
            module = room_left > name + 2 + third ? room_left - name - 2 : third;
        if (module < MODULE_MIN)
            module = 0;
    }
    l->module_width = module;
    size_t room = module ? room_left - module - 2 : room_left;
    l->name_width = name < room ? name : room;
}

/* --- Rows --------------------------------------------------------------------------- */

static void write_spaces(struct output *out, size_t count)
{
    for (; count > 0; count--)
        output_char(out, ' ');
}

/* Writes a text in at most `width` columns if the width is limited; returns its
 * columns. */
static size_t write_text(const struct layout *l, struct str text, size_t width)
{
    if (l->t->o->width)
        return visible_print_cut(l->out, text, width);
    visible_print(l->out, text);
    return visible_columns(text);
}

static void write_row(const struct layout *l, const struct table_row *r)
{
    char cell[CELL_MAX];
    for (size_t c = 0; c < l->count; c++) {
        const struct column *column = &l->columns[c];
        size_t length = column->write(l->t, &l->measure, r, cell);
        const char *colour = column->colour ? column->colour(l->t, r) : "";
        write_spaces(l->out, column->width - length);
        output_text(l->out, colour);
        output_bytes(l->out, cell, length);
        output_text(l->out, colour[0] ? TABLE_COLOUR_END : "");
        output_text(l->out, "  ");
    }
    size_t taken = write_text(l, r->name, l->name_width);
    if (l->module_width && r->module.len) {
        write_spaces(l->out, taken < l->name_width ? l->name_width - taken : 0);
        output_text(l->out, "  ");
        write_text(l, r->module, l->module_width);
    }
    output_char(l->out, '\n');
}

static void write_headings(const struct layout *l)
{
    char text[CELL_MAX];
    const char *name = name_heading(l->t);
    bool colour = l->t->o->colour;
    output_text(l->out, colour ? "\x1b[1m" : "");
    for (size_t c = 0; c < l->count; c++) {
        write_heading(&l->columns[c], &l->measure, text, sizeof text);
        write_spaces(l->out, l->columns[c].width - strlen(text));
        output_text(l->out, text);
        output_text(l->out, "  ");
    }
    output_text(l->out, name);
    if (l->module_width) {
        size_t length = strlen(name);
        write_spaces(l->out, length < l->name_width ? l->name_width - length : 0);
        output_text(l->out, "  module");
    }
    output_text(l->out, colour ? TABLE_COLOUR_END "\n" : "\n");
}

/* The share of the rows that are not shown. */
static void write_rest(const struct layout *l)
{
    const struct table *t = l->t;
    double self = 0;
    if (t->shown == t->count)
        return;
    for (size_t i = t->shown; i < t->count; i++)
        self += t->rows[t->order[i]].self;
    output_text(l->out, "# and ");
    write_count(l->out, t->count - t->shown, "more", "more");
    output_format(l->out,
                  t->differential ? " with a smaller or no change (%.2f%% self)\n"
                                  : " (%.2f%% self)\n",
                  table_share(t, self));
}

static void write_functions(const struct table *t, struct output *out)
{
    struct layout l = {.t = t, .out = out, .measure = measure_of(t)};
    if (t->differential) {
        l.count = sizeof change_columns / sizeof *change_columns;
        memcpy(l.columns, change_columns, sizeof change_columns);
    } else {
        l.count = sizeof plain_columns / sizeof *plain_columns;
        memcpy(l.columns, plain_columns, sizeof plain_columns);
    }
    measure_columns(&l);
    set_text_widths(&l);
    write_headings(&l);
    for (size_t i = 0; i < t->shown; i++)
        write_row(&l, &t->rows[t->order[i]]);
    write_rest(&l);
}

/* --- Events ------------------------------------------------------------------------- */

static void write_weight(struct output *out, const struct table *t, double weight)
{
    struct measure m = measure_of(t);
    char digits[CELL_MAX];
    output_bytes(out, digits, measure_write(&m, weight, digits));
    if (m.unit[0])
        output_format(out, " %s", m.unit);
}

static void write_event(const struct table *t, struct output *out)
{
    const struct profile *p = t->p;
    output_text(out, "\n# ");
    if (t->differential) {
        output_text(out, "before: ");
        write_weight(out, t, t->base_total);
        output_text(out, ", after: ");
        write_weight(out, t, t->total);
    } else {
        visible_print(out, profile_string(p, p->events[t->tree.event].name));
        output_text(out, ": ");
        write_weight(out, t, t->total);
        output_text(out, " in ");
        write_sample_count(out, p, t->samples);
    }
    if (t->unknown > 0)
        output_format(out, ", %.2f%% in functions without a name",
                      table_share(t, t->unknown));
    output_char(out, '\n');
}

bool table_write_text(const struct profile *p, const struct export_options *options,
                      struct output *out, struct error *err)
{
    bool ok = true;
    table_write_facts(out, p, options->title);
    for (event_id e = 0; ok && (e = table_next_event(p, options, e)) != 0;) {
        struct table t;
        ok = table_init(&t, p, options, e, err);
        if (ok) {
            write_event(&t, out);
            if (t.o->tree)
                ok = table_write_tree(&t, out, err);
            else
                write_functions(&t, out);
        }
        table_deinit(&t);
    }
    return ok;
}
