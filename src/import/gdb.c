/* SPDX-License-Identifier: Apache-2.0 */
/* Backtraces of native threads, as gdb ("thread apply all bt", with or without
 * "full"), pstack and gstack (which run gdb), eu-stack, lldb ("bt all") and coredumpctl
 * print them, one dump or several in sequence.
 *
 *   Thread 2 (Thread 0x7f518753d6c0 (LWP 18956) "worker"):
 *   #0  0x00007f51876ed545 in nanosleep (req=0x7f51) at nanosleep.c:25
 *   #1  std::thread::_M_run (this=<optimized out>) at thread.h:210
 *   #2  0x00007f51878d44a3 in ?? () from /lib/libstdc++.so.6
 *
 *   TID 18956:
 *   #0  0x00007f51876ed545     nanosleep - /lib/libc.so.6
 *       nanosleep.c:25:3
 *   #1  0x000056117471c510 - 1 Basket::add(int) - /usr/bin/shop
 *
 *   * thread #1, name = 'shop', stop reason = signal SIGSTOP
 *     * frame #0: 0x00007f51876ed545 libc.so.6`nanosleep + 87
 *       frame #1: 0x000056117471c510 shop`Basket::add(this=0x7ffc, n=3) at basket.cpp:4:12
 *
 *       Stack trace of thread 18956:
 *       #0  0x00007f51876ed545 nanosleep (libc.so.6 + 0xea545)
 *
 * gdb's brackets contain the values of the arguments, eu-stack's their types. Frames
 * are numbered from 0, so a number that is not larger than the last one begins another
 * stack. Every stack has weight 1. Lines between the frames (locals, messages of gdb)
 * are skipped. */
#include "base/number.h"
#include "import/stacktext.h"
#include "model/name.h"

struct gdb_reader {
    struct stacktext text;
    uint64_t number;  /* of the last frame */
    bool is_core;     /* of coredumpctl, whose lines are indented */
    bool is_position; /* the next frame is gdb's message about its current position, not
                         part of a backtrace */
};

/* Removes "#12  " from the start of the line; false if there is none. */
static bool take_number(struct str *line, uint64_t *number)
{
    struct str rest = *line;
    if (rest.len < 2 || rest.ptr[0] != '#')
        return false;
    rest = str_skip(rest, 1);
    if (!number_parse_u64(str_word(&rest), number))
        return false;
    *line = str_trim_left(rest);
    return line->len != 0;
}

/* The text before the brackets with the values. Names may contain brackets themselves;
 * name_without_arguments keeps those of Go's methods. */
static struct str name_before_values(struct str text)
{
    struct str name = name_without_arguments(text);
    if (text.len && text.ptr[0] == '<' && text.ptr[text.len - 1] == '>')
        return text; /* <signal handler called> */
    if (name.len == text.len)
        name = str_head(text, str_search(text, STR(" (")));
    return str_trim(name);
}

/* "name (a=1, b=...) at file.c:12" or "... from /lib/x.so". */
static void parse_gdb(struct str rest, struct text_frame *f)
{
    size_t at = str_rsearch(rest, STR(") at ")), from = str_rsearch(rest, STR(") from "));
    if (at < rest.len)
        f->file = stacktext_split_location(str_skip(rest, at + 5), &f->line);
    if (from < rest.len)
        f->module = str_skip(rest, from + 7);
    f->name = name_before_values(rest);
    if (str_equal(f->name, STR("??")))
        f->name = STR("");
}

/* "- 1 name - /lib/x.so": a mark for callers, name and module; each may be missing. */
static void parse_eu_stack(struct str rest, struct text_frame *f)
{
    if (str_equal(rest, STR("- 1")) || str_starts(rest, STR("- 1 ")))
        rest = str_trim(str_skip(rest, 3));
    size_t dash = str_rsearch(rest, STR("- /"));
    if (dash == rest.len)
        dash = str_rsearch(rest, STR("- ["));
    if (dash < rest.len && (dash == 0 || rest.ptr[dash - 1] == ' ')) {
        f->module = str_skip(rest, dash + 2);
        rest = str_trim(str_head(rest, dash));
    }
    f->name = rest;
}

/* "name (/lib/x.so + 0x1139)"; the name may be "n/a". False if it has another form. */
static bool parse_core(struct str rest, struct text_frame *f)
{
    size_t open = str_rsearch(rest, STR(" (")), plus = str_rsearch(rest, STR(" + 0x"));
    if (open > plus || plus == rest.len || !str_ends(rest, STR(")")))
        return false;
    f->module = str_span(rest.ptr + open + 2, rest.ptr + plus);
    f->name = str_head(rest, open);
    if (str_equal(f->name, STR("n/a")))
        f->name = STR("");
    return true;
}

static void parse_frame(struct str rest, struct text_frame *f)
{
    if (!stacktext_take_hex(&rest, &f->address))
        parse_gdb(rest, f);
    else if (str_starts(rest, STR("in ")))
        parse_gdb(str_skip(rest, 3), f);
    else if (!parse_core(rest, f))
        parse_eu_stack(rest, f);
}

static int64_t id_after(struct str line, struct str mark)
{
    uint64_t id;
    size_t at = str_search(line, mark), n = 0;
    struct str rest = str_skip(line, at + mark.len);
    while (n < rest.len && byte_is_digit(rest.ptr[n]))
        n++;
    return number_parse_u64(str_head(rest, n), &id) && id <= INT64_MAX ? (int64_t)id
                                                                       : ID_NONE;
}

/* --- lldb --------------------------------------------------------------------------- */

/* Removes "* frame #12: ", of the selected frame, or "frame #12: "; false if there is none. */
static bool take_lldb_number(struct str *line, uint64_t *number)
{
    struct str rest = str_trim(*line), mark = STR("frame #");
    if (str_starts(rest, STR("* ")))
        rest = str_trim_left(str_skip(rest, 2));
    if (!str_starts(rest, mark))
        return false;
    rest = str_skip(rest, mark.len);
    if (!number_parse_u64(str_cut(&rest, ':'), number))
        return false;
    *line = str_trim_left(rest);
    return line->len != 0;
}

/* Removes marks at the end, "[inlined]", "[opt]" and "[artificial]", and the offset "+ 87". */
static struct str without_lldb_marks(struct str text, struct text_frame *f)
{
    for (;;) {
        size_t open = str_rsearch(text, STR(" ["));
        if (open == text.len || !str_ends(text, STR("]")))
            break;
        if (str_equal(str_skip(text, open), STR(" [inlined]")))
            f->kind = FRAME_INLINED;
        text = str_trim_right(str_head(text, open));
    }
    size_t plus = str_rsearch(text, STR(" + "));
    uint64_t offset;
    if (plus < text.len && number_parse_u64(str_skip(text, plus + 3), &offset))
        text = str_head(text, plus);
    return text;
}

/* "0x00007f51 libc.so.6`name(a=1) + 87 at file.c:4:12 [opt]". */
static void parse_lldb(struct str rest, struct text_frame *f)
{
    stacktext_take_hex(&rest, &f->address);
    size_t tick = str_find(rest, '`');
    f->module = str_head(rest, tick);
    rest = without_lldb_marks(str_skip(rest, tick + 1), f);
    size_t at = str_rsearch(rest, STR(" at "));
    if (at < rest.len) {
        f->file = stacktext_split_location(str_skip(rest, at + 4), &f->line);
        rest = without_lldb_marks(str_head(rest, at), f);
    }
    f->name = name_before_values(rest);
    if (str_starts(f->name, STR("___lldb_unnamed_symbol")))
        f->name = STR("");
}

/* "* thread #1, name = 'shop', stop reason = ..."; older: "thread #1: tid = 18956, ...". */
static bool take_lldb_thread(struct stacktext *t, struct str line)
{
    struct str rest = str_trim(line), mark = STR("name = '"), name = STR("");
    if (str_starts(rest, STR("* ")))
        rest = str_trim_left(str_skip(rest, 2));
    if (!str_starts(rest, STR("thread #")))
        return false;
    size_t from = str_search(rest, mark);
    if (from < rest.len) {
        name = str_skip(rest, from + mark.len);
        name = str_head(name, str_find(name, '\''));
    }
    stacktext_thread(t, name);
    t->tid = id_after(rest, STR("tid = "));
    return true;
}

/* --- Lines ---------------------------------------------------------------------------- */

/* Thread 2 (Thread 0x7f51 (LWP 18956) "worker"): */
static void begin_gdb_thread(struct stacktext *t, struct str line)
{
    size_t open = str_find(line, '"'), close = str_rfind(line, '"');
    struct str name = STR("");
    if (open < close && close < line.len)
        name = str_span(line.ptr + open + 1, line.ptr + close);
    stacktext_thread(t, name);
    t->tid = id_after(line, STR("LWP "));
    if (t->tid == ID_NONE)
        t->tid = id_after(line, STR("process "));
}

/* The location of the preceding frame, in a separate line: "    at file.c:12". */
static void read_location(struct stacktext *t, struct str text)
{
    uint64_t number;
    if (str_starts(text, STR("at ")))
        text = str_skip(text, 3);
    struct str file = stacktext_split_location(text, &number);
    if (number && str_find(file, ' ') == file.len)
        stacktext_location(t, file, number);
}

/* "Process 412 stopped": the thread and the frame that follow are lldb's message about it. */
static bool is_lldb_stop(struct str text)
{
    return str_starts(text, STR("Process ")) && str_ends(text, STR(" stopped"));
}

/* A line between the frames; most are skipped. */
static void read_other(struct gdb_reader *r, struct str line)
{
    struct stacktext *t = &r->text;
    struct str text = str_trim(line);
    if (str_starts(text, STR("Backtrace stopped:")) ||
        str_starts(text, STR("(More stack frames follow")))
        stacktext_cut(t);
    if (str_starts(text, STR("[Current thread is "))) /* after such a frame */
        builder_path_clear(t->b);
    if (str_starts(text, STR("[Switching to thread ")))
        begin_gdb_thread(t, text);
    if (str_starts(text, STR("[Switching to thread ")) ||
        str_starts(text, STR("Program terminated with signal ")) || is_lldb_stop(text))
        r->is_position = true;
    else if (str_starts(text, STR("(lldb) ")))
        r->is_position = false;
    else if (str_starts(line, STR("    ")))
        read_location(t, text);
}

static void read_frame(struct gdb_reader *r, struct str line, struct str rest,
                       uint64_t number,
                       void (*parse)(struct str rest, struct text_frame *f))
{
    struct stacktext *t = &r->text;
    struct text_frame f = TEXT_FRAME;
    if (number <= r->number)
        stacktext_end(t);
    r->number = number;
    if (r->is_position || stacktext_add_known(t, line)) {
        r->is_position = false;
        return;
    }
    parse(rest, &f);
    stacktext_add(t, line, &f);
}

static void gdb_line(struct stacktext *t, struct str line)
{
    struct gdb_reader *r = (struct gdb_reader *)t;
    struct str rest = r->is_core ? str_trim(line) : line,
               core = STR("Stack trace of thread ");
    uint64_t number;
    if (take_number(&rest, &number)) {
        read_frame(r, line, rest, number, parse_frame);
    } else if (take_lldb_number(&rest, &number)) {
        read_frame(r, line, rest, number, parse_lldb);
    } else if (take_lldb_thread(t, line)) {
        return;
    } else if (str_has(line, core)) {
        r->is_core = true;
        stacktext_thread(t, STR(""));
        t->tid = id_after(line, core);
    } else if (str_starts(line, STR("Thread "))) {
        begin_gdb_thread(t, line);
    } else if (str_starts(line, STR("TID "))) {
        stacktext_thread(t, STR(""));
        t->tid = id_after(line, STR("TID "));
    } else if (str_starts(line, STR("PID "))) {
        stacktext_thread(t, STR(""));
        t->pid = id_after(line, STR("PID "));
    } else if (line.len) {
        read_other(r, line);
    }
}

static bool gdb_read(struct source *in, const struct import_options *options,
                     struct builder *b, struct error *err)
{
    struct gdb_reader r = {.text = {.weight = 1}};
    return stacktext_read(&r.text, in, options, b, gdb_line, err);
}

static bool is_heading(struct str line)
{
    return str_starts(line, STR("TID ")) || str_starts(line, STR("PID ")) ||
           str_has(line, STR("thread #")) ||
           str_has(line, STR("Stack trace of thread ")) ||
           (str_starts(line, STR("Thread ")) && str_has(line, STR(" (")));
}

static int gdb_probe(struct str head)
{
    size_t frames = 0, headings = 0;
    struct str line;
    while (stacktext_probe_line(&head, &line)) {
        uint64_t number;
        struct str rest = line, indented = str_trim_left(line);
        bool is_frame = take_number(&rest, &number) &&
                        (str_starts(rest, STR("0x")) || str_has(rest, STR(" (")));
        bool is_other = take_lldb_number(&rest, &number) ||
                        (headings && take_number(&indented, &number));
        frames += is_frame || (is_other && str_has(line, STR(" 0x")));
        headings += is_heading(line);
    }
    return frames == 0 ? 0 : headings ? 90 : 60;
}

const struct importer import_gdb = {
    .name = "gdb",
    .suffixes = "gdb,lldb,bt,pstack",
    .summary = "backtraces of gdb, lldb, pstack, eu-stack and coredumpctl",
    .probe = gdb_probe,
    .read = gdb_read,
};
