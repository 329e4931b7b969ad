/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tree_table.h"
#include "base/number.h"
#include "codec/csv.h"
#include "import/indent.h"
#include "import/quantity.h"
#include "model/rust_name.h"

#define COLUMNS_MAX 64

/* The largest level; deeper trees are not stacks. */
#define LEVEL_MAX ((uint64_t)1 << 31)

struct value_column {
    struct table_column is;
    event_id event; /* 0 until the first value, which has the unit */
};

struct table_reader {
    const struct table_format *format;
    const struct import_options *options;
    struct builder *b;
    struct lines lines;
    struct indent tree;
    char separator;
    struct value_column columns[COLUMNS_MAX];
    size_t column_count;
    bool has_level, has_self;
    struct output unquoted, plain, name; /* buffers for the current texts */
};

/* A parsed row. */
struct row {
    struct str name, module, file;
    size_t column;
    struct str values[COLUMNS_MAX]; /* by column, empty if missing */
};

/* --- The header ------------------------------------------------------------------ */

static struct table_column classify(const struct table_format *format, struct str header)
{
    return format->classify(str_trim(header));
}

static bool is_header(const struct table_format *format, struct str line, char separator)
{
    struct csv csv = csv_of(line, separator);
    struct csv_field field;
    bool name = false, value = false;
    while (csv_next(&csv, &field)) {
        enum table_role role = classify(format, field.text).role;
        name |= role == COLUMN_NAME;
        value |= role == COLUMN_SELF || role == COLUMN_TOTAL;
    }
    return name && value;
}

char table_separator(const struct table_format *format, struct str line)
{
    static const char separators[] = {'\t', ',', ';', '|', ':'};
    if (line.len > 4096)
        return 0;
    for (size_t i = 0; i < sizeof separators; i++)
        if (is_header(format, line, separators[i]))
            return separators[i];
    return 0;
}

bool table_probe(const struct table_format *format, struct str head)
{
    for (int i = 0; i < 10 && head.len; i++)
        if (table_separator(format, str_trim_right(str_cut(&head, '\n'))))
            return true;
    return false;
}

/* Makes the events of the self columns in the order of their ranks. If the unit is
 * only in the values, or there is no self column, the first value makes the event. */
static void order_events(struct table_reader *r)
{
    for (unsigned rank = 0; rank < COLUMNS_MAX; rank++) {
        for (size_t i = 0; i < r->column_count; i++) {
            struct value_column *c = &r->columns[i];
            if (c->is.role == COLUMN_SELF && c->is.rank == rank && c->is.scale > 0)
                c->event = builder_event(r->b, c->is.event, c->is.unit);
        }
    }
}

static void read_header(struct table_reader *r, struct str line)
{
    struct csv csv = csv_of(line, r->separator);
    struct csv_field field;
    bool has_total = false;
    r->column_count = 0;
    while (r->column_count < COLUMNS_MAX && csv_next(&csv, &field)) {
        struct table_column c = classify(r->format, field.text);
        r->has_level |= c.role == COLUMN_LEVEL;
        r->has_self |= c.role == COLUMN_SELF;
        if (c.role == COLUMN_TOTAL && has_total)
            c.role = COLUMN_OTHER;
        has_total |= c.role == COLUMN_TOTAL;
        c.event.ptr = c.event.len ? c.event.ptr : "";
        string_id name = builder_string(r->b, c.event); /* outlives the line */
        c.event = profile_string(r->b->profile, name);
        r->columns[r->column_count++] = (struct value_column){.is = c};
    }
    for (size_t i = 0; i < r->column_count; i++)
        if (r->has_self && r->columns[i].is.role == COLUMN_TOTAL)
            r->columns[i].is.role = COLUMN_OTHER;
    order_events(r);
}

/* --- Rows ------------------------------------------------------------------------ */

static size_t leading_space(struct str s)
{
    return s.len - str_trim_left(s).len;
}

static void take_name(struct table_reader *r, struct row *row, struct csv_field *field)
{
    if (!r->has_level)
        row->column = field->indent + leading_space(field->text);
    field->text = str_trim(field->text);
    row->name = csv_text(field, &r->unquoted);
}

static bool take_level(struct table_reader *r, struct row *row, struct str text)
{
    uint64_t level;
    if (number_parse_u64(str_trim(text), &level) && level <= LEVEL_MAX) {
        row->column = (size_t)level;
        return true;
    }
    builder_warn(r->b, "a level that is not a number", r->lines.number, 1, text);
    return false;
}

static bool split_row(struct table_reader *r, struct str line, struct row *row)
{
    struct csv csv = csv_of(line, r->separator);
    struct csv_field field;
    bool level = !r->has_level;
    memset(row, 0, sizeof *row);
    row->name = row->module = row->file = STR("");
    for (size_t i = 0; i < r->column_count; i++) {
        const char *begin = csv.rest.ptr;
        row->values[i] = STR("");
        if (!csv_next(&csv, &field))
            continue;
        switch (r->columns[i].is.role) {
        case COLUMN_NAME:
            if (i + 1 == r->column_count &&
                !csv.done) /* not quoted, with separators in it */
                field.text = str_span(begin, line.ptr + line.len);
            take_name(r, row, &field);
            break;
        case COLUMN_LEVEL:
            level = take_level(r, row, field.text);
            break;
        case COLUMN_MODULE:
            row->module = str_trim(field.text);
            break;
        case COLUMN_FILE:
            row->file = str_trim(field.text);
            break;
        default:
            row->values[i] = field.text;
        }
    }
    if (level && row->name.len == 0)
        builder_warn(r->b, "a row without a name", r->lines.number, 1, line);
    return level && row->name.len != 0;
}

static frame_id frame_of(struct table_reader *r, const struct row *row)
{
    struct frame f = {.module = builder_module(r->b, row->module, STR(""))};
    struct str name = row->name;
    if (r->format->rust_names)
        name = rust_name(name, &r->plain);
    if (r->format->module_in_name && !r->options->bare_names && row->module.len) {
        r->name.used = 0;
        output_str(&r->name, row->module);
        output_char(&r->name, '`');
        output_str(&r->name, name);
        name = output_contents(&r->name);
    }
    if (r->options->lines)
        f.file = builder_string(r->b, row->file);
    f.name = builder_string(r->b, name);
    return builder_frame(r->b, &f);
}

/* To an integer, unless that is 0. */
static double rounded(double v)
{
    return v >= 0.5 && v < 1e15 ? (double)(uint64_t)(v + 0.5) : v;
}

/* Reads the row's value in a column. False if it is not a value; an empty one is 0. */
static bool take_value(struct table_reader *r, struct value_column *c, struct str text,
                       struct quantity *q)
{
    struct str rest = text;
    *q = (struct quantity){.unit = c->is.unit};
    if (str_trim(text).len == 0)
        return true;
    if (!quantity_take(&rest, q)) {
        builder_warn(r->b, "a value that is not a number, negative or too large",
                     r->lines.number, 1, text);
        return false;
    }
    double scale = c->is.scale > 0 ? c->is.scale : 1;
    if (!q->has_unit) {
        q->value *= scale;
        q->step *= scale;
        q->unit = c->is.unit;
    } else if (c->event && q->unit == UNIT_NANOSECONDS &&
               c->is.unit == UNIT_MILLISECONDS) {
        q->value /= 1e6;
        q->step /= 1e6;
    }
    if (c->is.rounded || (q->has_unit && q->unit != UNIT_COUNT))
        q->value = rounded(q->value);
    if (q->value > 0 && !c->event)
        c->event = builder_event(r->b, c->is.event, q->unit);
    return true;
}

/* Adds the row's values: self values as a sample, a total to the tree. */
static void add_values(struct table_reader *r, const struct row *row, stack_id stack)
{
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE, .stack = stack, .count = 1};
    struct quantity q;
    bool first = true;
    for (size_t i = 0; i < r->column_count; i++) {
        struct value_column *c = &r->columns[i];
        bool self = c->is.role == COLUMN_SELF, total = c->is.role == COLUMN_TOTAL;
        if ((!self && !total) || !take_value(r, c, row->values[i], &q))
            continue;
        if (total) {
            r->tree.event = c->event;
            indent_total(&r->tree, q.value, q.step / 2);
        } else if (q.value > 0) {
            s.event = c->event;
            s.weight = q.value;
            (first ? builder_add : builder_add_mapped)(r->b, &s);
            first = false;
        }
    }
}

static void read_row(struct table_reader *r, struct str line)
{
    struct row row;
    if (!split_row(r, line, &row))
        return;
    if (r->format->counted_root && row.column == 0) {
        indent_close(&r->tree, 0);
        r->b->profile->facts.command = builder_string(r->b, row.name);
        return;
    }
    add_values(r, &row, indent_open(&r->tree, row.column, frame_of(r, &row)));
}

static void read_lines(struct table_reader *r)
{
    struct str line;
    while (!builder_failed(r->b) && lines_next(&r->lines, &line)) {
        if (str_trim(line).len == 0)
            continue;
        char separator = r->separator ? 0 : table_separator(r->format, line);
        if (separator) {
            r->separator = separator;
            read_header(r, line);
        } else if (r->separator) {
            read_row(r, line);
        }
    }
}

bool table_read(const struct table_format *format, struct source *in,
                const struct import_options *options, struct builder *b,
                struct error *err)
{
    struct table_reader r = {.format = format,
                             .options = options,
                             .b = b,
                             .lines = lines_of(in, err),
                             .tree = {.b = b}};
    read_lines(&r);
    indent_deinit(&r.tree);
    b->profile->arena.failed |= r.unquoted.failed | r.plain.failed | r.name.failed;
    output_deinit(&r.unquoted);
    output_deinit(&r.plain);
    output_deinit(&r.name);
    if (!r.separator && !r.lines.failed)
        return error_set(err, "no header line with the names of the columns");
    return !r.lines.failed;
}
