/* SPDX-License-Identifier: Apache-2.0 */
/* PHP's Xdebug function trace in the machine-readable format (xdebug.trace_format=1):
 * tab-separated, with a line for each function entry (0) and exit (1).
 *
 *   level  number  0  0.000323  401360  include  1  /tax.php  /shop.php  34  0
 *   level  number  1  0.000327  401360
 *
 * The time from one such line to the next is self time of the innermost function. If the
 * options count samples, these are the calls of functions that call no other.
 * Lines of return values (R) and assignments (A) have no time. */
#include "base/number.h"
#include "import/importer.h"
#include "import/indent.h"
#include <math.h>

#define LEVEL_MAX ((uint64_t)1 << 31)

enum record_kind { RECORD_ENTER, RECORD_EXIT, RECORD_END, RECORD_OTHER, RECORD_BAD };

struct record {
    enum record_kind kind;
    uint64_t level;
    double time; /* in seconds */
    struct str name;
};

struct xdebug_reader {
    struct builder *b;
    struct lines lines;
    struct indent tree;
    event_id event;
    bool counts;  /* calls instead of times */
    bool entered; /* the preceding line of an entry or exit was an entry */
    double last;  /* time of the preceding line, or negative */
};

static bool parse_time(struct str text, double *seconds)
{
    return number_parse_double(text, seconds) && *seconds >= 0 && *seconds < 1e9;
}

static struct record parse_record(struct str line)
{
    struct record r = {.kind = RECORD_BAD, .name = STR("")};
    struct str rest = line, level = str_cut(&rest, '\t');
    str_cut(&rest, '\t'); /* the call's number */
    struct str kind = str_cut(&rest, '\t'), time = str_cut(&rest, '\t');
    if (level.len == 0 && parse_time(time, &r.time)) {
        r.kind = RECORD_END;
        return r;
    }
    if (!number_parse_u64(level, &r.level) || r.level > LEVEL_MAX)
        return r;
    if (str_equal(kind, STR("R")) || str_equal(kind, STR("A"))) {
        r.kind = RECORD_OTHER;
        return r;
    }
    if (!parse_time(time, &r.time))
        return r;
    str_cut(&rest, '\t'); /* the memory in use */
    r.name = str_cut(&rest, '\t');
    if (str_equal(kind, STR("1")))
        r.kind = RECORD_EXIT;
    else if (str_equal(kind, STR("0")) && r.name.len)
        r.kind = RECORD_ENTER;
    return r;
}

/* Adds the time since the last line to the current function. */
static void add_time(struct xdebug_reader *r, double now)
{
    double passed = now - r->last;
    if (r->last >= 0 && passed < 0)
        builder_warn(r->b, "a time before that of the preceding line", r->lines.number, 1,
                     STR(""));
    else if (r->last >= 0 && r->tree.count && !r->counts)
        builder_add_stack(r->b, r->event, indent_stack(&r->tree),
                          floor(passed * 1e9 + 0.5));
    r->last = now;
}

/* Counts the call that ends here, unless it called another function. */
static void count_call(struct xdebug_reader *r)
{
    if (r->counts && r->entered && r->tree.count)
        builder_add_stack(r->b, r->event, indent_stack(&r->tree), 1);
    r->entered = false;
}

static void read_record(struct xdebug_reader *r, struct str line)
{
    struct record record = parse_record(line);
    switch (record.kind) {
    case RECORD_ENTER:
        add_time(r, record.time);
        indent_open(&r->tree, (size_t)record.level,
                    builder_named_frame(r->b, record.name));
        r->entered = true;
        break;
    case RECORD_EXIT:
        add_time(r, record.time);
        count_call(r);
        indent_close(&r->tree, (size_t)record.level);
        break;
    case RECORD_END:
        add_time(r, record.time);
        indent_close(&r->tree, 0);
        break;
    case RECORD_OTHER:
        break;
    case RECORD_BAD:
        builder_warn(r->b, "not a line of a function trace", r->lines.number, 1, line);
    }
}

/* A line of the human-readable format: "    0.0003     399920   -> {main}()
 * shop.php:0". */
static bool is_human_readable(struct str line)
{
    struct str rest = line;
    double time;
    return str_find(line, '\t') == line.len &&
           number_parse_double(str_word(&rest), &time) && str_has(rest, STR("-> "));
}

static bool read_trace(struct xdebug_reader *r, struct error *err)
{
    struct str line;
    bool in_trace = false;
    while (!builder_failed(r->b) && lines_next(&r->lines, &line)) {
        if (str_starts(line, STR("TRACE START"))) {
            in_trace = true;
            r->last = -1;
        } else if (str_starts(line, STR("TRACE END"))) {
            in_trace = false;
            indent_close(&r->tree, 0);
        } else if (in_trace && is_human_readable(line)) {
            error_set(err,
                      "a trace in the human-readable format, which has no self time");
            error_hint(err, "record it with xdebug.trace_format=1");
            return error_at_line(err, r->lines.number, 1, line);
        } else if (in_trace && line.len) {
            read_record(r, line);
        }
    }
    return !r->lines.failed;
}

static bool xdebug_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct xdebug_reader r = {
        .b = b, .lines = lines_of(in, err), .tree = {.b = b}, .last = -1};
    r.counts = options->samples;
    r.event = r.counts ? builder_event(b, STR("calls"), UNIT_COUNT)
                       : builder_event(b, STR("time"), UNIT_NANOSECONDS);
    bool ok = read_trace(&r, err);
    indent_deinit(&r.tree);
    return ok;
}

static int xdebug_probe(struct str head)
{
    for (int i = 0; i < 10 && head.len; i++) {
        struct str line = str_trim_right(str_cut(&head, '\n'));
        if (str_starts(line, STR("TRACE START [")))
            return 95;
    }
    return 0;
}

const struct importer import_xdebug = {
    .name = "xdebug",
    .suffixes = "xt",
    .summary = "Xdebug function trace of PHP, xdebug.trace_format=1",
    .probe = xdebug_probe,
    .counts_all = true,
    .read = xdebug_read,
};
