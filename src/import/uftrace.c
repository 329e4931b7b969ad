/* SPDX-License-Identifier: Apache-2.0 */
/* What uftrace prints: the calls of a program in their order (uftrace replay), its call graph (uftrace
 * graph), or the times of functions without their callers (uftrace report).
 *
 *   # DURATION     TID     FUNCTION
 *               [  1482] | main() {
 *      1.817 us [  1482] |   leaf(3);
 *    161.751 us [  1482] |   --linux:schedule--
 *    188.016 us [  1482] | } --main--
 *
 *   # Function Call Graph for 'prog' (session: 35ce1c693e05a44c)
 *     556.640 us :     +-(3) mid
 *      31.945 us :     |  +-(6) leaf
 *                :     |  |
 *     522.957 us :     |  +-(3) usleep
 *     485.129 us :     |  | (3) linux:schedule
 *
 *     Total time   Self time       Calls  Function
 *     ==========  ==========  ==========  ====================
 *     573.505 us    0.340 us           1  main
 *
 * (with comments of C for the dashes.) Times are elapsed ones, with callees where the calls or the graph are printed. In a graph, a row
 * without a branch is the only callee of the row before it. If the options count samples, weights
 * are numbers of calls. */
#include "base/array.h"
#include "base/idmap.h"
#include "base/number.h"
#include "import/importer.h"
#include "import/indent.h"
#include "model/name.h"

#define THREADS_MOST 4096
#define TIME_MOST 1e18
#define CALLS_MOST 1e15
#define CHAIN_BITS 24 /* of the position in a chain of single callees */
#define COLUMN_MOST 1000000

enum text_kind { TEXT_NONE, TEXT_REPLAY, TEXT_GRAPH, TEXT_REPORT };

struct uftrace {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    struct arena arena;
    event_id event;
    enum text_kind kind;
    struct indent *threads; /* [0]: of a graph, and of lines without a thread */
    size_t thread_count, thread_cap;
    struct idmap numbers; /* of threads: indices */
    struct str root;      /* of a graph, from its heading; in the arena */
    size_t last_key;      /* of the row of a graph before the current one */
    size_t self, calls;   /* columns of a report */
    uint64_t unknown_begins, unknown_ends; /* of calls */
};

/* --- Parts of lines ----------------------------------------------------------------- */

/* A time with its last digit, in nanoseconds. */
struct elapsed {
    double time, step;
    bool known;
};

/* Removes "1.817 us" from the start of *text. */
static struct elapsed take_time(struct str *text)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                 {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    struct elapsed e = {0};
    struct str rest = *text, number = str_word(&rest), unit = str_word(&rest);
    double value;
    if (!number_parse_double(number, &value) || !(value >= 0))
        return e;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (str_equal(unit, str_of(units[i].name)) && value * units[i].ns < TIME_MOST)
            e = (struct elapsed){value * units[i].ns, units[i].ns / 1000, true};
    if (e.known)
        *text = rest;
    e.step = e.step > 1 ? e.step : 0; /* microseconds have all digits */
    return e;
}

static frame_id named(const struct uftrace *u, struct str name)
{
    return builder_named_frame(
        u->b, u->options->signatures ? name : name_without_arguments(name));
}

/* Ends all trees. A call that did not end has no time. */
static void begin_kind(struct uftrace *u, enum text_kind kind)
{
    bool ends_calls = u->kind == TEXT_REPLAY || u->kind == TEXT_NONE;
    for (size_t i = 0; i < u->thread_count; i++) {
        struct indent *t = &u->threads[i];
        for (size_t k = 0; k < t->count && ends_calls; k++) {
            t->rows[k].rest = 0;
            u->unknown_ends++;
        }
        indent_close(t, 0);
    }
    u->kind = kind;
}

/* The tree of a thread; NULL if there are too many. */
static struct indent *tree_of(struct uftrace *u, uint64_t tid, bool known)
{
    uint64_t *number = known ? idmap_put(&u->numbers, &u->arena, tid) : NULL;
    if (number && *number)
        return &u->threads[*number];
    if (!known && u->thread_count)
        return &u->threads[0];
    if (u->thread_count >= THREADS_MOST) {
        builder_warn(u->b, "more threads than stoke reads", u->lines.number, 1, STR(""));
        return NULL;
    }
    struct indent *t =
        ARRAY_APPEND(&u->arena, u->threads, u->thread_count, u->thread_cap);
    if (!t)
        return NULL;
    *t = (struct indent){.b = u->b, .event = u->event};
    if (number) {
        *number = u->thread_count - 1;
        t->thread = builder_thread(u->b, ID_NONE, (int64_t)tid, STR(""));
    }
    return t;
}

/* --- Replay ------------------------------------------------------------------------- */

static void begin_call(struct uftrace *u, struct indent *t, size_t column,
                       struct str name)
{
    stack_id stack = indent_open(t, column, named(u, name));
    if (u->options->samples)
        builder_add(u->b, &(struct sample){.time = TIME_NONE,
                                           .thread = t->thread,
                                           .cpu = CPU_NONE,
                                           .event = u->event,
                                           .stack = stack,
                                           .count = 1,
                                           .weight = 1});
}

static void end_call(struct uftrace *u, struct indent *t, size_t column,
                     const struct elapsed *e)
{
    indent_close(t, column + 1);
    if (t->count == 0 || t->rows[t->count - 1].column != column) {
        u->unknown_begins++;
        return;
    }
    if (e->known && !u->options->samples)
        indent_end(t, e->time, e->step / 2);
    indent_close(t, column);
}

/* The text of a comment; "linux:sched-in" ends a wait. */
static struct str event_of(struct str comment)
{
    struct str text = str_skip(comment, 2);
    text = str_trim(str_head(text, str_search(text, STR("*/"))));
    return str_equal(text, STR("linux:sched-in")) ? STR("linux:schedule") : text;
}

static void replay_call(struct uftrace *u, struct indent *t, struct str body,
                        const struct elapsed *e)
{
    struct str call = str_trim(body);
    size_t column = (size_t)(call.ptr - body.ptr);
    if (str_starts(call, STR("}"))) {
        end_call(u, t, column, e);
    } else if (str_starts(call, STR("/*"))) {
        if (!e->known)
            return;
        begin_call(u, t, column, event_of(call));
        end_call(u, t, column, e);
    } else if (str_ends(call, STR("{"))) {
        begin_call(u, t, column, str_trim(str_head(call, call.len - 1)));
    } else if (str_find(call, ';') < call.len) {
        begin_call(u, t, column, str_head(call, str_rfind(call, ';')));
        end_call(u, t, column, e);
    } else if (call.len) {
        builder_warn(u->b, "not a call", u->lines.number, 1, call);
    }
}

/* "1.817 us [  1482] |   leaf();": what follows the thread is the time, and not read. */
static void replay_line(struct uftrace *u, struct str line)
{
    size_t bar = str_find(line, '|'), open = str_find(line, '['),
           close = str_find(line, ']');
    struct str head = str_head(line, bar);
    uint64_t tid = 0;
    if (bar == line.len)
        return;
    bool known = open < close && close < bar &&
                 number_parse_u64(
                     str_trim(str_span(line.ptr + open + 1, line.ptr + close)), &tid) &&
                 tid <= INT32_MAX;
    struct elapsed e = take_time(&head);
    struct indent *t = tree_of(u, tid, known);
    if (t)
        replay_call(u, t, str_skip(line, bar + 1), &e);
}

/* --- Graph -------------------------------------------------------------------------- */

/* A row: ":     |  +-(6) leaf". */
struct graph_row {
    size_t column; /* of the number of calls */
    bool branch;
    uint64_t calls;
    struct str name;
};

static bool parse_row(struct str text, struct graph_row *row)
{
    size_t open = str_find(text, '('), close = str_find(text, ')');
    if (open > close || close == text.len || open > COLUMN_MOST)
        return false;
    for (size_t i = 0; i < open; i++)
        if (text.ptr[i] != ' ' && text.ptr[i] != '|' && text.ptr[i] != '+' &&
            text.ptr[i] != '-')
            return false;
    row->column = open;
    row->branch = str_ends(str_head(text, open), STR("+-"));
    row->name = str_trim(str_skip(text, close + 1));
    return number_parse_u64(str_span(text.ptr + open + 1, text.ptr + close),
                            &row->calls) &&
           (double)row->calls <= CALLS_MOST && row->name.len;
}

/* A column stands for the depth; a row without a branch is deeper than the one before it. */
static size_t key_of(const struct uftrace *u, const struct graph_row *row, bool first)
{
    if (row->branch || first)
        return (row->column + 1) << CHAIN_BITS;
    return u->last_key + 1;
}

static void graph_line(struct uftrace *u, struct str line)
{
    struct graph_row row;
    struct str head = line;
    struct elapsed e = take_time(&head);
    size_t colon = str_find(head, ':');
    struct indent *t = tree_of(u, 0, false);
    if (!t || !e.known || colon == head.len ||
        !parse_row(str_skip(head, colon + 1), &row))
        return;
    bool first = t->count == 0;
    u->last_key = key_of(u, &row, first);
    bool program = first && str_equal(row.name, u->root);
    indent_open(t, u->last_key, program ? 0 : named(u, row.name));
    if (u->options->samples && !program)
        builder_add_stack(u->b, u->event, indent_stack(t), (double)row.calls);
    else if (!u->options->samples)
        indent_total(t, e.time, e.step / 2);
}

/* "# Function Call Graph for 'prog' (session: 35ce)": the program, or with a list of callers that
 * follows a function. */
static void graph_heading(struct uftrace *u, struct str line)
{
    size_t quote = str_find(line, '\'');
    struct str name = str_skip(line, quote + 1);
    begin_kind(u, TEXT_GRAPH);
    name = str_head(name, str_find(name, '\''));
    char *copy = arena_alloc(&u->arena, name.len + 1);
    u->root = copy ? (struct str){memcpy(copy, name.ptr, name.len), name.len} : STR("");
}

/* --- Report ------------------------------------------------------------------------- */

/* "  Total time   Self time       Calls  Function": finds the columns that are read. */
static void report_heading(struct uftrace *u, struct str line)
{
    size_t number = 0;
    begin_kind(u, TEXT_REPORT);
    u->self = u->calls = SIZE_MAX;
    for (struct str rest = str_trim(line); rest.len; number++) {
        size_t end = str_search(rest, STR("  "));
        struct str cell = str_head(rest, end);
        if (str_equal(cell, STR("Self time")))
            u->self = number;
        else if (str_equal(cell, STR("Calls")))
            u->calls = number;
        rest = str_trim(str_skip(rest, end));
    }
}

/* The cells before the name are times with units, and numbers. */
static void report_line(struct uftrace *u, struct str line)
{
    struct str rest = line;
    double self = 0;
    uint64_t calls = 0;
    for (size_t i = 0; rest.len; i++) {
        struct str before = rest;
        struct elapsed e = take_time(&rest);
        uint64_t number = 0;
        if (!e.known && !number_parse_u64(str_word(&rest), &number)) {
            rest = before;
            break;
        }
        self = i == u->self && e.known ? e.time : self;
        calls =
            i == u->calls && !e.known && (double)number <= CALLS_MOST ? number : calls;
    }
    double weight = u->options->samples ? (double)calls : self;
    rest = str_trim(rest);
    if (rest.len && weight > 0)
        builder_add_stack(u->b, u->event, builder_push(u->b, 0, named(u, rest)), weight);
}

/* --- The text ----------------------------------------------------------------------- */

static enum text_kind heading_kind(struct str line)
{
    struct str text = str_trim(line);
    if (str_starts(text, STR("# Function Call Graph for '")))
        return TEXT_GRAPH;
    if (str_starts(text, STR("# ")) && str_ends(text, STR(" FUNCTION")) &&
        str_has(text, STR("DURATION")))
        return TEXT_REPLAY;
    if (str_starts(line, STR("  ")) && str_has(text, STR("Self time")) &&
        str_ends(text, STR("  Function")))
        return TEXT_REPORT;
    return TEXT_NONE;
}

static void read_line(struct uftrace *u, struct str line)
{
    switch (heading_kind(line)) {
    case TEXT_REPLAY:
        begin_kind(u, TEXT_REPLAY);
        return;
    case TEXT_GRAPH:
        graph_heading(u, line);
        return;
    case TEXT_REPORT:
        report_heading(u, line);
        return;
    default:
        break;
    }
    if (str_starts(str_trim(line), STR("=============== BACKTRACE")))
        u->root = STR(""); /* the graph is that of a function */
    else if (u->kind == TEXT_GRAPH)
        graph_line(u, line);
    else if (u->kind == TEXT_REPORT)
        report_line(u, line);
    else
        replay_line(u, line);
}

static bool uftrace_read(struct source *in, const struct import_options *options,
                         struct builder *b, struct error *err)
{
    struct uftrace u = {
        .b = b, .options = options, .lines = lines_of(in, err), .root = STR("")};
    struct str line;
    u.event = options->samples ? builder_event(b, STR("calls"), UNIT_COUNT)
                               : builder_event(b, STR("time"), UNIT_NANOSECONDS);
    tree_of(&u, 0, false);
    while (!builder_failed(b) && !u.arena.failed && lines_next(&u.lines, &line))
        read_line(&u, line);
    begin_kind(&u, TEXT_NONE);
    for (size_t i = 0; i < u.thread_count; i++)
        indent_deinit(&u.threads[i]);
    builder_warn_times(b, "the end of a call that did not begin", u.unknown_begins);
    builder_warn_times(b, "a call that did not end: its time is not known",
                       u.unknown_ends);
    builder_end_scratch(b, &u.arena);
    return !u.lines.failed;
}

static int uftrace_probe(struct str head)
{
    for (int i = 0; i < 10 && head.len; i++) {
        struct str line = str_trim_right(str_cut(&head, '\n'));
        switch (heading_kind(line)) {
        case TEXT_GRAPH:
            return 95;
        case TEXT_REPLAY:
            return str_find(head, '|') < head.len ? 90 : 0;
        case TEXT_REPORT:
            return str_starts(str_trim_left(head), STR("=====")) ? 90 : 0;
        default:
            break;
        }
    }
    return 0;
}

const struct importer import_uftrace = {
    .name = "uftrace",
    .suffixes = "",
    .summary = "uftrace replay, graph and report",
    .probe = uftrace_probe,
    .counts_all = true,
    .read = uftrace_read,
};
