/* SPDX-License-Identifier: Apache-2.0 */
/* System calls, tracepoints and page faults with their stacks, as perf trace --call-graph prints
 * them, leaf first. Times are in ms from the start, or "?":
 *
 *     17.587 ( 0.043 ms): cat/25213 openat(dfd: CWD, filename: 0xda4b8fc0)   = -1 ENOENT (...)
 *                                       __GI___open64_nocancel (inlined)
 *                                       [0x243d] (/usr/bin/cat)
 *      3.248 (         ): sleep/26536 sched:sched_switch(prev_comm: "sleep", prev_pid: 26536)
 *                                       __schedule ([kernel.kallsyms])
 *      0.385 ( 0.000 ms): w/26616 minfault [_copy_to_user+0x28] => 0x7ffc4132bb29 (?k)
 *
 * A call that another thread interrupted, "read(fd: 3) ...", has its stack at its end:
 * " ... [continued]: read()) = 3".
 * If only one thread is traced, some versions print no name and number of it. */
#include "base/number.h"
#include "import/syscalls.h"
#include "model/name.h"

#define INDENT 30 /* spaces before a frame, at least */
#define CONTINUED STR("... [continued]: ")

struct perf_trace_reader {
    struct stacktext t; /* first */
    struct syscalls calls;
    string_id event; /* the name of a tracepoint or page fault; 0: a system call */
    bool open;       /* a stack is being read */
};

/* A parsed line of an event. */
struct entry {
    struct str comm, name;
    int64_t tid;
    uint64_t time;
    double duration; /* ns; below 0: not known */
    bool is_call;
};

#define MS_MAX 1e12 /* perf prints larger ones where it subtracted a later time */

/* Parses a number of ms; "?" and an empty text are unknown: -1. False for other texts. */
static bool parse_ms(struct str text, double *ns)
{
    double ms;
    *ns = -1;
    if (text.len == 0 || str_equal(text, STR("?")))
        return true;
    if (!number_parse_double(text, &ms) || !(ms >= 0))
        return false;
    if (ms < MS_MAX)
        *ns = ms * 1e6;
    return true;
}

/* "17.587 ( 0.043 ms): ", with spaces or "?" for what is not known. */
static bool take_times(struct str *line, struct entry *e)
{
    struct str rest = str_trim_left(*line), time = str_word(&rest);
    rest = str_trim_left(rest);
    size_t close = str_search(rest, STR("): "));
    double start;
    if (!str_starts(rest, STR("(")) || close == rest.len || time.len == 0)
        return false;
    struct str inside = str_trim(str_skip(str_head(rest, close), 1));
    if (str_ends(inside, STR(" ms")))
        inside.len -= 3;
    if (!parse_ms(time, &start) || !parse_ms(str_trim(inside), &e->duration))
        return false;
    e->time = start < 0 ? TIME_NONE : (uint64_t)(start + 0.5);
    *line = str_trim_left(str_skip(rest, close + 3));
    return true;
}

/* "Web Content/1234 ", where a name may contain slashes and spaces. */
static void take_thread(struct str *line, struct entry *e)
{
    e->comm = STR("");
    e->tid = ID_NONE;
    for (size_t at = 0; (at += str_find(str_skip(*line, at), '/')) < line->len; at++) {
        struct str rest = str_skip(*line, at + 1);
        struct str word = str_word(&rest);
        uint64_t tid;
        if (!number_parse_u64(word, &tid) || tid > INT64_MAX)
            continue;
        e->comm = str_head(*line, at);
        e->tid = (int64_t)tid;
        *line = str_trim_left(rest);
        return;
    }
}

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!byte_is_word(name.ptr[i]) && name.ptr[i] != ':')
            return false;
    return name.len > 0 && !byte_is_digit(name.ptr[0]);
}

static bool parse_entry(struct str line, struct entry *e)
{
    if (!take_times(&line, e))
        return false;
    take_thread(&line, e);
    bool continued = str_starts(line, CONTINUED);
    line = str_skip(line, continued ? CONTINUED.len : 0);
    struct str rest = line, word = str_word(&rest);
    if ((str_equal(word, STR("minfault")) || str_equal(word, STR("majfault"))) &&
        str_starts(str_trim_left(rest), STR("["))) {
        e->name =
            str_equal(word, STR("minfault")) ? STR("minor-faults") : STR("major-faults");
        e->is_call = false;
        return true;
    }
    e->name = str_head(line, str_find(line, '('));
    e->is_call = !str_has(e->name, STR(":"));
    return e->name.len < line.len && is_name(e->name);
}

/* "name (module)", "[0x243d] (module)", "name (inlined)". */
static bool parse_frame(struct str text, struct text_frame *f)
{
    size_t open = str_rsearch(text, STR(" ("));
    *f = TEXT_FRAME;
    if (open == text.len || !str_ends(text, STR(")")))
        return false;
    struct str module = str_skip(str_head(text, text.len - 1), open + 2);
    struct str name = str_head(text, open);
    bool inlined = str_equal(module, STR("inlined"));
    if (!inlined && !str_equal(module, STR("[unknown]")))
        f->module = module;
    f->kind = inlined ? FRAME_INLINED : module_kind(f->module);
    if (str_starts(name, STR("[0")) && str_ends(name, STR("]"))) {
        struct str number = str_skip(str_head(name, name.len - 1), 1);
        number_parse_hex(str_skip(number, str_starts(number, STR("0x")) ? 2 : 0),
                         &f->address);
        return true;
    }
    f->name = name_without_offset(name);
    f->offset = str_skip(name, f->name.len);
    return true;
}

static bool is_frame_line(struct str line)
{
    struct str text = str_trim_left(line);
    return text.len && line.len - text.len >= INDENT;
}

/* --- Reading ------------------------------------------------------------------------ */

static void end_stack(struct perf_trace_reader *r)
{
    struct builder *b = r->t.b;
    struct str comm = profile_string(b->profile, r->t.thread);
    if (r->open && !r->event) {
        syscalls_end(&r->calls, &r->t, comm);
    } else if (r->open && b->path.count) {
        struct str name = profile_string(b->profile, r->event);
        struct sample s = {.time = r->calls.time,
                           .cpu = CPU_NONE,
                           .event = builder_event(b, name, UNIT_EVENTS),
                           .thread = builder_thread(b, ID_NONE, r->t.tid, comm),
                           .stack = builder_path_from_leaf(b),
                           .count = 1,
                           .weight = 1};
        builder_add(b, &s);
    }
    builder_path_clear(b);
    r->open = false;
}

static void begin_stack(struct perf_trace_reader *r, const struct entry *e)
{
    r->open = true;
    r->t.tid = e->tid;
    r->t.thread = builder_string(r->t.b, e->comm);
    r->calls.time = e->time;
    r->calls.duration = e->duration;
    r->event = e->is_call ? 0 : builder_string(r->t.b, e->name);
    if (e->is_call)
        syscalls_begin(&r->t, e->name);
}

static void take_frame(struct perf_trace_reader *r, struct str text)
{
    struct text_frame f;
    if (!r->open || stacktext_add_known(&r->t, text))
        return;
    if (parse_frame(text, &f))
        stacktext_add(&r->t, text, &f);
    else
        stacktext_warn(&r->t, "a line of a stack without a frame", text);
}

static void perf_trace_line(struct stacktext *t, struct str line)
{
    struct perf_trace_reader *r = (struct perf_trace_reader *)t;
    struct entry e;
    if (is_frame_line(line)) {
        take_frame(r, str_trim(line));
        return;
    }
    end_stack(r); /* lines that are not events are output of the program */
    if (parse_entry(line, &e) && !str_ends(line, STR(" ...")))
        begin_stack(r, &e);
}

static void perf_trace_finish(struct stacktext *t)
{
    end_stack((struct perf_trace_reader *)t);
}

static bool perf_trace_read(struct source *in, const struct import_options *options,
                            struct builder *b, struct error *err)
{
    struct perf_trace_reader r = {.t = {.weight = 1, .finish = perf_trace_finish}};
    return stacktext_read(&r.t, in, options, b, perf_trace_line, err);
}

static int perf_trace_probe(struct str head)
{
    struct entry e;
    struct text_frame f;
    struct str line;
    for (bool entry = false; stacktext_probe_line(&head, &line);) {
        if (entry && is_frame_line(line) && parse_frame(str_trim(line), &f))
            return 90;
        entry = parse_entry(line, &e);
    }
    return 0;
}

const struct importer import_perf_trace = {
    .name = "perf-trace",
    .suffixes = "",
    .summary = "perf trace --call-graph: system calls with stacks",
    .counts_all = true,
    .probe = perf_trace_probe,
    .read = perf_trace_read,
};
