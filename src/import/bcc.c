/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as the tools of bcc and libbpf-tools print them (profile, offcputime, wakeuptime,
 * offwaketime, stackcount, memleak): frames, leaf first, the thread, and a number.
 *
 *  Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.
 *  ^C
 *      _raw_spin_lock
 *      sock_def_readable
 *      --
 *      write+0x10 [libc-2.31.so]
 *      -                sign-file (8877)
 *          12
 *
 * Above "--" are the kernel's functions. The first line names what is counted: samples,
 * microseconds ("(us)"), or calls of a function. memleak prints what is allocated again and
 * again; the last time is read:
 *
 *  [11:16:33] Top 2 stacks with outstanding allocations:
 *  	80 bytes in 5 allocations from stack
 *  		main+0x6d [allocs] */
#include "base/array.h"
#include "base/number.h"
#include "import/stacktext.h"
#include "model/name.h"

#define US 1000.0

/* A stack of memleak. */
struct allocated {
    stack_id stack;
    uint64_t bytes, count;
};

struct bcc_reader {
    struct stacktext t; /* first */
    double scale;       /* of numbers: ns per microsecond, or 1 */
    bool in_leaks;
    struct allocated *leaks; /* since the last header; the last one is being read */
    size_t leak_count, leak_cap;
};

/* --- Frames ------------------------------------------------------------------------- */

/* Of tools that run with older versions of Python: b'write'. */
static struct str without_quotes(struct str text)
{
    if (text.len >= 3 && str_starts(text, STR("b'")) && str_ends(text, STR("'")))
        return str_skip(str_head(text, text.len - 1), 2);
    return text;
}

/* "write+0x10 [libc-2.31.so]", "ffffffff81074600 schedule", "[unknown]". */
static struct text_frame parse_frame(struct str text)
{
    struct text_frame f = TEXT_FRAME;
    struct str rest = text;
    uint64_t address;
    if (stacktext_take_hex(&rest, &address) && rest.len && (text.len - rest.len) > 8) {
        f.address = address;
        text = rest;
    }
    text = without_quotes(text);
    size_t open = str_rsearch(text, STR(" ["));
    if (open < text.len && str_ends(text, STR("]"))) {
        f.module = str_skip(str_head(text, text.len - 1), open + 2);
        text = str_trim_right(str_head(text, open));
    }
    if (str_equal(f.module, STR("kernel")))
        f.kind = FRAME_KERNEL;
    if (str_equal(text, STR("[unknown]")))
        text = STR("");
    f.name = name_without_offset(text);
    f.offset = str_skip(text, f.name.len);
    return f;
}

static void add_frame(struct bcc_reader *r, struct str text)
{
    if (str_starts(text, STR("[Missed "))) {
        stacktext_cut(&r->t);
        return;
    }
    if (stacktext_add_known(&r->t, text))
        return;
    struct text_frame f = parse_frame(text);
    stacktext_add(&r->t, text, &f);
}

/* The frames so far are the kernel's. */
static void end_kernel(struct bcc_reader *r)
{
    struct builder *b = r->t.b;
    for (size_t i = 0; i < b->path.count && !builder_failed(b); i++) {
        struct frame f = b->profile->frames[b->path.items[i]];
        f.kind = FRAME_KERNEL;
        b->path.items[i] = builder_frame(b, &f);
    }
}

/* --- Threads and numbers ------------------------------------------------------------ */

static void set_thread(struct bcc_reader *r, struct str name, struct str id)
{
    uint64_t number;
    bool known = number_parse_u64(str_trim(id), &number) && number <= INT64_MAX;
    r->t.thread = builder_string(r->t.b, str_trim(name));
    r->t.pid = known ? (int64_t)number : ID_NONE;
    r->t.tid = ID_NONE;
}

/* "-                cp (9036)"; of stackcount "dd [25034]"; "waker:   sshd". */
static bool take_thread(struct bcc_reader *r, struct str text)
{
    size_t open = str_rfind(text, '('), square = str_rfind(text, '[');
    uint64_t ignored;
    if (str_starts(text, STR("-  "))) {
        struct str name = str_skip(str_head(text, open), 1);
        set_thread(r, name, str_head(str_skip(text, open + 1), text.len - open - 2));
        return true;
    }
    if (str_starts(text, STR("waker:"))) {
        set_thread(r, str_skip(text, 6), STR(""));
        return true;
    }
    if (square == 0 || square + 2 >= text.len || text.ptr[square - 1] != ' ' ||
        !number_parse_u64(str_skip(str_head(text, text.len - 1), square + 1), &ignored))
        return false;
    set_thread(r, without_quotes(str_trim(str_head(text, square))),
               str_skip(str_head(text, text.len - 1), square + 1));
    return true;
}

static void end_stack(struct bcc_reader *r, struct str number)
{
    if (stacktext_set_count(&r->t, number)) {
        r->t.weight *= r->scale;
        stacktext_add_stack(&r->t, builder_path_from_leaf(r->t.b));
    }
    builder_path_clear(r->t.b);
    r->t.weight = 0;
    r->t.thread = 0;
    r->t.pid = ID_NONE;
}

/* --- memleak ------------------------------------------------------------------------ */

static void end_leak(struct bcc_reader *r)
{
    if (r->leak_count && r->t.b->path.count)
        r->leaks[r->leak_count - 1].stack = builder_path_from_leaf(r->t.b);
    builder_path_clear(r->t.b);
}

/* "80 bytes in 5 allocations from stack". */
static bool take_leak(struct bcc_reader *r, struct str text)
{
    struct str rest = text;
    struct allocated a = {.stack = 0};
    if (!str_ends(text, STR("allocations from stack")) ||
        !number_parse_u64(str_word(&rest), &a.bytes))
        return false;
    str_word(&rest);
    str_word(&rest);
    end_leak(r);
    struct allocated *new =
        ARRAY_APPEND(&r->t.arena, r->leaks, r->leak_count, r->leak_cap);
    if (new &&number_parse_u64(str_word(&rest), &a.count))
        *new = a;
    else if (new)
        r->leak_count--;
    return true;
}

static void leak_line(struct bcc_reader *r, struct str text)
{
    if (text.len && text.ptr[0] != '[' && !take_leak(r, text) && r->leak_count)
        add_frame(r, text);
}

static void add_leaks(struct bcc_reader *r)
{
    struct builder *b = r->t.b;
    end_leak(r);
    event_id bytes = builder_event(b, STR("live"), UNIT_BYTES);
    event_id blocks = builder_event(b, STR("live blocks"), UNIT_COUNT);
    for (size_t i = 0; i < r->leak_count; i++) {
        struct sample s = {.time = TIME_NONE,
                           .cpu = CPU_NONE,
                           .event = bytes,
                           .stack = r->leaks[i].stack,
                           .count = 1,
                           .weight = (double)r->leaks[i].bytes};
        builder_add(b, &s);
        s.event = blocks;
        s.weight = (double)r->leaks[i].count;
        builder_add_mapped(b, &s);
    }
}

/* --- Lines -------------------------------------------------------------------------- */

/* What the tool counts. */
static void take_header(struct bcc_reader *r, struct str text)
{
    struct builder *b = r->t.b;
    size_t quote = str_find(text, '"');
    if (!str_has(text, STR("Hit Ctrl-C to end")))
        return;
    if (str_has(text, STR("time (us)"))) {
        r->scale = US;
        r->t.event = builder_event(b, STR("off-cpu"), UNIT_NANOSECONDS);
    } else if (quote < text.len) { /* Tracing 1 functions for "submit_bio"... */
        struct str name = str_skip(text, quote + 1);
        name = without_quotes(str_head(name, str_find(name, '"')));
        r->t.event = builder_event(b, name, UNIT_EVENTS);
    }
}

static void bcc_line(struct stacktext *t, struct str line)
{
    struct bcc_reader *r = (struct bcc_reader *)t;
    struct str text = str_trim(line);
    if (str_ends(text, STR("stacks with outstanding allocations:"))) {
        builder_path_clear(t->b);
        r->leak_count = 0;
        r->in_leaks = true;
    } else if (r->in_leaks) {
        leak_line(r, text);
    } else if (text.len && !byte_is_space(line.ptr[0])) {
        take_header(r, text);
    } else if (stacktext_is_count(text)) {
        end_stack(r, text);
    } else if (str_equal(text, STR("--"))) {
        end_kernel(r);
    } else if (text.len && !take_thread(r, text)) {
        add_frame(r,
                  str_starts(text, STR("target:")) ? str_trim(str_skip(text, 7)) : text);
    }
}

static void bcc_finish(struct stacktext *t)
{
    struct bcc_reader *r = (struct bcc_reader *)t;
    if (r->in_leaks)
        add_leaks(r);
}

static bool bcc_read(struct source *in, const struct import_options *options,
                     struct builder *b, struct error *err)
{
    struct bcc_reader r = {.t = {.finish = bcc_finish}, .scale = 1};
    return stacktext_read(&r.t, in, options, b, bcc_line, err);
}

static int bcc_probe(struct str head)
{
    bool header = false, thread = false, frame = false;
    struct str line;
    while (stacktext_probe_line(&head, &line)) {
        struct str text = str_trim(line);
        if (str_ends(text, STR("stacks with outstanding allocations:")))
            return 92;
        header |= str_has(text, STR("Hit Ctrl-C to end"));
        bool indented = text.len && byte_is_space(line.ptr[0]);
        if (frame && indented && stacktext_is_count(text) && (header || thread))
            return header && thread ? 92 : 88;
        thread = indented && str_starts(text, STR("-   ")) && str_ends(text, STR(")"));
        frame |= indented && !stacktext_is_count(text);
    }
    return 0;
}

const struct importer import_bcc = {
    .name = "bcc",
    .suffixes = "",
    .summary = "stacks of bcc's tools: profile, offcputime, stackcount, memleak",
    .probe = bcc_probe,
    .read = bcc_read,
};
