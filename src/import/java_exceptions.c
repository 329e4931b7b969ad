/* SPDX-License-Identifier: Apache-2.0 */
/* Java exceptions in logs: every stack trace counts 1, to see which are thrown the most.
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
 * A cause and a suppressed exception are traces of their own. Their callers that are
 * those of the trace around them are told by number only, "... 1 more"; here they are put
 * back. All other lines are the log's own and are passed over. */
#include "base/number.h"
#include "import/stacktext.h"

/* Exceptions nested deeper are read, but their left-out callers stay left out. */
#define LEVELS_MAX 8

/* No more callers than that are left out: as deep as the virtual machine's traces go. */
#define LEFT_OUT_MAX 1024

/* A trace that encloses others: its outermost frames, and how far its heading is
 * indented. */
struct level {
    size_t indent;
    frame_id *frames; /* leaf first; at most LEFT_OUT_MAX */
    size_t count, cap;
};

struct exceptions_reader {
    struct stacktext text;
    struct level levels[LEVELS_MAX]; /* the outermost first, the one under way last */
    size_t depth;                    /* how many there are */
    struct level around; /* what "... N more" of the one under way counts in */
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
    struct str place = str_span(f->name.ptr + open + 1, f->name.ptr + close);
    place = stacktext_split_place(place, &f->line);
    if (f->line) /* else "Native Method" or "Unknown Source" */
        f->file = place;
    f->name = str_head(f->name, open);
    return str_find(f->name, '.') < f->name.len && f->name.ptr[open - 1] != ' ';
}

/* "... 5 more", or "... 5 common frames omitted" as logback puts it. */
static bool parse_more(struct str text, uint64_t *count)
{
    struct str rest = text;
    if (!str_equal(str_word(&rest), STR("...")) ||
        !number_parse_u64(str_word(&rest), count))
        return false;
    rest = str_trim(rest);
    return str_equal(rest, STR("more")) || str_equal(rest, STR("common frames omitted"));
}

/* Keeps what may be left out of traces to come. */
static void copy_frames(struct exceptions_reader *r, struct level *to,
                        const frame_id *frames, size_t count)
{
    if (count > LEFT_OUT_MAX) {
        frames += count - LEFT_OUT_MAX;
        count = LEFT_OUT_MAX;
    }
    frame_id *items =
        arena_grow(&r->text.arena, to->frames, &to->cap, count + 1, sizeof *items);
    if (!items)
        return;
    to->frames = items;
    to->count = count;
    if (count)
        memcpy(items, frames, count * sizeof *items);
}

/* Ends the trace under way, whose frames may be what later ones leave out. */
static void end_trace(struct exceptions_reader *r)
{
    struct frame_path *path = &r->text.b->path;
    if (path->count && r->depth)
        copy_frames(r, &r->levels[r->depth - 1], path->items, path->count);
    stacktext_end(&r->text);
}

/* Begins a trace whose heading stands at the indent. A suppressed exception lies within
 * the trace around it; a cause takes the place of what it caused. */
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

static void add_left_out(struct exceptions_reader *r, uint64_t count, struct str line)
{
    if (count > r->around.count) {
        stacktext_warn(&r->text, "callers left out that no trace before tells", line);
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
        add_left_out(r, count, line);
    } else if (t->b->path.count) { /* else a message goes on in more lines */
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
