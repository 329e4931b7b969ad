/* SPDX-License-Identifier: Apache-2.0 */
/* VTune's call graph in the form of gprof (report gprof-cc), as text:
 *
 *   Index  % CPU Time:Total  CPU Time:Self  CPU Time:Children  Name             Index
 *   -----  ----------------  -------------  -----------------  ---------------  -----
 *                            0.02           1.5                  main           [0]   a caller
 *   [4]    76.1              0.02           1.5                work             [4]   the function
 *                            1.5            0.0                  shade <cycle 1> [7]  a callee
 *
 * A blank line ends a block. The times of a callee are its part for this caller. Calls
 * inside a cycle have no times, or children below 0. "<spontaneous>" stands for the callers that are not known.
 * The unit is seconds if the metric is a time, and otherwise a number of events. */
#include "base/format.h"
#include "base/number.h"
#include "import/gprof.h"
#include <math.h>

#define COLUMNS 6
#define VALUE_MOST 1e15
#define NANOSECONDS 1e9

enum column {
    COLUMN_INDEX,
    COLUMN_SHARE,
    COLUMN_SELF,
    COLUMN_CHILDREN,
    COLUMN_NAME,
    COLUMN_LAST
};

struct reader {
    struct gprof graph;
    struct lines lines;
    size_t start[COLUMNS]; /* of each column, by the rule below the header */
    double scale;          /* of a value */
    bool in_table, block_is_open, is_sum;
    uint32_t function; /* of the block; 0: none yet */
};

struct row {
    bool is_function, has_values;
    double self, children, share;
    struct str name;
};

static void warn(struct reader *r, const char *what, struct str line)
{
    builder_warn(r->graph.b, what, r->lines.number, 1, line);
}

/* --- The header --------------------------------------------------------------------- */

/* "% CPU Time:Total" of the header: "CPU Time". Empty if the line is not a header. */
static struct str metric_of(struct str line)
{
    struct str rest = line, none = STR("");
    if (!str_equal(str_word(&rest), STR("Index")) ||
        !str_equal(str_word(&rest), STR("%")))
        return none;
    size_t total = str_search(rest, STR(":Total"));
    struct str name = str_trim(str_head(rest, total));
    bool is_header = total < rest.len && str_has(rest, STR(":Self")) &&
                     str_has(rest, STR(":Children")) && str_has(rest, STR(" Name"));
    return is_header ? name : none;
}

/* "-----  ----------------  ...": the columns begin where the dashes do. */
static bool read_rule(struct reader *r, struct str line)
{
    size_t count = 0;
    for (size_t i = 0; i < line.len; i++) {
        bool is_dash = line.ptr[i] == '-';
        if (!is_dash && !byte_is_space(line.ptr[i]))
            return false;
        if (!is_dash || (i > 0 && line.ptr[i - 1] == '-'))
            continue;
        if (count == COLUMNS)
            return false;
        r->start[count++] = i;
    }
    return count == COLUMNS;
}

/* --- Rows ------------------------------------------------------------------------------ */

static struct str cell(const struct reader *r, struct str line, enum column column)
{
    size_t from = r->start[column], end = r->start[column + 1];
    if (from > line.len)
        from = line.len;
    if (end > line.len)
        end = line.len;
    return str_trim(str_span(line.ptr + from, line.ptr + end));
}

static bool parse_value(const struct reader *r, struct str text, double *value)
{
    if (!number_parse_double(text, value) || !(fabs(*value) < VALUE_MOST / r->scale))
        return false;
    *value = round(*value * r->scale);
    return true;
}

static bool parse_row(const struct reader *r, struct str line, struct row *row)
{
    struct str index = cell(r, line, COLUMN_INDEX), self = cell(r, line, COLUMN_SELF);
    struct str share = cell(r, line, COLUMN_SHARE);
    *row = (struct row){.is_function = index.len > 0, .has_values = self.len > 0};
    if (row->has_values &&
        (!parse_value(r, self, &row->self) || row->self < 0 ||
         !parse_value(r, cell(r, line, COLUMN_CHILDREN), &row->children)))
        return false;
    if (!number_parse_double(share, &row->share) ||
        !(row->share > 0 && row->share <= 100))
        row->share = 0;
    if (line.len <= r->start[COLUMN_NAME])
        return false;
    row->name = str_trim(str_skip(line, r->start[COLUMN_NAME]));
    return row->name.len > 0;
}

static bool is_spontaneous(struct str name)
{
    return str_starts(name, STR("<spontaneous>"));
}

static void read_function(struct reader *r, const struct row *row, struct str line)
{
    struct gprof *g = &r->graph;
    r->is_sum = is_spontaneous(row->name) || str_has(row->name, STR(" as a whole>"));
    if (r->is_sum)
        return;
    r->function = gprof_function_named(g, row->name);
    if (!r->function)
        return;
    struct gprof_function *f = &g->functions[r->function];
    if (f->listed) {
        warn(r, "a function that is listed twice, skipped", line);
    } else {
        f->self = row->self;
        f->share = row->share / 100;
    }
    f->listed = f->uncounted = true;
}

static void read_row(struct reader *r, struct str line)
{
    struct gprof *g = &r->graph;
    struct row row;
    if (!parse_row(r, line, &row) ||
        (row.is_function && (!row.has_values || r->function))) {
        warn(r, "not a line of a call graph", line);
        return;
    }
    r->block_is_open = true;
    if (row.is_function) {
        read_function(r, &row, line);
        return;
    }
    /* Each call is also among the callers of the callee. */
    if (!r->function || is_spontaneous(row.name))
        return;
    uint32_t callee = gprof_function_named(g, row.name);
    struct gprof_call *call = callee ? gprof_call(g, r->function, callee) : NULL;
    if (call && row.self + row.children > 0)
        call->part += row.self + row.children;
}

static void end_block(struct reader *r, struct str line)
{
    if (r->block_is_open && !r->function && !r->is_sum)
        warn(r, "a block without its function", line);
    r->block_is_open = r->is_sum = false;
    r->function = 0;
}

/* --- The file ---------------------------------------------------------------------------- */

static void read_header(struct reader *r, struct str metric, struct error *err)
{
    struct gprof *g = &r->graph;
    struct str rule;
    bool is_time = str_has(metric, STR("Time"));
    if (!lines_next(&r->lines, &rule) || !read_rule(r, rule)) {
        if (!r->lines.failed)
            error_set(err, "no line of dashes after the header of the call graph");
        r->lines.failed = true;
        return;
    }
    char *event = arena_alloc(&g->arena, metric.len + 1);
    if (event) {
        format_text(event, metric.len + 1, "%.*s", STR_ARG(metric));
        g->event = event;
    }
    g->unit = is_time ? UNIT_NANOSECONDS : UNIT_COUNT;
    r->scale = is_time ? NANOSECONDS : 1;
    g->precision = is_time ? NANOSECONDS / 1000 : 1;
    r->in_table = true;
}

static void read_line(struct reader *r, struct str line, struct error *err)
{
    struct str text = str_trim(line), metric = metric_of(line);
    if (metric.len && !r->graph.function_count) {
        read_header(r, metric, err);
    } else if (str_starts(text, STR("Index by function name"))) {
        end_block(r, line);
        r->in_table = false;
    } else if (r->in_table && text.len) {
        read_row(r, line);
    } else {
        end_block(r, line);
    }
}

static bool axe_read(struct source *in, const struct import_options *options,
                     struct builder *b, struct error *err)
{
    struct reader r = {.lines = lines_of(in, err), .scale = 1};
    struct gprof *g = &r.graph;
    struct str line;
    *g = (struct gprof){.b = b, .options = options, .event = "time", .stated = -1};
    while (!builder_failed(b) && !g->arena.failed && !r.lines.failed &&
           lines_next(&r.lines, &line))
        read_line(&r, line, err);
    if (r.block_is_open) {
        if (!r.lines.cut)
            end_block(&r, STR(""));
        else
            warn(&r, "the file ends inside a block of the call graph", STR(""));
        b->profile->facts.incomplete |= r.lines.cut;
    }
    g->bytes = r.lines.source->offset;
    if (!r.lines.failed && g->function_count && !g->arena.failed)
        gprof_add_stacks(g);
    builder_end_scratch(b, &g->arena);
    return !r.lines.failed;
}

static int axe_probe(struct str head)
{
    for (int i = 0; i < 50 && head.len; i++)
        if (metric_of(str_cut(&head, '\n')).len)
            return 95;
    return 0;
}

const struct importer import_axe = {
    .name = "axe",
    .suffixes = "axe",
    .summary = "VTune call graph, report gprof-cc",
    .probe = axe_probe,
    .read = axe_read,
};
