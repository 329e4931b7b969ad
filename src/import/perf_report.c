/* SPDX-License-Identifier: Apache-2.0 */
/* The text of perf report --stdio, with or without call graphs:
 *
 *   # Samples: 252  of event 'cycles'
 *   # Event count (approx.): 126000000
 *   #
 *   # Children      Self  Command  Shared Object  Symbol
 *   # ........  ........  .......  .............  .......
 *   #
 *       95.24%     0.00%  a.out    a.out          [.] main
 *               |
 *               ---main
 *                  |
 *                  |--56.35%--work
 *                  |          memcpy
 *                   --38.49%--wait
 *
 * The dots show where the columns are. A line below "---" or "--56.35%--" continues that
 * branch, and a bar below its names begins a branch of it. With -g flat, a value has its
 * names below it; with -g folded, the line of a value has them all. With --hierarchy, a
 * row is divided by the rows below it, which are indented by 3 columns more. With -t, a text
 * separates the columns, and there are no dots:
 *
 *   #    Overhead  Command / Symbol
 *   # ...........  ................
 *       95.24%     a.out
 *          95.24%     [.] main
 *
 *   # Overhead,Command   ,Symbol
 *    95.24% ,a.out     ,[.] main */
#include "import/perf_report.h"
#include "base/array.h"
#include "base/number.h"

#define COLUMNS_MOST 32
#define OPEN_MOST 256   /* branches inside each other */
#define DEPTH_MOST 1024 /* lines of a path; perf's own limit is lower */
#define FLAT_COLUMN 11  /* of the values of -g flat */
#define BRANCH_WIDTH 11 /* from a branch's bar to its name */
#define LEVEL_WIDTH 3   /* of a level of --hierarchy */
#define VALUE_MOST 1e18

enum role {
    ROLE_OTHER,
    ROLE_CHILDREN,
    ROLE_TOTAL,
    ROLE_SELF,
    ROLE_SAMPLES,
    ROLE_PERIOD,
    ROLE_COMM,
    ROLE_PID,
    ROLE_CPU,
    ROLE_MODULE,
    ROLE_SYMBOL,
};

struct column {
    enum role role;
    size_t start, end;
};

/* A branch of the current graph that lines may continue. */
struct open_branch {
    size_t column; /* of its names, and of the bars of its branches */
    uint32_t last; /* its last node */
};

struct reader {
    struct report report;
    struct lines lines;
    char *titles; /* the comment line before the dots */
    size_t titles_size, titles_cap;
    struct column columns[COLUMNS_MOST];
    size_t column_count;  /* 0: not in a table */
    struct str separator; /* between columns; empty: they are aligned */
    char separator_text[8];
    enum role
        levels[COLUMNS_MOST]; /* --hierarchy: the roles of the names, outermost first */
    string_id names[COLUMNS_MOST]; /* of the current row and those around it */
    size_t level_count;            /* 0: no hierarchy */
    size_t outermost;              /* the end of the percentages of level 0; 0: unknown */
    enum role numbers[COLUMNS_MOST]; /* --hierarchy: of the columns before the names */
    size_t number_count;
    struct open_branch open[OPEN_MOST];
    size_t open_count;
    bool is_table; /* a line "# Samples:" was read: those before are the header */
    bool is_group; /* the event is a group: its rows have several values */
    bool is_bare;  /* there are rows without headings */
    char *plain;   /* a line without colours */
    size_t plain_cap;
    bool is_flat; /* the next names follow a value of -g flat */
    double flat_value;
    uint32_t flat_kind;
};

static void warn(struct reader *r, const char *what, struct str line)
{
    builder_warn(r->report.b, what, r->lines.number, 1, str_trim(line));
}

/* --- Comments ---------------------------------------------------------------------------- */

/* "252", or "31K" */
static double read_count(struct str text)
{
    double value, scale = 1;
    if (str_ends(text, STR("K")))
        scale = 1e3;
    else if (str_ends(text, STR("M")))
        scale = 1e6;
    text.len -= scale > 1;
    bool valid = number_parse_double(text, &value) && value >= 0 && value < VALUE_MOST;
    return valid && value * scale < VALUE_MOST ? value * scale : -1;
}

/* "252  of event 'cycles'", with the name in quotes, and more after it */
static void begin_event(struct reader *r, struct str rest)
{
    struct report *report = &r->report;
    perf_report_settle(report);
    report->samples = read_count(str_word(&rest));
    report->total = -1;
    report->event = 0;
    r->column_count = 0;
    r->separator = STR("");
    r->is_table = true;
    r->is_group = str_starts(str_trim(rest), STR("of events"));
    size_t quote = str_find(rest, '\'');
    struct str name = str_skip(rest, quote + 1);
    name.len = str_rfind(name, '\'');
    if (quote < rest.len && name.len)
        report->event = builder_string(report->b, name);
}

static bool take(struct str *text, struct str head)
{
    if (!str_starts(*text, head))
        return false;
    *text = str_trim(str_skip(*text, head.len));
    return true;
}

static enum role role_of(struct str title)
{
    static const struct {
        const char *title;
        enum role role;
    } roles[] = {
        {"Children", ROLE_CHILDREN},    {"Overhead", ROLE_TOTAL},  {"Self", ROLE_SELF},
        {"Samples", ROLE_SAMPLES},      {"Period", ROLE_PERIOD},   {"Command", ROLE_COMM},
        {"Pid:Command", ROLE_PID},      {"Tid:Command", ROLE_PID}, {"CPU", ROLE_CPU},
        {"Shared Object", ROLE_MODULE}, {"Symbol", ROLE_SYMBOL},
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (str_equal(title, str_of(roles[i].title)))
            return roles[i].role;
    return ROLE_OTHER;
}

static struct str cell(const struct reader *r, size_t number, struct str line)
{
    const struct column *column = &r->columns[number];
    for (size_t i = 0; r->separator.len; i++) {
        size_t end = str_search(line, r->separator);
        if (i == number)
            return str_trim(i + 1 < r->column_count ? str_head(line, end) : line);
        line = str_skip(line, end + r->separator.len);
    }
    struct str text = str_skip(line, column->start);
    return str_trim(str_head(text, column->end - column->start));
}

/* "Overhead       Samples  Command / Symbol": the numbers and the levels of --hierarchy, if it is
 * one. */
static void read_levels(struct reader *r, struct str titles)
{
    struct str text = str_trim(str_skip(titles, 1)), slash = STR(" / ");
    size_t gap = str_rsearch(str_head(text, str_search(text, slash)), STR("  "));
    r->level_count = r->number_count = r->outermost = 0;
    if (str_search(text, slash) == text.len)
        return;
    struct str numbers = str_head(text, gap), names = str_trim(str_skip(text, gap));
    while (numbers.len && r->number_count < COLUMNS_MOST)
        r->numbers[r->number_count++] = role_of(str_word(&numbers));
    while (names.len && r->level_count < COLUMNS_MOST) {
        size_t end = str_search(names, slash);
        r->levels[r->level_count++] = role_of(str_trim(str_head(names, end)));
        names = str_skip(names, end + slash.len);
    }
}

/* The rows of this event are not read. */
static void skip_table(struct reader *r, const char *why, struct str line)
{
    warn(r, why, line);
    r->is_group = true;
}

static void set_columns(struct reader *r, size_t count, struct str titles,
                        struct str line)
{
    bool has_total = false, has_self = false;
    r->column_count = count;
    for (size_t i = 0; i < count; i++)
        r->columns[i].role = role_of(cell(r, i, titles));
    for (size_t i = 0; i < count + r->number_count; i++) {
        enum role role = i < count ? r->columns[i].role : r->numbers[i - count];
        has_self |= role == ROLE_SELF;
        has_total |= role == ROLE_TOTAL || role == ROLE_SAMPLES || role == ROLE_PERIOD;
    }
    r->report.has_children = has_self;
    if (!has_self && !has_total)
        skip_table(r,
                   "rows without the weight of the functions themselves, skipped: perf "
                   "report -F overhead,... prints it",
                   line);
}

static bool is_word(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* "# ........  ......": sets the columns. */
static bool read_dots(struct reader *r, struct str line)
{
    size_t count = 0;
    for (size_t i = 1; i < line.len; i++) {
        if (line.ptr[i] != '.' && line.ptr[i] != ' ')
            return false;
        if (line.ptr[i] == ' ' || line.ptr[i - 1] == '.' || count == COLUMNS_MOST)
            continue;
        if (count)
            r->columns[count - 1].end = i;
        r->columns[count++] = (struct column){.start = i, .end = SIZE_MAX};
    }
    if (count == 0)
        return false;
    struct str titles = {r->titles ? r->titles : "", r->titles_size};
    read_levels(r, titles);
    set_columns(r, count, titles, line);
    return true;
}

/* "# Overhead,Command   ,Symbol": the columns of -t. False if the line has no titles. */
static bool read_separated(struct reader *r, struct str line)
{
    struct str text = str_skip(line, 1), rest;
    while (str_starts(text, STR(" ")))
        text = str_skip(text, 1);
    size_t title = 0, length = 0, count = 1;
    while (title < text.len &&
           (is_word(text.ptr[title]) || text.ptr[title] == ' ' || text.ptr[title] == ':'))
        title++;
    rest = str_skip(text, title);
    while (length < rest.len && rest.ptr[length] != ' ' && !is_word(rest.ptr[length]))
        length++;
    if (role_of(str_trim(str_head(text, title))) == ROLE_OTHER || length == 0 ||
        length > sizeof r->separator_text)
        return false;
    memcpy(r->separator_text, rest.ptr, length);
    r->separator = (struct str){r->separator_text, length};
    for (size_t at; (at = str_search(text, r->separator)) < text.len; count++)
        text = str_skip(text, at + length);
    r->level_count = 0;
    set_columns(r, count < COLUMNS_MOST ? count : COLUMNS_MOST, str_skip(line, 1), line);
    if (str_search(line, STR(" / ")) < line.len)
        skip_table(r, "a hierarchy with separators, skipped: perf report without -t",
                   line);
    return true;
}

static void save_titles(struct reader *r, struct str line)
{
    r->titles_size = 0;
    if (!ARRAY_RESERVE(&r->report.arena, r->titles, r->titles_cap, line.len + 1))
        return;
    memcpy(r->titles, line.ptr, line.len);
    r->titles_size = line.len;
}

static void read_comment(struct reader *r, struct str line)
{
    struct str text = str_trim(str_skip(line, 1));
    struct report *report = &r->report;
    uint64_t lost;
    if (take(&text, STR("Samples:"))) {
        begin_event(r, text);
        if (r->is_group)
            warn(r,
                 "a report of a group of events, skipped: perf report --no-group "
                 "prints them one by one",
                 line);
    } else if (take(&text, STR("Event count (approx.):")) ||
               take(&text, STR("Total weight :"))) {
        report->total = read_count(text);
    } else if (take(&text, STR("Total Lost Samples:"))) {
        if (number_parse_u64(text, &lost) && lost < (uint64_t)VALUE_MOST)
            builder_lost(report->b, TIME_NONE, lost);
    } else if (!read_dots(r, str_trim_right(line)) && text.len &&
               !(r->is_table && read_separated(r, line))) {
        save_titles(r, line);
    }
}

/* --- Rows ------------------------------------------------------------------------------ */

/* "[.] main", "[k] 0xffffffff81000000" */
static void read_symbol(struct report *report, struct report_row *row, struct str text)
{
    if (text.len > 3 && text.ptr[0] == '[' && text.ptr[2] == ']') {
        char kind = text.ptr[1];
        row->kind = kind == 'k'                  ? FRAME_KERNEL
                    : kind == 'g' || kind == 'u' ? FRAME_GUEST
                                                 : FRAME_USER;
        text = str_trim(str_skip(text, 3));
    }
    struct str inlined = STR(" (inlined)");
    if (str_ends(text, inlined)) {
        row->kind = FRAME_INLINED;
        text.len -= inlined.len;
    }
    row->name = builder_string(report->b, text);
}

/* "28435:a.out" */
static void read_pid(struct report *report, struct report_row *row, struct str text)
{
    uint64_t tid;
    struct str comm = text, number = str_cut(&comm, ':');
    if (number_parse_u64(number, &tid) && tid <= INT32_MAX)
        row->thread = builder_thread(report->b, ID_NONE, (int64_t)tid, comm);
}

static bool read_percent(struct str text, double *value)
{
    if (!str_ends(text, STR("%")))
        return false;
    text.len--;
    return number_parse_double(text, value) && *value >= 0 && *value < 1000;
}

/* The number of a column with that role; true if the role has none. */
static bool read_number(struct report_row *row, enum role role, struct str text)
{
    switch (role) {
    case ROLE_SAMPLES:
        return (row->samples = read_count(text)) >= 0;
    case ROLE_PERIOD:
        return (row->period = read_count(text)) >= 0;
    case ROLE_CHILDREN: /* "N/A": the report is without children, --no-children */
        return str_equal(text, STR("N/A")) || read_percent(text, &row->total);
    case ROLE_TOTAL:
        return read_percent(text, &row->total);
    case ROLE_SELF:
        return read_percent(text, &row->self);
    default:
        return true;
    }
}

/* False if the line is not a row: its columns of numbers have none. */
static bool read_numbers(const struct reader *r, struct str line, struct report_row *row)
{
    size_t numbers = 0;
    row->self = row->samples = row->period = row->total = -1;
    for (size_t i = 0; i < r->column_count; i++) {
        enum role role = r->columns[i].role;
        if (!read_number(row, role, cell(r, i, line)))
            return false;
        numbers += role == ROLE_TOTAL || role == ROLE_CHILDREN || role == ROLE_SAMPLES ||
                   role == ROLE_PERIOD;
    }
    if (row->self < 0)
        row->self = row->total;
    return numbers > 0;
}

struct row_names {
    struct str module, other;
};

static void read_name(struct report *report, struct report_row *row, enum role role,
                      struct str text, struct row_names *names)
{
    uint64_t cpu;
    switch (role) {
    case ROLE_COMM:
        row->thread = builder_thread(report->b, ID_NONE, ID_NONE, text);
        break;
    case ROLE_PID:
        read_pid(report, row, text);
        break;
    case ROLE_CPU:
        if (number_parse_u64(text, &cpu) && cpu < CPU_NONE)
            row->cpu = (uint32_t)cpu;
        break;
    case ROLE_MODULE:
        names->module = text;
        break;
    case ROLE_SYMBOL:
        read_symbol(report, row, text);
        break;
    case ROLE_OTHER:
        names->other = text;
        break;
    default:
        break;
    }
}

static void add_row(struct reader *r, struct report_row *row,
                    const struct row_names *names)
{
    struct report *report = &r->report;
    if (!row->name)
        row->label =
            builder_string(report->b, names->other.len ? names->other : names->module);
    row->module = builder_module(report->b, names->module, STR(""));
    struct report_row *added =
        ARRAY_APPEND(&report->arena, report->rows, report->row_count, report->row_cap);
    if (added)
        *added = *row;
    r->open_count = 0;
    r->is_flat = false;
}

/* A row of --hierarchy. Only those of the innermost level count: the others are their sums. */
static bool read_level(struct reader *r, struct str line, struct report_row *row)
{
    struct str rest = line;
    size_t end = str_find(line, '%');
    if (end == line.len || str_starts(str_trim(line), STR("no entry >= ")))
        return end < line.len;
    row->self = row->samples = row->period = -1;
    for (size_t i = 0; i < r->number_count; i++)
        if (!read_number(row, r->numbers[i], str_word(&rest)))
            return false;
    r->outermost = r->outermost ? r->outermost : end;
    size_t level = (end - r->outermost) / LEVEL_WIDTH;
    if (end < r->outermost || level >= r->level_count)
        return false;
    r->names[level] = builder_string(r->report.b, str_trim(rest));
    if (level + 1 < r->level_count)
        return true;
    struct row_names names = {STR(""), STR("")};
    for (size_t i = 0; i <= level; i++)
        read_name(&r->report, row, r->levels[i],
                  profile_string(r->report.b->profile, r->names[i]), &names);
    if (row->self < 0)
        row->self = row->total;
    add_row(r, row, &names);
    return true;
}

static bool read_row(struct reader *r, struct str line)
{
    struct report_row row = {.cpu = CPU_NONE,
                             .first_node = (uint32_t)r->report.node_count};
    struct row_names names = {STR(""), STR("")};
    if (r->level_count)
        return read_level(r, line, &row);
    if (!read_numbers(r, line, &row))
        return false;
    for (size_t i = 0; i < r->column_count; i++)
        read_name(&r->report, &row, r->columns[i].role, cell(r, i, line), &names);
    add_row(r, &row, &names);
    return true;
}

/* --- Call graphs ------------------------------------------------------------------------ */

/* "56.35%", or a number */
static uint32_t read_value(struct str text, double *value)
{
    if (read_percent(text, value))
        return VALUE_PERCENT;
    uint64_t number;
    if (!number_parse_u64(text, &number) || (double)number > VALUE_MOST)
        return VALUE_NONE;
    *value = (double)number;
    return VALUE_NUMBER;
}

/* Adds a line to the graph of the last row. Returns its index, or that of the parent if
 * it is left out. */
static uint32_t add_node(struct reader *r, uint32_t parent, struct str name,
                         uint32_t value_kind, double value)
{
    struct report *report = &r->report;
    struct str inlined = STR(" (inlined)");
    uint32_t depth = parent == REPORT_NO_NODE ? 0 : report->nodes[parent].depth + 1;
    bool is_inlined = str_ends(name, inlined);
    if (is_inlined)
        name.len -= inlined.len;
    if (depth >= DEPTH_MOST || report->node_count >= REPORT_NO_NODE) {
        builder_cut(report->b);
        return parent;
    }
    uint32_t index = (uint32_t)report->node_count;
    struct report_node *node =
        ARRAY_APPEND(&report->arena, report->nodes, report->node_count, report->node_cap);
    if (!node)
        return parent;
    *node = (struct report_node){.parent = parent,
                                 .name = builder_string(report->b, name),
                                 .is_inlined = is_inlined,
                                 .value_kind = value_kind,
                                 .value = value,
                                 .depth = depth};
    report->rows[report->row_count - 1].node_count++;
    return index;
}

static void open_at(struct reader *r, size_t column, uint32_t last)
{
    if (r->open_count == OPEN_MOST)
        builder_cut(r->report.b);
    else
        r->open[r->open_count++] = (struct open_branch){.column = column, .last = last};
}

/* The node that a line in this column belongs to. */
static uint32_t parent_at(struct reader *r, size_t column)
{
    while (r->open_count && r->open[r->open_count - 1].column > column)
        r->open_count--;
    return r->open_count ? r->open[r->open_count - 1].last : REPORT_NO_NODE;
}

/* "--56.35%--work" after the bar in that column; false if it has another form. */
static bool read_branch(struct reader *r, size_t column, struct str text)
{
    struct str rest = str_skip(text, 2), dashes = STR("--"), hidden = STR("[...]");
    size_t end = str_search(rest, dashes);
    double value = 0;
    uint32_t kind = read_value(str_head(rest, end), &value);
    struct str name = str_trim(str_skip(rest, end + dashes.len));
    if (kind == VALUE_NONE || end == rest.len || !name.len)
        return false;
    uint32_t parent = parent_at(r, column);
    if (str_equal(name, hidden)) /* what is not printed */
        return true;
    uint32_t node = add_node(r, parent, name, kind, value);
    open_at(r, column + BRANCH_WIDTH, node);
    return true;
}

/* A line of names and bars. */
static bool read_graph_line(struct reader *r, struct str line)
{
    size_t at = 0;
    while (at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == '|'))
        at++;
    struct str text = str_trim(str_skip(line, at)), root = STR("---");
    if (!text.len)
        return true;
    if (str_starts(text, root)) {
        struct str name = str_skip(text, root.len);
        r->open_count = 0;
        if (name.len)
            open_at(r, at + root.len, add_node(r, REPORT_NO_NODE, name, VALUE_NONE, 0));
        return name.len > 0;
    }
    if (at > 0 && str_starts(text, STR("--")) && read_branch(r, at - 1, text))
        return true;
    if (parent_at(r, at) == REPORT_NO_NODE)
        return false;
    struct open_branch *branch = &r->open[r->open_count - 1];
    branch->last = add_node(r, branch->last, text, VALUE_NONE, 0);
    return true;
}

/* The lines of -g flat: a value, and names until an empty line. */
static bool read_flat_line(struct reader *r, struct str line)
{
    struct str text = str_trim(line);
    size_t column = (size_t)(text.ptr - line.ptr);
    double value = 0;
    uint32_t kind = column == FLAT_COLUMN ? read_value(text, &value) : VALUE_NONE;
    if (kind != VALUE_NONE) {
        r->is_flat = true;
        r->open_count = 0;
        r->flat_kind = kind;
        r->flat_value = value;
        return true;
    }
    if (!r->is_flat)
        return false;
    if (r->open_count == 0) {
        open_at(r, 0, add_node(r, REPORT_NO_NODE, text, r->flat_kind, r->flat_value));
        return true;
    }
    r->open[0].last = add_node(r, r->open[0].last, text, VALUE_NONE, 0);
    return true;
}

/* -g folded: "40.08% leaf;work;main" */
static bool read_folded_line(struct reader *r, struct str line)
{
    struct str rest = line;
    double value = 0;
    uint32_t kind = read_value(str_word(&rest), &value), last = REPORT_NO_NODE;
    rest = str_trim(rest);
    if (kind == VALUE_NONE || !rest.len)
        return false;
    while (rest.len) {
        bool is_first = last == REPORT_NO_NODE;
        struct str name = str_cut(&rest, ';');
        last = add_node(r, last, name, is_first ? kind : (uint32_t)VALUE_NONE, value);
    }
    return true;
}

/* Removes colours, "\x1b[31m". */
static struct str without_colours(struct reader *r, struct str line)
{
    size_t used = 0;
    if (str_find(line, '\x1b') == line.len ||
        !ARRAY_RESERVE(&r->report.arena, r->plain, r->plain_cap, line.len))
        return line;
    while (line.len) {
        size_t at = str_find(line, '\x1b');
        memcpy(r->plain + used, line.ptr, at);
        used += at;
        line = str_skip(line, at);
        line = str_skip(line, str_find(line, 'm') + 1);
    }
    return (struct str){r->plain, used};
}

/* --- The file --------------------------------------------------------------------------- */

/* A row of perf report -q: "   56.35%  a.out  [.] main" */
static bool is_bare_row(struct str line)
{
    static const char *const kinds[] = {"[.] ", "[k] ", "[g] ", "[u] "};
    double value;
    bool has = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        has |= str_search(line, str_of(kinds[i])) < line.len;
    return has && read_percent(str_word(&line), &value);
}

static void read_line(struct reader *r, struct str line)
{
    line = str_trim_right(without_colours(r, line));
    if (str_starts(line, STR("#"))) {
        read_comment(r, line);
        return;
    }
    if (!line.len) {
        r->is_flat = false;
        return;
    }
    if (r->is_group)
        return;
    if (r->column_count && read_row(r, line))
        return;
    bool is_read = false;
    r->is_bare |= !r->column_count && is_bare_row(line);
    if (r->report.row_count)
        is_read = line.ptr[0] != ' '
                      ? read_folded_line(r, line)
                      : read_flat_line(r, line) || read_graph_line(r, line);
    if (!is_read)
        warn(r, "not a line of a report by perf", line);
}

static bool perf_report_read(struct source *in, const struct import_options *options,
                             struct builder *b, struct error *err)
{
    struct reader reader = {.lines = lines_of(in, err)}, *r = &reader;
    struct str line;
    r->report =
        (struct report){.b = b, .samples = -1, .total = -1, .counts = options->samples};
    bool is_comment = false;
    while (!builder_failed(b) && !r->report.arena.failed &&
           lines_next(&r->lines, &line)) {
        is_comment = str_starts(line, STR("#"));
        read_line(r, line);
    }
    if (!r->report.arena.failed)
        perf_report_settle(&r->report);
    bool bare = r->is_bare && !b->profile->sample_count;
    if (bare) {
        error_set(err, "the rows have no headings, which name their columns");
        error_hint(err, "perf report without -q prints them");
    }
    /* a report ends with a comment: only its line end is missing then */
    b->profile->facts.incomplete |= r->lines.cut && !is_comment;
    builder_end_scratch(b, &r->report.arena);
    return !r->lines.failed && !bare;
}

/* The comment lines of the first event. */
static int perf_report_probe(struct str head)
{
    bool has_count = false, has_samples = false;
    int rows = 0;
    for (int i = 0; i < 200 && head.len; i++) {
        struct str line = str_cut(&head, '\n');
        has_samples |=
            str_starts(line, STR("# Samples: ")) && str_has(line, STR(" of event"));
        has_count |= str_starts(line, STR("# Event count (approx.): ")) ||
                     str_starts(line, STR("# Total weight : "));
        if (has_samples && has_count)
            return 95;
        rows += is_bare_row(line);
    }
    return rows > 1 ? 30 : 0;
}

const struct importer import_perf_report = {
    .name = "perf-report",
    .suffixes = "",
    .summary = "perf report --stdio, with or without call graphs",
    .probe = perf_report_probe,
    .read = perf_report_read,
};
