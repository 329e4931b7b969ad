/* SPDX-License-Identifier: Apache-2.0 */
/* Austin's samples of Python programs, as text: one sample per line, with its metrics
 * at the end. Comments before and after the samples describe the recording.
 *
 *   # austin: 3.4.0
 *   # mode: wall
 *   P4711;T0x7f5a;shop.py:<module>:11;shop.py:add:5 1012       microseconds
 *   P4711;T0:12;shop.py:<module>;L11;shop.py:add;L5 1012       the same, "-a", Austin 4
 *   P4711;T12;shop.py:add:5 1012,0,-4096                       "-f": time, idle, memory
 *   P4711;T12;shop.py:add:5 1012 0 4096                        before Austin 3
 *
 * "mode" defines the meaning of a single number: "wall" and "cpu" are times, "memory"
 * is allocated bytes, or freed bytes if negative. A frame's name is its text in the
 * file without the line, so that a function is one frame. */
#include "import/austin.h"
#include "base/number.h"
#include "import/python_folded.h"

#define METRIC_MOST 1e15

static const struct {
    const char *name;
    enum unit unit;
    double scale;
} EVENTS[AUSTIN_EVENTS] = {{"wall", UNIT_NANOSECONDS, 1000},
                           {"cpu", UNIT_NANOSECONDS, 1000},
                           {"allocated", UNIT_BYTES, 1},
                           {"freed", UNIT_BYTES, 1}};

/* --- Lines -------------------- */

/* Removes the last word from *s if it is a number. */
static bool take_number(struct str *s, double *out)
{
    struct str text = str_trim_right(*s);
    size_t at = text.len;
    while (at && text.ptr[at - 1] != ' ' && text.ptr[at - 1] != ',')
        at--;
    if (at == 0 || at == text.len || !number_parse_double(str_skip(text, at), out))
        return false;
    *s = str_head(text, at - 1);
    return true;
}

/* Removes "1012", "1012,0,-4096" or "1012 0 4096" from the end of *s. Keeps the order. */
static bool take_metrics(struct str *s, struct austin_sample *out)
{
    struct str all = str_trim_right(*s), rest = all;
    double *m = out->metrics;
    out->full = str_find(str_skip(all, str_rsearch(all, STR(" "))), ',') < all.len;
    if (take_number(&rest, &m[2]) && take_number(&rest, &m[1]) &&
        take_number(&rest, &m[0])) {
        *s = rest;
        out->metric_count = AUSTIN_METRICS;
        return true;
    }
    out->full = false;
    out->metric_count = 1;
    return take_number(s, &m[0]);
}

static bool take_pid(struct str text, int64_t *pid)
{
    uint64_t number;
    if (str_starts(text, STR("Process ")))
        text = str_skip(text, STR("Process ").len);
    else if (str_starts(text, STR("P")))
        text = str_skip(text, 1);
    else
        return false;
    *pid = number_parse_u64(text, &number) && number < INT64_MAX ? (int64_t)number : -1;
    return *pid >= 0;
}

/* "T0x7f5a", "T12", "Thread 12", Austin 4's "T0:12" (interpreter, thread). */
static bool take_thread(struct str text, struct str *thread)
{
    if (str_starts(text, STR("Thread ")))
        *thread = str_skip(text, STR("Thread ").len);
    else
        *thread = str_skip(text, 1);
    return str_starts(text, STR("T")) && thread->len &&
           (byte_is_hex(thread->ptr[0]) || str_starts(*thread, STR("0x")));
}

static bool parse_sample(struct str line, struct austin_sample *out)
{
    struct str rest = str_trim_right(line);
    if (!str_starts(rest, STR("P")) && !str_starts(rest, STR("T")))
        return false;
    if (!take_metrics(&rest, out))
        return false;
    struct str first = str_cut(&rest, ';');
    out->pid = ID_NONE;
    if (take_pid(first, &out->pid))
        first = str_cut(&rest, ';');
    out->frames = rest;
    return take_thread(first, &out->thread);
}

/* --- Samples -------------------- */

/* The file in "shop.py:add" or, before Austin 3, "add (shop.py)". */
static struct str file_in(struct str name)
{
    size_t colon = str_rfind(name, ':'), open = str_rsearch(name, STR(" ("));
    if (open < name.len && str_ends(name, STR(")")))
        return str_span(name.ptr + open + 2, name.ptr + name.len - 1);
    return str_head(name, colon < name.len ? colon : 0);
}

frame_id austin_frame(struct austin *a, struct str name, uint64_t line)
{
    struct frame f = {.name = builder_string(a->b, name)};
    struct str file = file_in(name);
    if (a->options->lines && file.len && line && line < UINT32_MAX) {
        f.line = (uint32_t)line;
        f.file = builder_string(a->b, file);
    }
    return builder_frame(a->b, &f);
}

/* "shop.py:add:5", or the line is the next field: "shop.py:add;L5". */
static frame_id take_frame(struct austin *a, struct str *frames)
{
    struct str name = str_cut(frames, ';'), rest = *frames, next = str_cut(&rest, ';');
    uint64_t line;
    if (str_starts(next, STR("L")) && number_parse_u64(str_skip(next, 1), &line)) {
        *frames = rest;
        return austin_frame(a, name, line);
    }
    struct python_frame f = python_frame_colons(name);
    return austin_frame(a, f.name, f.line);
}

static stack_id stack_of(struct austin *a, struct str frames)
{
    builder_path_clear(a->b);
    while (frames.len) {
        if (frames.ptr[0] == ';')
            frames = str_skip(frames, 1);
        else
            builder_path_add(a->b, take_frame(a, &frames));
    }
    if (a->b->path.count == 0)
        builder_path_add(a->b, builder_frame(a->b, &(struct frame){0}));
    return builder_path_from_root(a->b);
}

static event_id event_of(struct austin *a, enum austin_event which)
{
    if (!a->events[which])
        a->events[which] =
            builder_event(a->b, str_of(EVENTS[which].name),
                          a->options->samples ? UNIT_COUNT : EVENTS[which].unit);
    return a->events[which];
}

/* A thread ID: "0x7f5a", "12", or "0:12", where the first number is the interpreter's. */
static thread_id thread_of(struct austin *a, const struct austin_sample *line)
{
    size_t colon = str_rfind(line->thread, ':');
    bool two = colon < line->thread.len;
    struct str id = two ? str_skip(line->thread, colon + 1) : line->thread;
    uint64_t tid;
    bool known = str_starts(id, STR("0x")) ? number_parse_hex(id, &tid)
                                           : number_parse_u64(id, &tid);
    return builder_thread(a->b, line->pid,
                          known && tid <= INT64_MAX ? (int64_t)tid : ID_NONE, STR(""));
}

static void add(struct austin *a, enum austin_event which,
                const struct austin_sample *line, stack_id stack, double value)
{
    if (!(value > 0) || value > METRIC_MOST)
        return;
    double weight = a->options->samples ? 1 : value * EVENTS[which].scale;
    builder_add(a->b, &(struct sample){.time = TIME_NONE,
                                       .thread = thread_of(a, line),
                                       .cpu = CPU_NONE,
                                       .event = event_of(a, which),
                                       .stack = stack,
                                       .count = 1,
                                       .weight = weight});
}

void austin_add(struct austin *a, const struct austin_sample *line, stack_id stack)
{
    const double *m = line->metrics;
    if (line->metric_count == 1 && a->memory) {
        event_of(
            a,
            AUSTIN_ALLOCATED); /* makes it the first event, whatever the file begins with */
        add(a, AUSTIN_ALLOCATED, line, stack, m[0]);
        add(a, AUSTIN_FREED, line, stack, -m[0]);
    } else if (line->metric_count == 1) {
        add(a, a->cpu ? AUSTIN_CPU : AUSTIN_WALL, line, stack, m[0]);
    } else if (line->full) {
        add(a, AUSTIN_WALL, line, stack, m[0]);
        add(a, AUSTIN_CPU, line, stack, m[1] == 0 ? m[0] : 0);
        add(a, AUSTIN_ALLOCATED, line, stack, m[2]);
        add(a, AUSTIN_FREED, line, stack, -m[2]);
    } else {
        add(a, AUSTIN_WALL, line, stack, m[0]);
        add(a, AUSTIN_ALLOCATED, line, stack, m[1]);
        add(a, AUSTIN_FREED, line, stack, m[2] < 0 ? -m[2] : m[2]);
    }
}

void austin_fact(struct austin *a, struct str key, struct str value)
{
    if (!str_equal(key, STR("mode")))
        return;
    a->memory = str_equal(value, STR("memory"));
    a->cpu = str_equal(value, STR("cpu"));
}

/* "# mode: wall" */
static void read_comment(struct austin *a, struct str line)
{
    struct str rest = str_skip(line, 1), key = str_trim(str_cut(&rest, ':'));
    austin_fact(a, key, str_trim(rest));
}

static bool austin_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct austin a = {.b = b, .options = options, .lines = lines_of(in, err)};
    struct str text;
    if (!source_peek(in, 4, err))
        return false;
    if (mojo_is(str_span(in->begin, in->end)))
        return mojo_read(&a, in, err);
    while (!builder_failed(b) && lines_next(&a.lines, &text)) {
        struct austin_sample line;
        if (str_starts(text, STR("#")))
            read_comment(&a, text);
        else if (parse_sample(text, &line))
            austin_add(&a, &line, stack_of(&a, line.frames));
        else if (str_trim(text).len)
            builder_warn(b, "not a sample in Austin's format", a.lines.number, 1, text);
    }
    return !a.lines.failed;
}

/* Other tools also write "P..." or "T..." at the start of a stack, but not both. */
static int austin_probe(struct str head)
{
    size_t samples = 0, others = 0;
    bool marked = false;
    if (mojo_is(head))
        return 98;
    for (size_t lines = 0; head.len && lines < 200; lines++) {
        bool whole = str_find(head, '\n') < head.len;
        struct str line = str_trim_right(str_cut(&head, '\n'));
        struct austin_sample sample;
        marked |= str_starts(line, STR("# austin:"));
        if (line.len == 0 || line.ptr[0] == '#' || (!whole && lines))
            continue;
        bool is_sample = parse_sample(line, &sample);
        samples += is_sample;
        others += !is_sample;
    }
    if (marked)
        return 96;
    return samples && samples > others * 4 ? 92 : 0;
}

const struct importer import_austin = {
    .name = "austin",
    .suffixes = "austin,aprof,mojo",
    .summary = "Austin's samples of Python programs, as text or MOJO",
    .probe = austin_probe,
    .read = austin_read,
};
