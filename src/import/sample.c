/* SPDX-License-Identifier: Apache-2.0 */
/* The report of macOS's sample command (and of Activity Monitor's "Sample Process").
 *
 *   Call graph:
 *       825 Thread_15758535: worker
 *       + 825 thread_start  (in libsystem_pthread.dylib) + 13  [0x7fff739c240d]
 *       +   794 search  (in rg) + 1035  main.rs:12  [0x10393278b]
 *       +   ! 617 __open  (in libsystem_kernel.dylib) + 10  [0x7fff739051ee]
 *
 * The counts are totals. Functions in which a thread only waits are excluded, as in
 * all tools that fold this format, unless all threads are requested. */
#include "base/number.h"
#include "import/importer.h"
#include "import/indent.h"
#include "import/quantity.h"
#include "model/name.h"
#include "model/rust_name.h"

static const char *const waiting[] = {
    "__psynch_cvwait",
    "__psynch_mutexwait",
    "__select",
    "__select_nocancel",
    "__semwait_signal",
    "__sigwait",
    "__ulock_wait",
    "__ulock_wait2",
    "__wait4",
    "__workq_kernreturn",
    "kevent",
    "kevent64",
    "kevent_id",
    "kevent_qos",
    "mach_msg_trap",
    "mach_msg2_trap",
    "poll",
    "read",
    "semaphore_timedwait_trap",
    "semaphore_wait_trap",
};

/* A parsed row of the call graph. */
struct sample_row {
    size_t column;
    uint64_t count;
    struct str name;
    struct str module; /* empty for a thread */
    struct str rest;   /* after the module: offset, location, address */
};

struct sample_reader {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    struct indent tree;
    struct output plain, name; /* buffers for the current texts */
    int64_t pid;
    bool in_graph;
};

/* --- Rows ------------------------------------------------------------------------ */

static bool is_indent(char c)
{
    return c == ' ' || c == '+' || c == '!' || c == ':' || c == '|';
}

/* Splits "name  (in module) rest"; the module is empty if there is none. */
static void split_module(struct str text, struct sample_row *row)
{
    size_t at = str_search(text, STR(" (in "));
    struct str module = str_skip(text, at + 5);
    size_t end = 0;
    int depth = 1;
    for (; end < module.len && depth; end++)
        depth += (module.ptr[end] == '(') - (module.ptr[end] == ')');
    row->name = str_trim(str_head(text, at));
    row->module = str_head(module, end && depth == 0 ? end - 1 : end);
    row->rest = str_skip(module, end);
}

static bool parse_row(struct str line, struct sample_row *row)
{
    size_t at = 0;
    while (at < line.len && is_indent(line.ptr[at]))
        at++;
    struct str rest = str_skip(line, at), count = str_word(&rest);
    row->column = at;
    if (at == 0 || !number_parse_u64(count, &row->count))
        return false;
    split_module(str_trim(rest), row);
    return row->name.len != 0;
}

static bool is_waiting(struct str name)
{
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        if (str_equal(name, str_of(waiting[i])))
            return true;
    return false;
}

/* The last address in brackets; of several, only the first is used. */
static uint64_t address_of(struct str rest)
{
    uint64_t address = 0;
    struct str inside = str_skip(rest, str_rfind(rest, '[') + 1);
    inside = str_head(inside, str_find(inside, ']'));
    number_parse_hex(str_cut(&inside, ','), &address);
    return address;
}

/* "main.rs:12" among the words after the module. */
static void set_location(struct sample_reader *r, struct str rest, struct frame *f)
{
    while (rest.len) {
        struct str word = str_word(&rest);
        size_t colon = str_rfind(word, ':');
        uint64_t line;
        if (colon == 0 || colon == word.len || word.ptr[0] == '[' ||
            !number_parse_u64(str_skip(word, colon + 1), &line) || line > UINT32_MAX)
            continue;
        f->file = builder_string(r->b, str_head(word, colon));
        f->line = (uint32_t)line;
    }
}

static struct str tidy_name(struct sample_reader *r, struct str name)
{
    bool objective = str_starts(name, STR("-[")) || str_starts(name, STR("+["));
    struct str plain = rust_name(name, &r->plain);
    if (plain.ptr != name.ptr || plain.len != name.len)
        return plain;
    return objective || r->options->signatures ? name : name_without_arguments(name);
}

/* The name in the tool's form: "libsystem_c`malloc". */
static struct str full_name(struct sample_reader *r, struct str module, struct str name)
{
    if (str_ends(module, STR(".dylib")))
        module.len -= 6;
    r->name.used = 0;
    if (module.len) {
        output_str(&r->name, module);
        output_char(&r->name, '`');
    }
    output_str(&r->name, name);
    return output_contents(&r->name);
}

static frame_id frame_of(struct sample_reader *r, const struct sample_row *row)
{
    struct str module = row->module;
    if (str_equal(module, STR("<unknown binary>")))
        module = STR("");
    struct frame f = {.module = builder_module(r->b, module, STR(""))};
    bool unknown = str_equal(row->name, STR("???"));
    if (!unknown) {
        struct str name = tidy_name(r, row->name);
        f.kind = is_waiting(name) ? FRAME_IDLE : FRAME_USER;
        f.name = builder_string(r->b, full_name(r, module, name));
    }
    if (r->options->every_address || (unknown && r->options->addresses))
        f.address = address_of(row->rest);
    if (r->options->lines)
        set_location(r, row->rest, &f);
    return builder_frame(r->b, &f);
}

/* "Thread_15758523   DispatchQueue_1: main  (serial)": repeated spaces become one, the
 * kind of the queue is removed. */
static thread_id thread_of(struct sample_reader *r, struct str text)
{
    uint64_t number;
    size_t digits = 7;
    if (str_ends(text, STR(")")))
        text = str_trim_right(str_head(text, str_rfind(text, '(')));
    r->name.used = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool space = byte_is_space(text.ptr[i]);
        if (!space || (i && !byte_is_space(text.ptr[i - 1])))
            output_char(&r->name, space ? ' ' : text.ptr[i]);
    }
    while (digits < text.len && byte_is_digit(text.ptr[digits]))
        digits++;
    if (!number_parse_u64(str_head(str_skip(text, 7), digits - 7), &number) ||
        number > INT64_MAX)
        return builder_thread(r->b, r->pid, ID_NONE, output_contents(&r->name));
    return builder_thread(r->b, r->pid, (int64_t)number, output_contents(&r->name));
}

static void add_row(struct sample_reader *r, const struct sample_row *row)
{
    bool thread = str_starts(row->name, STR("Thread_")) && row->module.len == 0;
    frame_id frame = thread ? 0 : frame_of(r, row);
    if (!r->tree.event)
        r->tree.event = builder_event(r->b, STR("samples"), UNIT_COUNT);
    if (thread) {
        indent_close(&r->tree, row->column);
        r->tree.thread = thread_of(r, row->name);
    }
    indent_open(&r->tree, row->column, frame);
    indent_total(&r->tree, (double)row->count, 0);
    if (r->b->profile->frames[frame].kind == FRAME_IDLE && !r->options->all_threads)
        indent_silence(&r->tree);
}

static void read_row(struct sample_reader *r, struct str line)
{
    struct sample_row row;
    if (!parse_row(line, &row))
        builder_warn(r->b, "not a row of a call graph", r->lines.number, 1, line);
    else if ((double)row.count > QUANTITY_MAX)
        builder_warn(r->b, "a count that is too large", r->lines.number, row.column + 1,
                     line);
    else
        add_row(r, &row);
}

/* --- The report ------------------------------------------------------------------ */

/* "Analysis of sampling rg (pid 64751) every 1 millisecond" */
static void read_title(struct sample_reader *r, struct str line)
{
    struct facts *facts = &r->b->profile->facts;
    struct str rest = str_skip(line, str_search(line, STR("(pid ")) + 5);
    struct str digits = str_head(rest, str_find(rest, ')'));
    uint64_t pid;
    double every;
    if (number_parse_u64(digits, &pid) && pid <= INT64_MAX)
        r->pid = (int64_t)pid;
    rest = str_skip(rest, str_search(rest, STR(" every ")) + 7);
    if (number_parse_double(str_word(&rest), &every) && every > 0 &&
        str_starts(str_trim(rest), STR("millisecond")))
        facts->rate = 1000 / every;
}

static void read_line(struct sample_reader *r, struct str line)
{
    if (str_starts(line, STR("Analysis of sampling "))) {
        read_title(r, line);
    } else if (str_starts(line, STR("Path:"))) {
        r->b->profile->facts.command = builder_string(r->b, str_trim(str_skip(line, 5)));
    } else if (str_starts(line, STR("Call graph:"))) {
        r->in_graph = true;
    } else if (str_starts(line, STR("Total number in stack")) ||
               str_starts(line, STR("Sort by top of stack"))) {
        r->in_graph = false;
        indent_close(&r->tree, 0);
    } else if (r->in_graph && str_trim(line).len) {
        read_row(r, line);
    }
}

static bool sample_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct sample_reader r = {.b = b,
                              .options = options,
                              .lines = lines_of(in, err),
                              .tree = {.b = b, .samples = true},
                              .pid = ID_NONE};
    struct str line;
    while (!builder_failed(b) && lines_next(&r.lines, &line))
        read_line(&r, line);
    indent_deinit(&r.tree);
    b->profile->arena.failed |= r.plain.failed | r.name.failed;
    output_deinit(&r.plain);
    output_deinit(&r.name);
    return !r.lines.failed;
}

static int sample_probe(struct str head)
{
    struct sample_row row;
    bool in_graph = false;
    int score = str_starts(head, STR("Analysis of sampling ")) ? 40 : 0;
    while (head.len) {
        struct str line = str_trim_right(str_cut(&head, '\n'));
        if (str_starts(line, STR("Call graph:")))
            in_graph = true;
        else if (in_graph && line.len)
            return parse_row(line, &row) ? 95 : score;
    }
    return score;
}

const struct importer import_sample = {
    .name = "sample",
    .suffixes = "sample,txt",
    .summary = "macOS sample report",
    .probe = sample_probe,
    .read = sample_read,
};
