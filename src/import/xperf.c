/* SPDX-License-Identifier: Apache-2.0 */
/* CPU samples of Windows' xperf and of the Windows Performance Analyzer, exported as CSV: a header
 * with the names of the columns, in any order, and a row per stack or sample.
 *
 *   Process Name, Module, Function, Weight, Count, Stack
 *   app.exe (42), app.exe, work, 1.0, 3, [Root]/ntdll.dll!start/app.exe!main/app.exe!work
 *
 *   Process,Thread ID,Stack,Count,Weight (in view) (ms),TimeStamp (s)
 *   app.exe (42),8,[Root]/ntdll.dll!start/app.exe!main/app.exe!work,1,"1.000123","0.512345"
 *
 * xperf's weight of a row is Weight times Count; the analyzer's is that of all samples of the row, in
 * the unit of the column. A stack of "?" is unknown, and the sampled function may be missing at the
 * end of a stack. The rows of the process "Idle" are left out. The decimal separator of numbers is
 * that of the user's language. */
#include "base/number.h"
#include "codec/csv.h"
#include "import/importer.h"

#define VALUE_MOST 1e15
#define COLUMNS_MOST 64

enum column {
    PROCESS,
    MODULE,
    FUNCTION,
    WEIGHT,
    COUNT,
    STACK,
    DURATION,
    THREAD,
    TIME,
    CPU,
    COLUMNS,
};

static const struct {
    const char *name; /* or its beginning, if a unit in parentheses follows */
    enum column column;
} column_names[] = {
    {"Process Name", PROCESS},
    {"Process", PROCESS},
    {"Module", MODULE},
    {"Function", FUNCTION},
    {"Weight", WEIGHT},
    {"Count", COUNT},
    {"Stack", STACK},
    {"Thread ID", THREAD},
    {"CPU", CPU},
    {"TimeStamp (", TIME},
    {"Weight (in view) (", DURATION},
};

#define XPERF_COLUMNS                                                             \
    (1u << PROCESS | 1u << MODULE | 1u << FUNCTION | 1u << WEIGHT | 1u << COUNT | \
     1u << STACK)
#define ANALYZER_COLUMNS (1u << PROCESS | 1u << STACK | 1u << DURATION)

struct reader {
    struct builder *b;
    const struct import_options *options;
    struct output symbol; /* of the row */
    char separator;
    enum column columns[COLUMNS_MOST];
    size_t column_count;
    bool of_analyzer;
    double units[COLUMNS]; /* ns, of DURATION and TIME */
    event_id event;
};

/* --- The header --------------------------------------------------------------------- */

/* "ms)" */
static double unit_of(struct str rest)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"s)", 1e9}, {"ms)", 1e6}, {"us)", 1e3}, {"\u00b5s)", 1e3}, {"ns)", 1}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (str_equal(rest, str_of(units[i].name)))
            return units[i].ns;
    return 0;
}

static enum column column_of(struct reader *r, struct str name)
{
    for (size_t i = 0; i < sizeof column_names / sizeof *column_names; i++) {
        struct str known = str_of(column_names[i].name);
        enum column column = column_names[i].column;
        if (str_equal(name, known))
            return column;
        double unit = str_ends(known, STR("(")) && str_starts(name, known)
                          ? unit_of(str_skip(name, known.len))
                          : 0;
        r->units[column] = unit > 0 ? unit : r->units[column];
        if (unit > 0)
            return column;
    }
    return COLUMNS;
}

static bool read_names(struct reader *r, struct str line, char separator)
{
    struct csv csv = csv_of(line, separator);
    struct csv_field field;
    unsigned found = 0;
    r->column_count = 0;
    r->separator = separator;
    while (csv_next(&csv, &field) && r->column_count < COLUMNS_MOST) {
        enum column column = column_of(r, str_trim(field.text));
        if (column < COLUMNS && found & 1u << column) /* the first one counts */
            column = COLUMNS;
        found |= column < COLUMNS ? 1u << column : 0;
        r->columns[r->column_count++] = column;
    }
    r->of_analyzer = (found & XPERF_COLUMNS) != XPERF_COLUMNS;
    return !r->of_analyzer || (found & ANALYZER_COLUMNS) == ANALYZER_COLUMNS;
}

/* Whether the line names all columns. */
static bool read_header(struct reader *r, struct str line)
{
    return read_names(r, line, ',') || read_names(r, line, ';') ||
           read_names(r, line, '\t');
}

/* --- Rows --------------------------------------------------------------------------- */

/* "app.exe!work"; "?!?" is unknown. */
static void add_symbol(struct reader *r, struct str symbol)
{
    size_t at = str_find(symbol, '!');
    bool has_module = at > 0 && at < symbol.len;
    struct str module = str_head(symbol, has_module ? at : 0);
    struct str name = str_skip(symbol, has_module ? at + 1 : 0);
    struct frame f = {0};
    if (!str_equal(name, STR("?")))
        f.name = import_label(r->b, builder_string(r->b, name));
    if (module.len && module.ptr[0] != '?')
        f.module = builder_module(r->b, module, STR(""));
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
    if (symbol.len && !str_equal(last, symbol))
        add_symbol(r, symbol);
    return builder_path_from_root(r->b);
}

/* "app.exe (42)", "app.exe <Package> (42)" */
static thread_id read_process(struct reader *r, struct str text, struct str thread)
{
    uint64_t pid, tid;
    int64_t id = ID_NONE;
    if (r->of_analyzer && number_parse_u64(thread, &tid) && tid <= UINT32_MAX)
        id = (int64_t)tid;
    size_t at = str_rsearch(text, STR(" ("));
    struct str number = str_skip(text, at + 2);
    if (at < text.len && str_ends(number, STR(")")) &&
        number_parse_u64(str_head(number, number.len - 1), &pid) && pid <= UINT32_MAX)
        return builder_thread(r->b, (int64_t)pid, id, str_head(text, at));
    return builder_thread(r->b, ID_NONE, id, text);
}

/* "1,234.5", "1.234,5" or "1234,567890". One separator before three digits is of thousands only
 * if there are more of them. */
static bool parse_value(struct str text, double *value)
{
    char plain[64];
    size_t used = 0, point = text.len, commas = 0, points = 0;
    for (size_t i = 0; i < text.len; i++) {
        commas += text.ptr[i] == ',';
        points += text.ptr[i] == '.';
        if (text.ptr[i] == ',' || text.ptr[i] == '.')
            point = i;
    }
    if (point < text.len && (text.ptr[point] == ',' ? commas : points) > 1)
        point = text.len;
    for (size_t i = 0; i < text.len && used < sizeof plain; i++)
        if (i == point)
            plain[used++] = '.';
        else if (text.ptr[i] != ',' && text.ptr[i] != '.')
            plain[used++] = text.ptr[i];
    return used < sizeof plain && number_parse_double((struct str){plain, used}, value) &&
           *value >= 0 && *value < VALUE_MOST;
}

/* Splits the row into its fields. False if some are missing. */
static bool read_fields(const struct reader *r, struct str line, struct str *fields)
{
    struct csv csv = csv_of(line, r->separator);
    struct csv_field field;
    size_t count = 0;
    while (csv_next(&csv, &field) && count < r->column_count) {
        enum column column = r->columns[count++];
        if (column < COLUMNS) /* names are without quotes */
            fields[column] = str_trim(field.text);
    }
    return count >= r->column_count;
}

/* Sets weight and count. False if they are not numbers. */
static bool read_weight(const struct reader *r, const struct str *fields,
                        struct sample *s)
{
    double weight, samples = 1;
    if ((fields[COUNT].len || !r->of_analyzer) && !parse_value(fields[COUNT], &samples))
        return false;
    if (!parse_value(fields[r->of_analyzer ? DURATION : WEIGHT], &weight))
        return false;
    s->count = samples > 1 ? (uint64_t)samples : 1;
    s->weight = r->of_analyzer ? weight * r->units[DURATION] : weight * samples;
    return true;
}

/* The thread, time and CPU of a row, as far as they are known. */
static void read_origin(struct reader *r, const struct str *fields, struct sample *s)
{
    uint64_t number;
    double time;
    s->thread = read_process(r, fields[PROCESS], fields[THREAD]);
    if (number_parse_u64(fields[CPU], &number) && number < CPU_NONE)
        s->cpu = (uint32_t)number;
    if (fields[TIME].len && parse_value(fields[TIME], &time) &&
        time * r->units[TIME] < VALUE_MOST * 1e3)
        s->time = (uint64_t)(time * r->units[TIME]);
}

/* False if the row is not one. */
static bool read_row(struct reader *r, struct str line)
{
    struct str fields[COLUMNS] = {{0}};
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE, .event = r->event};
    if (!read_fields(r, line, fields) || !read_weight(r, fields, &s))
        return false;
    if (str_equal(fields[PROCESS], STR("Idle")) ||
        str_starts(fields[PROCESS], STR("Idle (")) || s.weight == 0)
        return true;
    if (r->options->samples)
        s.weight = r->of_analyzer ? (double)s.count : 1;
    r->symbol.used = 0;
    r->symbol.room = r->symbol.cap;
    if (fields[FUNCTION].len)
        output_format(&r->symbol, "%.*s!%.*s", STR_ARG(fields[MODULE]),
                      STR_ARG(fields[FUNCTION]));
    read_origin(r, fields, &s);
    s.stack = read_stack(r, fields[STACK], output_contents(&r->symbol));
    builder_add(r->b, &s);
    return true;
}

/* If the line is the header, rows follow, and the event of their weights is known. */
static void begin_table(struct reader *r, struct str line)
{
    if (!read_header(r, line))
        r->column_count = 0;
    else if (r->of_analyzer && !r->options->samples)
        r->event = builder_event(r->b, STR("CPU time"), UNIT_NANOSECONDS);
    else
        r->event = builder_event(r->b, STR("samples"), UNIT_COUNT);
}

static bool xperf_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct reader r = {.b = b, .options = options, .symbol = OUTPUT_BUFFER};
    struct lines lines = lines_of(in, err);
    struct str line;
    while (!builder_failed(b) && !r.symbol.failed && lines_next(&lines, &line)) {
        bool in_table = r.column_count > 0;
        if (!in_table)
            begin_table(&r, line);
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
    .summary = "xperf and Windows Performance Analyzer CPU samples, as CSV",
    .probe = xperf_probe,
    .read = xperf_read,
};
