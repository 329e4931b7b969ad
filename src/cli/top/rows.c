/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/rows.h"
#include "base/number.h"
#include "base/visible.h"

#define NAME_FROM 18u      /* the first column of names, after two shares */
#define TASK_NAME_FROM 26u /* after three */

double top_percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* "  12.34%" in 8 columns, or blanks. */
static void write_share(struct output *out, double part, double whole, bool there)
{
    char text[NUMBER_TEXT_MAX];
    size_t length = there ? number_write_fixed(top_percent(part, whole), 2, text) : 0;
    for (size_t i = length + there; i < 8; i++)
        output_char(out, ' ');
    output_bytes(out, text, length);
    if (there)
        output_char(out, '%');
}

void top_blanks(struct output *out, size_t count)
{
    while (count--)
        output_char(out, ' ');
}

/* Writes a row in the given number of columns: the name, then the module, which has a
 * third of the width after the shares. */
static void write_function(const struct top_view *v, const struct live_row *row,
                           size_t columns, struct output *out)
{
    size_t rest = columns > NAME_FROM + 8 ? columns - NAME_FROM : 8, module = rest / 3;
    size_t indent = row->depth < rest / 4 ? row->depth : rest / 4, used = 2 * indent;
    write_share(out, row->self, v->rows.total, row->depth == 0);
    write_share(out, row->total, v->rows.total, true);
    top_blanks(out, 2 + 2 * indent);
    if (row->depth)
        output_text(out, "< ");
    used += row->depth ? 2 : 0;
    if (used < rest - module)
        used += visible_print_cut(out, row->name, rest - module - used);
    top_blanks(out, rest - module > used ? rest - module - used : 0);
    output_text(out, "  ");
    visible_print_cut(out, row->module, module > 2 ? module - 2 : 1);
}

static void write_function_titles(const struct top_view *v, size_t columns,
                                  struct output *out)
{
    static const char *const marks[] = {"self", "total", "function", "module"};
    size_t rest = columns > NAME_FROM + 8 ? columns - NAME_FROM : 8, module = rest / 3;
    const char *by = marks[v->request.sort];
    output_format(out, "%8s%8s  %s", by == marks[0] ? "*self" : "self",
                  by == marks[1] ? "*total" : "total",
                  by == marks[2] ? "*function" : "function");
    top_blanks(out, rest - module - (by == marks[2] ? 9 : 8) + 2);
    output_text(out, by == marks[3] ? "*module" : "module");
}

/* --- Processes, threads, services, containers --------------------------------------- */

/* " 12.34%" of one thread or CPU: many threads have thousands; blanks if it is below 0. */
static void write_figure(struct output *out, double figure)
{
    char text[NUMBER_TEXT_MAX];
    size_t length =
        figure < 0 ? 0 : number_write_fixed(100 * figure, figure < 10 ? 2 : 0, text);
    top_blanks(out, length < 7 ? 7 - length + (figure < 0) : 0);
    output_bytes(out, text, length);
    if (figure >= 0)
        output_char(out, '%');
}

/* The part of the weight in CPUs; in the total if the number of CPUs is unknown. */
static double used(const struct top_view *v, const struct live_row *row)
{
    double share = v->rows.total > 0 ? row->self / v->rows.total : 0;
    return v->facts.cpus > 0 ? share * v->facts.cpus : share;
}

static size_t columns_of_counts(size_t columns)
{
    return (columns > TASK_NAME_FROM + 8 ? columns - TASK_NAME_FROM : 8) / 3;
}

static void write_task(const struct top_view *v, const struct live_row *row,
                       size_t columns, struct output *out)
{
    size_t counts = columns_of_counts(columns);
    size_t rest = columns > TASK_NAME_FROM + 8 ? columns - TASK_NAME_FROM : 8;
    size_t taken = 2 * row->depth + 2;
    write_figure(out, used(v, row));
    write_figure(out, row->ready);
    write_figure(out, row->waits);
    top_blanks(out, 2 + 2 * row->depth);
    output_char(out, row->mark);
    output_char(out, ' ');
    if (taken < rest - counts)
        taken += visible_print_cut(out, row->name, rest - counts - taken);
    top_blanks(out, rest - counts > taken ? rest - counts - taken : 0);
    output_text(out, "  ");
    visible_print_cut(out, row->module, counts > 2 ? counts - 2 : 1);
}

static void write_task_titles(const struct top_view *v, size_t columns,
                              struct output *out)
{
    enum live_sort sort = v->request.sort;
    size_t counts = columns_of_counts(columns);
    size_t rest = columns > TASK_NAME_FROM + 8 ? columns - TASK_NAME_FROM : 8;
    const char *cpu = v->facts.cpus > 0 ? "*cpu" : "*share";
    const char *of = live_groups[v->request.by];
    size_t taken = 2 + strlen(of) + (sort == LIVE_BY_NAME);
    output_format(out, "%8s%8s%8s    %s%s", cpu + (sort != LIVE_BY_SELF),
                  &"*ready"[sort != LIVE_BY_READY], &"*waits"[sort != LIVE_BY_WAITS],
                  sort == LIVE_BY_NAME ? "*" : "", of);
    top_blanks(out, rest - counts > taken ? rest - counts - taken : 0);
    output_text(out, "  id, parts");
}

/* --- Rows -------------------------------------------------------------------------- */

void top_row_write(const struct top_view *v, const struct live_row *row, size_t columns,
                   struct output *out)
{
    if (top_view_has_tasks(v))
        write_task(v, row, columns, out);
    else
        write_function(v, row, columns, out);
}

void top_titles_write(const struct top_view *v, size_t columns, struct output *out)
{
    if (top_view_has_tasks(v))
        write_task_titles(v, columns, out);
    else
        write_function_titles(v, columns, out);
}
