/* SPDX-License-Identifier: Apache-2.0 */
/* CPU samples of Windows' xperf, exported as CSV: a header with the names of the columns, in any
 * order, and a row per stack.
 *
 *   Process Name, Module, Function, Weight, Count, Stack
 *   app.exe (42), app.exe, work, 1.0, 3, [Root]/ntdll.dll!start/app.exe!main/app.exe!work
 *
 * The weight of a row is Weight times Count. A stack of "?" is unknown, and the sampled function
 * may be missing at the end of a stack. The rows of the process "Idle" are left out. */
#include "base/number.h"
#include "codec/csv.h"
#include "import/importer.h"

#define VALUE_MOST 1e15
#define COLUMNS_MOST 64

enum column { PROCESS, MODULE, FUNCTION, WEIGHT, COUNT, STACK, COLUMNS, COLUMN_OTHER };

static const char *const column_names[COLUMNS] = {"Process Name", "Module", "Function",
                                                  "Weight",       "Count",  "Stack"};

struct reader {
    struct builder *b;
    const struct import_options *options;
    struct output symbol; /* of the row */
    enum column columns[COLUMNS_MOST];
    size_t column_count;
    event_id event;
};

/* --- The header --------------------------------------------------------------------- */

static enum column column_of(struct str name)
{
    for (size_t i = 0; i < COLUMNS; i++)
        if (str_equal(name, str_of(column_names[i])))
            return (enum column)i;
    return COLUMN_OTHER;
}

/* Whether the line names all columns. */
static bool read_header(struct reader *r, struct str line)
{
    struct csv csv = csv_of(line, ',');
    struct csv_field field;
    unsigned found = 0;
    r->column_count = 0;
    while (csv_next(&csv, &field) && r->column_count < COLUMNS_MOST) {
        enum column column = column_of(str_trim(field.text));
        if (column < COLUMNS)
            found |= 1u << column;
        r->columns[r->column_count++] = column;
    }
    return found == (1u << COLUMNS) - 1;
}

/* --- Rows --------------------------------------------------------------------------- */

/* "app.exe!work" */
static void add_symbol(struct reader *r, struct str symbol)
{
    size_t at = str_find(symbol, '!');
    struct frame f = {.name = import_label(r->b, builder_string(r->b, symbol))};
    if (at > 0 && at < symbol.len && symbol.ptr[0] != '?')
        f.module = builder_module(r->b, str_head(symbol, at), STR(""));
    builder_path_add(r->b, builder_frame(r->b, &f));
}

/* Cuts the next symbol off; one that contains a slash, as "operator/", has no "!" after it. */
static struct str next_symbol(struct str *stack)
{
    struct str all = *stack, symbol = str_cut(stack, '/');
    if (!stack->len)
        return all;
    while (stack->len) {
        struct str rest = *stack, next = str_cut(&rest, '/');
        if (str_find(next, '!') < next.len || str_equal(next, STR("?")))
            break;
        *stack = rest;
        symbol = str_span(all.ptr, next.ptr + next.len);
    }
    return symbol;
}

static stack_id read_stack(struct reader *r, struct str stack, struct str symbol)
{
    struct str last = STR("");
    builder_path_clear(r->b);
    if (!str_equal(str_cut(&stack, '/'), STR("[Root]")))
        stack = STR("");
    while (stack.len) {
        last = next_symbol(&stack);
        add_symbol(r, last);
    }
    if (!str_equal(last, symbol))
        add_symbol(r, symbol);
    return builder_path_from_root(r->b);
}

/* "app.exe (42)" */
static thread_id read_process(struct reader *r, struct str text)
{
    uint64_t pid;
    size_t at = str_rsearch(text, STR(" ("));
    struct str number = str_skip(text, at + 2);
    if (at < text.len && str_ends(number, STR(")")) &&
        number_parse_u64(str_head(number, number.len - 1), &pid) && pid <= UINT32_MAX)
        return builder_thread(r->b, (int64_t)pid, ID_NONE, str_head(text, at));
    return builder_thread(r->b, ID_NONE, ID_NONE, text);
}

static bool parse_value(struct str text, double *value)
{
    return number_parse_double(text, value) && *value >= 0 && *value < VALUE_MOST;
}

/* False if the row is not one. */
static bool read_row(struct reader *r, struct str line)
{
    struct csv csv = csv_of(line, ',');
    struct csv_field field;
    struct str fields[COLUMNS + 1] = {{0}};
    size_t count = 0;
    double weight, samples;
    while (csv_next(&csv, &field) && count < r->column_count) {
        enum column column = r->columns[count++];
        if (column < COLUMNS) /* names are without quotes */
            fields[column] = str_trim(field.text);
    }
    if (count < r->column_count || !parse_value(fields[WEIGHT], &weight) ||
        !parse_value(fields[COUNT], &samples))
        return false;
    if (str_equal(fields[PROCESS], STR("Idle")) ||
        str_starts(fields[PROCESS], STR("Idle (")) || weight * samples == 0)
        return true;
    r->symbol.used = 0;
    r->symbol.room = r->symbol.cap;
    output_format(&r->symbol, "%.*s!%.*s", STR_ARG(fields[MODULE]),
                  STR_ARG(fields[FUNCTION]));
    struct sample s = {.time = TIME_NONE,
                       .cpu = CPU_NONE,
                       .event = r->event,
                       .thread = read_process(r, fields[PROCESS]),
                       .count = samples > 1 ? (uint64_t)samples : 1,
                       .weight = r->options->samples ? 1 : weight * samples};
    s.stack = read_stack(r, fields[STACK], output_contents(&r->symbol));
    builder_add(r->b, &s);
    return true;
}

static bool xperf_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct reader r = {.b = b,
                       .options = options,
                       .symbol = OUTPUT_BUFFER,
                       .event = builder_event(b, STR("samples"), UNIT_COUNT)};
    struct lines lines = lines_of(in, err);
    struct str line;
    while (!builder_failed(b) && !r.symbol.failed && lines_next(&lines, &line)) {
        bool in_table = r.column_count > 0;
        if (!in_table && !read_header(&r, line))
            r.column_count = 0;
        else if (in_table && str_trim(line).len && !read_row(&r, line))
            builder_warn(b, "not a row of the table", lines.number, 1, line);
    }
    bool ok = !r.symbol.failed || error_memory(err);
    if (ok && !lines.failed && r.column_count == 0)
        ok = error_set(err, "no header with the columns of xperf's CSV");
    output_deinit(&r.symbol);
    return ok && !lines.failed;
}

static int xperf_probe(struct str head)
{
    struct reader r = {.column_count = 0};
    for (int i = 0; i < 8 && head.len; i++)
        if (read_header(&r, str_cut(&head, '\n')))
            return 94;
    return 0;
}

const struct importer import_xperf = {
    .name = "xperf",
    .suffixes = "",
    .summary = "xperf CPU samples, as CSV",
    .probe = xperf_probe,
    .read = xperf_read,
};
