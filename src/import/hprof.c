/* SPDX-License-Identifier: Apache-2.0 */
/* The text of Java's HPROF agent (java.hprof.txt, JDK 1.2 to 8): stacks, and tables that
 * refer to them.
 *
 *   JAVA PROFILE 1.0.1, created Fri Dec 18 16:33:00 2009
 *   THREAD START (obj=5000012d, id = 200001, name="main", group="main")
 *   TRACE 300556: (thread=200001)
 *           java.io.RandomAccessFile.close0(RandomAccessFile.java:Native method)
 *           org.h2.store.FileStore.close(FileStore.java:229)
 *   CPU SAMPLES BEGIN (total = 3362) Fri Dec 18 16:33:36 2009
 *   rank   self  accum   count trace method
 *      1 78.94% 78.94%    2654 300556 java.io.RandomAccessFile.close0
 *   CPU SAMPLES END
 *
 * "CPU TIME (ms)" and "MONITOR TIME" have the same columns, but their count is the number
 * of calls, or of contentions: a second event. Their time is a share of the total, rounded
 * to 0.01%. Of the times that round to it, the one is taken with which the sum is the
 * accumulated share, so rounding errors do not add up. */
#include "base/idmap.h"
#include "base/number.h"
#include "import/stacktext.h"
#include "import/stated.h"

/* A share of a table's total in units of 0.005%: half the last printed digit. */
#define SHARE_WHOLE 20000
#define NS_PER_MS 1e6
#define COUNT_MOST 1000000000000000000u

struct hprof_table {
    const char *begin, *end; /* its first and last line */
    const char *event;
    const char *counted; /* the event of its counts; NULL: they are the values */
};

static const struct hprof_table tables[] = {
    {"CPU SAMPLES BEGIN (", "CPU SAMPLES END", "samples", NULL},
    {"CPU TIME (ms) BEGIN (", "CPU TIME (ms) END", "cpu-time", "calls"},
    {"MONITOR TIME BEGIN (", "MONITOR TIME END", "monitor-time", "contentions"},
};

struct hprof_reader {
    struct stacktext text;
    struct arena arena;
    struct idmap traces;  /* its stack, and its thread's number in the upper half */
    struct idmap threads; /* their names, by number */
    bool in_trace;
    uint64_t trace, trace_thread;
    const struct hprof_table *table; /* the open one, or NULL */
    bool has_total;
    double total, sum; /* of the open table, as in the file */
    int64_t shared;    /* sum of the shares so far */
};

struct hprof_row {
    int64_t self, accum; /* shares */
    uint64_t count, trace;
    struct str method;
};

/* Checks the sum, to half the last digit of the last accumulated share. */
static void end_table(struct hprof_reader *r, bool complete)
{
    if (!r->table)
        return;
    if (!complete) {
        stacktext_warn(&r->text, "a table without its last line", STR(""));
        r->text.b->profile->facts.incomplete = true;
    }
    struct str event = str_of(r->table->event);
    double slack = r->table->counted ? r->total / SHARE_WHOLE : 0;
    if (r->has_total)
        stated_check_about(r->text.b, event, r->sum, r->total, slack);
    r->table = NULL;
}

/* --- Traces and threads -------------------------------------------------------------- */

/* "org.h2.store.FileStore.close(FileStore.java:229)"; false for "<empty>". */
static bool parse_frame(struct str text, struct text_frame *f)
{
    size_t open = str_rfind(text, '(');
    if (open == text.len || open == 0 || text.ptr[0] == '#' || !str_ends(text, STR(")")))
        return false; /* a folded line that begins with '#' is a comment */
    *f = TEXT_FRAME;
    f->verbatim = true;
    f->name = str_head(text, open);
    struct str location = str_span(text.ptr + open + 1, text.ptr + text.len - 1);
    location = stacktext_split_location(location, &f->line);
    if (f->line) /* otherwise "Native method" or "Unknown line" */
        f->file = location;
    return true;
}

static void end_trace(struct hprof_reader *r)
{
    if (!r->in_trace)
        return;
    r->in_trace = false;
    uint64_t *value = idmap_put(&r->traces, &r->arena, r->trace);
    if (value)
        *value = r->trace_thread << 32 | builder_path_from_leaf(r->text.b);
    builder_path_clear(r->text.b);
}

/* The number before `after` at the start of *text; both are removed. */
static bool take_number(struct str *text, char after, uint64_t *value)
{
    size_t end = str_find(*text, after);
    if (end == text->len || !number_parse_u64(str_trim(str_head(*text, end)), value))
        return false;
    *text = str_skip(*text, end + 1);
    return true;
}

/* "TRACE 300556:", with "(thread=200001)" if it was requested. */
static void begin_trace(struct hprof_reader *r, struct str line)
{
    struct str rest = str_skip(line, 6), mark = STR("(thread=");
    end_trace(r);
    end_table(r, false);
    if (!take_number(&rest, ':', &r->trace)) {
        stacktext_warn(&r->text, "a trace without a number", line);
        return;
    }
    r->in_trace = true;
    r->trace_thread = 0;
    rest = str_trim(rest);
    if (str_starts(rest, mark)) {
        rest = str_skip(rest, mark.len);
        if (!take_number(&rest, ')', &r->trace_thread) || r->trace_thread > UINT32_MAX)
            r->trace_thread = 0;
    }
}

/* "THREAD START (obj=5000012d, id = 200001, name="main", group="main")" */
static void read_thread(struct hprof_reader *r, struct str line)
{
    struct str id_mark = STR(" id = "), name_mark = STR("name=\"");
    struct str rest = str_skip(line, str_search(line, id_mark) + id_mark.len);
    struct str name = str_skip(rest, str_search(rest, name_mark) + name_mark.len);
    uint64_t id;
    if (!take_number(&rest, ',', &id)) {
        stacktext_warn(&r->text, "a thread without a number", line);
        return;
    }
    uint64_t *value = idmap_put(&r->threads, &r->arena, id);
    if (value)
        *value = builder_string(r->text.b,
                                str_head(name, str_rsearch(name, STR("\", group="))));
}

static void read_frame(struct hprof_reader *r, struct str line)
{
    struct str text = str_trim(line);
    struct text_frame f;
    if (stacktext_add_known(&r->text, text) || str_equal(text, STR("<empty>")))
        return;
    if (parse_frame(text, &f))
        stacktext_add(&r->text, text, &f);
    else
        stacktext_warn(&r->text, "a line of a trace without a frame", line);
}

/* --- Tables ------------------------------------------------------------------------- */

/* "78.94%" in units of 0.005%. */
static bool take_share(struct str *rest, int64_t *share)
{
    struct str word = str_word(rest);
    double percent;
    if (!str_ends(word, STR("%")) ||
        !number_parse_double(str_head(word, word.len - 1), &percent) || percent < 0 ||
        percent > 100)
        return false;
    *share = (int64_t)(percent * SHARE_WHOLE / 100 + 0.5);
    return true;
}

/* "1 78.94% 78.94%    2654 300556 java.io.RandomAccessFile.close0" */
static bool parse_row(struct str line, struct hprof_row *row)
{
    struct str rest = line;
    uint64_t rank;
    if (!number_parse_u64(str_word(&rest), &rank) || !take_share(&rest, &row->self) ||
        !take_share(&rest, &row->accum) ||
        !number_parse_u64(str_word(&rest), &row->count) || row->count > COUNT_MOST ||
        !number_parse_u64(str_word(&rest), &row->trace))
        return false;
    row->method = str_trim(rest);
    return !str_starts(row->method, STR("#"));
}

/* Of the shares that round to the row's, the one nearest to the accumulated share. */
static int64_t share_of(struct hprof_reader *r, const struct hprof_row *row)
{
    int64_t share = row->accum - r->shared;
    if (share < row->self - 1)
        share = row->self - 1;
    if (share > row->self + 1)
        share = row->self + 1;
    if (share < 0)
        share = 0;
    r->shared += share;
    return share;
}

/* A row whose trace is unknown or empty has only the method's name. */
static stack_id stack_of(struct hprof_reader *r, const struct hprof_row *row,
                         const uint64_t *trace, struct str line)
{
    struct builder *b = r->text.b;
    if (!trace)
        stacktext_warn(&r->text, "a trace that is not in the file", line);
    stack_id stack = trace ? (stack_id)(*trace & UINT32_MAX) : 0;
    return stack ? stack : builder_push(b, 0, builder_named_frame(b, row->method));
}

static thread_id thread_of(struct hprof_reader *r, const uint64_t *trace)
{
    struct builder *b = r->text.b;
    uint64_t id = trace ? *trace >> 32 : 0;
    const uint64_t *name = id ? idmap_find(&r->threads, id) : NULL;
    return builder_thread(b, ID_NONE, id ? (int64_t)id : ID_NONE,
                          profile_string(b->profile, name ? (string_id)*name : 0));
}

static void read_row(struct hprof_reader *r, struct str line)
{
    struct builder *b = r->text.b;
    const struct hprof_table *t = r->table;
    struct hprof_row row;
    if (!parse_row(line, &row)) {
        stacktext_warn(&r->text, "a row of a table that is not readable", line);
        return;
    }
    const uint64_t *trace = idmap_find(&r->traces, row.trace);
    double value = (double)row.count;
    if (t->counted)
        value = r->total * (double)share_of(r, &row) / SHARE_WHOLE;
    r->sum += value;
    struct sample s = {.time = TIME_NONE,
                       .cpu = CPU_NONE,
                       .thread = thread_of(r, trace),
                       .stack = stack_of(r, &row, trace, line),
                       .count = 1};
    enum unit unit = t->counted ? UNIT_NANOSECONDS : UNIT_COUNT;
    s.event = builder_event(b, str_of(t->event), unit);
    s.weight = value * (t->counted ? NS_PER_MS : 1);
    bool timed = s.weight > 0;
    if (timed)
        builder_add(b, &s);
    if (!t->counted || row.count == 0)
        return;
    s.event = builder_event(b, str_of(t->counted), UNIT_EVENTS);
    s.weight = (double)row.count;
    if (timed)
        builder_add_mapped(b, &s);
    else
        builder_add(b, &s);
}

/* Whether the line begins a table: "CPU SAMPLES BEGIN (total = 3362) Fri ..." */
static bool begin_table(struct hprof_reader *r, struct str line)
{
    uint64_t total;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (!str_starts(line, str_of(tables[i].begin)))
            continue;
        end_trace(r);
        end_table(r, false);
        r->table = &tables[i];
        struct str mark = STR("total = ");
        struct str rest = str_skip(line, str_search(line, mark) + mark.len);
        struct str word = str_word(&rest); /* "3362)", or "574" of "574 ms)" */
        r->has_total = number_parse_u64(str_head(word, str_find(word, ')')), &total);
        r->has_total = r->has_total && total <= COUNT_MOST;
        r->total = r->has_total ? (double)total : 0;
        r->sum = 0;
        r->shared = 0;
        if (!r->has_total)
            stacktext_warn(&r->text, "a table without its total", line);
        return true;
    }
    return false;
}

/* --- The file ------------------------------------------------------------------------- */

static void hprof_line(struct stacktext *t, struct str line)
{
    struct hprof_reader *r = (struct hprof_reader *)t;
    if (str_trim(line).len == 0)
        return;
    bool is_frame = line.ptr[0] == '\t';
    if (r->in_trace && is_frame) {
        read_frame(r, line);
    } else if (str_starts(line, STR("TRACE ")) && line.len > 6 &&
               byte_is_digit(line.ptr[6])) {
        begin_trace(r, line);
    } else if (r->table && str_starts(line, str_of(r->table->end))) {
        end_table(r, true);
    } else if (str_starts(line, STR("THREAD START ("))) {
        end_trace(r);
        read_thread(r, line);
    } else if (!begin_table(r, line) && r->table && !str_starts(line, STR("rank "))) {
        read_row(r, line);
    }
}

static void hprof_finish(struct stacktext *t)
{
    struct hprof_reader *r = (struct hprof_reader *)t;
    end_trace(r);
    end_table(r, false);
}

static bool hprof_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct hprof_reader r = {.text = {.weight = 1, .finish = hprof_finish}};
    bool ok = stacktext_read(&r.text, in, options, b, hprof_line, err);
    builder_end_scratch(b, &r.arena);
    return ok;
}

/* The binary form has a zero byte after the version. */
static int hprof_probe(struct str head)
{
    struct str line;
    return stacktext_probe_line(&head, &line) &&
                   str_starts(line, STR("JAVA PROFILE 1.")) &&
                   str_has(str_head(line, 40), STR(", created "))
               ? 100
               : 0;
}

const struct importer import_hprof = {
    .name = "hprof",
    .suffixes = "hprof.txt",
    .summary = "Java HPROF text: CPU samples, CPU time, monitors",
    .probe = hprof_probe,
    .empty = "no CPU SAMPLES, CPU TIME or MONITOR TIME in this HPROF output",
    .read = hprof_read,
};
