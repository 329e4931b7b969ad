/* SPDX-License-Identifier: Apache-2.0 */
/* Java exceptions in logs: every stack trace has weight 1, to show which are thrown
 * most often.
 *
 *   2024-05-01 12:00:00 ERROR Odd: bad order: x
 *           at Boom.parse(Boom.java:4)
 *           at Boom.main(Boom.java:10)
 *           Suppressed: java.lang.UnsupportedOperationException: close
 *                   at Boom$Res.close(Boom.java:7)
 *                   ... 1 more
 *   Caused by: java.lang.NumberFormatException: For input string: "x"
 *           at java.base/java.lang.Integer.parseInt(Integer.java:668)
 *           ... 1 more
 *
 * A cause and a suppressed exception are separate traces. The callers that they share
 * with the enclosing trace are printed only as a number, "... 1 more"; the importer
 * restores them. All other lines of the log are skipped. */
#include "base/array.h"
#include "base/number.h"
#include "import/stacktext.h"

/* Exceptions nested deeper are read, but their omitted callers are not restored. */
#define LEVELS_MAX 8

/* No more callers than this are restored: the JVM's traces are not deeper. */
#define OMITTED_MAX 1024

/* An enclosing trace: its outermost frames, and the indentation of its header. */
struct level {
    size_t indent;
    frame_id *frames; /* leaf first; at most LEFT_OUT_MAX */
    size_t count, cap;
};

struct exceptions_reader {
    struct stacktext text;
    struct level levels[LEVELS_MAX]; /* root first; the last is the current one */
    size_t depth;                    /* number of levels */
    struct level around; /* the trace that "... N more" of the current one refers to */
};

/* "at Boom.parse(Boom.java:4)". */
static bool parse_frame(struct str text, struct text_frame *f)
{
    if (!str_starts(text, STR("at ")))
        return false;
    *f = TEXT_FRAME;
    f->name = str_skip(text, 3);
    size_t open = str_find(f->name, '('), close = str_find(f->name, ')');
    if (open == 0 || open > close || close == f->name.len)
        return false;
    struct str location = str_span(f->name.ptr + open + 1, f->name.ptr + close);
    location = stacktext_split_location(location, &f->line);
    if (f->line) /* otherwise "Native Method" or "Unknown Source" */
        f->file = location;
    f->name = str_head(f->name, open);
    return str_find(f->name, '.') < f->name.len && f->name.ptr[open - 1] != ' ';
}

/* "... 5 more", or "... 5 common frames omitted" as logback prints it. */
static bool parse_more(struct str text, uint64_t *count)
{
    struct str rest = text;
    if (!str_equal(str_word(&rest), STR("...")) ||
        !number_parse_u64(str_word(&rest), count))
        return false;
    rest = str_trim(rest);
    return str_equal(rest, STR("more")) || str_equal(rest, STR("common frames omitted"));
}

/* Copies the frames that later traces may omit. */
static void copy_frames(struct exceptions_reader *r, struct level *to,
                        const frame_id *frames, size_t count)
{
    if (count > OMITTED_MAX) {
        frames += count - OMITTED_MAX;
        count = OMITTED_MAX;
    }
    if (!ARRAY_RESERVE(&r->text.arena, to->frames, to->cap, count + 1))
        return;
    to->count = count;
    if (count)
        memcpy(to->frames, frames, count * sizeof *to->frames);
}

/* Ends the current trace, whose frames later traces may omit. */
static void end_trace(struct exceptions_reader *r)
{
    struct frame_path *path = &r->text.b->path;
    if (path->count && r->depth)
        copy_frames(r, &r->levels[r->depth - 1], path->items, path->count);
    stacktext_end(&r->text);
}

/* Begins a trace whose header has this indentation. A suppressed exception is nested
 * in the enclosing trace; a cause replaces the exception that it caused. */
static void begin_trace(struct exceptions_reader *r, size_t indent, bool suppressed)
{
    end_trace(r);
    while (r->depth && r->levels[r->depth - 1].indent >= indent + !suppressed)
        r->depth--;
    struct level *last = r->depth ? &r->levels[r->depth - 1] : NULL;
    r->around.count = 0;
    if (last)
        copy_frames(r, &r->around, last->frames, last->count);
    if ((!last || last->indent < indent) && r->depth < LEVELS_MAX)
        last = &r->levels[r->depth++];
    if (last) {
        last->indent = indent;
        last->count = 0;
    }
}

static void add_omitted(struct exceptions_reader *r, uint64_t count, struct str line)
{
    if (count > r->around.count) {
        stacktext_warn(&r->text, "omitted callers that no earlier trace contains", line);
        count = r->around.count;
    }
    for (size_t i = r->around.count - (size_t)count; i < r->around.count; i++)
        builder_path_add(r->text.b, r->around.frames[i]);
}

static void exceptions_line(struct stacktext *t, struct str line)
{
    struct exceptions_reader *r = (struct exceptions_reader *)t;
    struct str text = str_trim(line);
    struct text_frame f;
    uint64_t count;
    size_t indent = (size_t)(text.ptr - line.ptr);
    bool suppressed = str_starts(text, STR("Suppressed: "));
    if (suppressed || str_starts(text, STR("Caused by: "))) {
        begin_trace(r, indent, suppressed);
    } else if (parse_frame(text, &f)) {
        if (r->depth == 0)
            begin_trace(r, 0, false);
        if (!stacktext_add_known(t, text))
            stacktext_add(t, text, &f);
    } else if (parse_more(text, &count)) {
        add_omitted(r, count, line);
    } else if (t->b->path.count) { /* otherwise a message of several lines continues */
        end_trace(r);
        r->depth = 0;
    }
}

static bool exceptions_read(struct source *in, const struct import_options *options,
                            struct builder *b, struct error *err)
{
    struct exceptions_reader r = {.text = {.weight = 1}};
    return stacktext_read(&r.text, in, options, b, exceptions_line, err);
}

static int exceptions_probe(struct str head)
{
    struct str line;
    struct text_frame f;
    size_t frames = 0, headings = 0;
    while (stacktext_probe_line(&head, &line)) {
        struct str text = str_trim_left(line);
        frames += text.ptr != line.ptr && parse_frame(text, &f);
        headings += str_starts(text, STR("Caused by: ")) ||
                    (text.ptr == line.ptr &&
                     (str_has(line, STR("Exception")) || str_has(line, STR("Error"))));
    }
    return frames == 0 ? 0 : headings ? 75 : 50;
}

const struct importer import_java_exceptions = {
    .name = "java-exceptions",
    .suffixes = "",
    .summary = "Java stack traces in logs",
    .probe = exceptions_probe,
    .read = exceptions_read,
};
