/* SPDX-License-Identifier: Apache-2.0 */
/* System calls with their stacks, as strace -k prints them, leaf first; with -f, -t and -T also
 * with the thread, the time and the duration:
 *
 *  812   12:00:01.123456 openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3 <0.000032>
 *   > /usr/lib/x86_64-linux-gnu/libc.so.6(__open64_nocancel+0x4c) [0x1e0ac]
 *   > /usr/bin/ls(+0x0) [0x61f1]
 *
 * A call that is interrupted by another thread has its stack at its end: "<... openat resumed>". */
#include "base/idmap.h"
#include "base/number.h"
#include "import/syscalls.h"
#include "model/name.h"

#define FRAME STR(" > ")

struct strace_reader {
    struct stacktext t; /* first */
    struct syscalls calls;
    struct idmap names; /* of threads, by number */
};

/* A parsed line of a system call. */
struct call {
    struct str name, rest; /* rest: after the name */
    int64_t tid;
    uint64_t time;
    double duration;
};

/* --- Lines -------------------------------------------------------------------------- */

/* "[pid   812] ", or "812   " in a file. */
static int64_t take_thread(struct str *line)
{
    struct str rest = *line;
    uint64_t tid;
    if (str_starts(rest, STR("[pid "))) {
        size_t end = str_find(rest, ']');
        struct str number = str_trim(str_skip(str_head(rest, end), 5));
        *line = str_trim_left(str_skip(rest, end + 1));
        return number_parse_u64(number, &tid) && tid <= INT64_MAX ? (int64_t)tid
                                                                  : ID_NONE;
    }
    if (!number_parse_u64(str_word(&rest), &tid) || tid > INT64_MAX)
        return ID_NONE;
    *line = str_trim_left(rest);
    return (int64_t)tid;
}

/* "12:00:01.123456" has no date; "1700000000.123456" is the time. */
static uint64_t take_time(struct str *line)
{
    uint64_t time = TIME_NONE;
    while (line->len && byte_is_digit(line->ptr[0])) {
        struct str word = str_word(line);
        double seconds;
        if (str_has(word, STR(".")) && number_parse_double(word, &seconds) &&
            seconds > 1e8 && seconds < 1e10)
            time = (uint64_t)(seconds * 1e9 + 0.5);
        *line = str_trim_left(*line);
    }
    return time;
}

/* "<0.000032>" at the end. */
static double duration_of(struct str line)
{
    size_t open = str_rfind(line, '<');
    double seconds;
    if (!str_ends(line, STR(">")) ||
        !number_parse_double(str_skip(str_head(line, line.len - 1), open + 1),
                             &seconds) ||
        !(seconds >= 0))
        return -1;
    return seconds * 1e9;
}

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!byte_is_word(name.ptr[i]))
            return false;
    return name.len > 0 && !byte_is_digit(name.ptr[0]);
}

static bool parse_call(struct str line, struct call *c)
{
    line = str_trim(line);
    c->tid = take_thread(&line);
    c->time = take_time(&line);
    c->duration = duration_of(line);
    if (str_starts(line, STR("<... "))) {
        c->rest = str_skip(line, 5);
        c->name = str_word(&c->rest);
        return str_starts(str_trim_left(c->rest), STR("resumed")) && is_name(c->name);
    }
    size_t open = str_find(line, '(');
    c->name = str_head(line, open);
    c->rest = str_skip(line, open);
    return open < line.len && is_name(c->name);
}

/* "path(name+0x4c) [0x1e0ac]". */
static bool parse_frame(struct str text, struct text_frame *f)
{
    size_t address = str_rsearch(text, STR(" [0x"));
    size_t open = str_find(text, '('), close = str_rfind(str_head(text, address), ')');
    *f = TEXT_FRAME;
    if (open == text.len || close < open || address == text.len)
        return false;
    struct str number = str_skip(str_head(text, text.len - 1), address + 2);
    number_parse_hex(number, &f->address);
    struct str inside = str_span(text.ptr + open + 1, text.ptr + close);
    f->module = str_head(text, open);
    f->name = str_starts(inside, STR("+0x")) ? STR("") : name_without_offset(inside);
    f->offset = str_skip(inside, f->name.len);
    return true;
}

/* --- Threads ------------------------------------------------------------------------ */

/* The result of a call, which is a number; 0 if it is none. */
static uint64_t result_of(struct str rest)
{
    size_t equal = str_rsearch(rest, STR(" = "));
    struct str text = str_skip(rest, equal + 3);
    uint64_t number;
    return equal < rest.len && number_parse_u64(str_word(&text), &number) ? number : 0;
}

static bool starts_thread(struct str name)
{
    return str_equal(name, STR("clone")) || str_equal(name, STR("clone3")) ||
           str_equal(name, STR("fork")) || str_equal(name, STR("vfork"));
}

/* Programs give their name to threads, which children inherit. */
static void note_name(struct strace_reader *r, const struct call *c)
{
    const uint64_t *own = idmap_find(&r->names, (uint64_t)c->tid);
    uint64_t child = starts_thread(c->name) ? result_of(c->rest) : 0;
    if (child && own) {
        uint64_t name = *own;
        uint64_t *inherited = idmap_put(&r->names, &r->t.arena, child);
        if (inherited && !*inherited) /* it may have executed a program already */
            *inherited = name;
    }
    if (!str_starts(c->name, STR("execve")) || str_has(c->rest, STR(" = -1 ")))
        return;
    struct str path = str_skip(c->rest, str_find(c->rest, '"') + 1);
    path = str_head(path, str_find(path, '"'));
    uint64_t *name =
        path.len ? idmap_put(&r->names, &r->t.arena, (uint64_t)c->tid) : NULL;
    if (name)
        *name = builder_string(r->t.b, str_basename(path));
}

/* --- Stacks ------------------------------------------------------------------------- */

static void end_stack(struct strace_reader *r)
{
    const uint64_t *name = idmap_find(&r->names, (uint64_t)r->t.tid);
    if (r->t.b->path.count < 2) /* the call alone, or output of the program */
        builder_path_clear(r->t.b);
    syscalls_end(&r->calls, &r->t,
                 profile_string(r->t.b->profile, name ? (string_id)*name : 0));
}

static void begin_stack(struct strace_reader *r, const struct call *c)
{
    r->t.tid = c->tid;
    r->calls.time = c->time;
    r->calls.duration = c->duration;
    syscalls_begin(&r->t, c->name);
}

static void take_frame(struct strace_reader *r, struct str text)
{
    struct text_frame f;
    if (r->t.b->path.count == 0 || stacktext_add_known(&r->t, text))
        return;
    if (parse_frame(text, &f))
        stacktext_add(&r->t, text, &f);
    else
        stacktext_cut(&r->t); /* "unexpected_backtracing_error [0x7f1b5c3d2a10]" */
}

static void strace_line(struct stacktext *t, struct str line)
{
    struct strace_reader *r = (struct strace_reader *)t;
    struct call c;
    if (str_starts(line, FRAME)) {
        take_frame(r, str_trim(str_skip(line, FRAME.len)));
        return;
    }
    end_stack(r);
    if (!parse_call(line, &c))
        return; /* a signal, an exit, or output of the program */
    note_name(r, &c);
    if (!str_ends(line, STR("<unfinished ...>")))
        begin_stack(r, &c);
}

static void strace_finish(struct stacktext *t)
{
    end_stack((struct strace_reader *)t);
}

static bool strace_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct strace_reader r = {.t = {.weight = 1, .finish = strace_finish}};
    return stacktext_read(&r.t, in, options, b, strace_line, err);
}

static int strace_probe(struct str head)
{
    struct call c;
    struct text_frame f;
    struct str line;
    for (bool call = false; stacktext_probe_line(&head, &line);) {
        if (call && str_starts(line, FRAME) &&
            parse_frame(str_trim(str_skip(line, FRAME.len)), &f))
            return 90;
        call = parse_call(line, &c) && str_has(c.rest, STR(" = "));
    }
    return 0;
}

const struct importer import_strace = {
    .name = "strace",
    .suffixes = "strace",
    .summary = "strace -k: system calls with stacks",
    .counts_all = true,
    .probe = strace_probe,
    .read = strace_read,
};
