/* SPDX-License-Identifier: Apache-2.0 */
#include "import/python_folded.h"
#include "base/memo.h"
#include "base/number.h"

#define PROBE_LINES 200

struct reader {
    const struct python_folded *form;
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct memo frames; /* by their text */
    struct output text; /* scratch */
    event_id event;
};

/* --- Frames ------------------------------------------------------------------------- */

struct python_frame python_frame_colons(struct str text)
{
    struct python_frame f = {.name = text};
    size_t colon = str_rfind(text, ':');
    struct str location = str_head(text, colon), number = str_skip(text, colon + 1);
    size_t end = str_rfind(location, ':');
    if (str_starts(number, STR("L")))
        number = str_skip(number, 1);
    if (colon == text.len || end == 0 || end == location.len || end + 1 == location.len ||
        !number_parse_u64(number, &f.line) || f.line >= UINT32_MAX)
        return (struct python_frame){.name = text};
    f.name = location;
    f.file = str_head(location, end);
    return f;
}

struct python_frame python_frame_brackets(struct str text, struct output *o)
{
    struct python_frame f = {.name = text};
    size_t open = str_rsearch(text, STR(" ("));
    if (open == 0 || open == text.len || !str_ends(text, STR(")")))
        return f;
    struct str location = str_span(text.ptr + open + 2, text.ptr + text.len - 1);
    size_t colon = str_rfind(location, ':');
    if (colon == 0 || colon == location.len ||
        !number_parse_u64(str_skip(location, colon + 1), &f.line) ||
        f.line >= UINT32_MAX) {
        f.line = 0;
        return f;
    }
    f.file = str_head(location, colon);
    o->used = 0;
    o->room = o->cap;
    output_format(o, "%.*s)", STR_ARG(str_span(text.ptr, location.ptr + colon)));
    f.name = output_contents(o);
    return f;
}

static frame_id frame_named(struct reader *r, struct str text)
{
    struct hash128 key = hash_bytes128(text.ptr, text.len);
    const uint64_t *known = memo_find(&r->frames, key);
    if (known)
        return (frame_id)*known;
    struct python_frame parsed = r->form->frame(text, &r->text);
    struct frame f = {.name = builder_string(r->b, parsed.name)};
    if (r->options->lines && parsed.line) {
        f.file = builder_string(r->b, parsed.file);
        f.line = (uint32_t)parsed.line;
    }
    frame_id frame = builder_frame(r->b, &f);
    memo_put(&r->frames, key, frame);
    return frame;
}

static stack_id stack_of(struct reader *r, struct str frames)
{
    builder_path_clear(r->b);
    while (frames.len) {
        struct str text = str_cut(&frames, ';');
        if (text.len)
            builder_path_add(r->b, frame_named(r, text));
    }
    if (r->b->path.count == 0)
        builder_path_add(r->b, builder_frame(r->b, &(struct frame){0}));
    return builder_path_from_root(r->b);
}

/* --- Lines -------------------------------------------------------------------------- */

/* Removes the count from the end of the line. */
static bool take_count(struct str *line, double *count)
{
    struct str text = str_trim_right(*line);
    size_t space = str_rfind(text, ' ');
    uint64_t number;
    if (space == 0 || space == text.len ||
        !number_parse_u64(str_skip(text, space + 1), &number))
        return false;
    *line = str_trim_right(str_head(text, space));
    *count = (double)number;
    return line->len > 0;
}

static thread_id take_thread(struct reader *r, struct str *rest)
{
    struct python_thread thread = {ID_NONE, ID_NONE, STR("")};
    bool any = false;
    while (r->form->take_thread(rest, &thread))
        any = true;
    return any ? builder_thread(r->b, thread.pid, thread.tid, thread.name) : 0;
}

static void read_line(struct reader *r, const struct lines *lines, struct str line)
{
    double count;
    struct str rest = line;
    if (!take_count(&rest, &count)) {
        builder_warn(r->b, "no count at the end of the line", lines->number, line.len,
                     line);
        return;
    }
    thread_id thread = take_thread(r, &rest);
    builder_add(r->b, &(struct sample){.time = TIME_NONE,
                                       .thread = thread,
                                       .cpu = CPU_NONE,
                                       .event = r->event,
                                       .stack = stack_of(r, rest),
                                       .count = 1,
                                       .weight = count});
}

bool python_folded_read(const struct python_folded *form, struct source *in,
                        const struct import_options *options, struct builder *b,
                        struct error *err)
{
    struct reader r = {.form = form,
                       .b = b,
                       .options = options,
                       .text = OUTPUT_BUFFER,
                       .event = builder_event(b, STR("samples"), UNIT_COUNT)};
    struct lines lines = lines_of(in, err);
    struct str line;
    bool ok = memo_init(&r.frames, &r.arena, 4096) || error_memory(err);
    while (ok && !builder_failed(b) && !r.text.failed && lines_next(&lines, &line))
        if (str_trim(line).len && line.ptr[0] != '#')
            read_line(&r, &lines, line);
    if (ok && r.text.failed)
        ok = error_memory(err);
    output_deinit(&r.text);
    builder_end_scratch(b, &r.arena);
    return ok && !lines.failed;
}

/* --- Detection ---------------------------------------------------------------------- */

struct shares {
    size_t lines, bad, threads; /* lines; those that are none; those with a thread */
    size_t frames, located;     /* frames; those with a line of Python's code */
};

static bool is_python_file(struct str file)
{
    return str_ends(file, STR(".py")) || str_ends(file, STR(".pyx")) ||
           str_starts(file, STR("<frozen "));
}

static void add_line(const struct python_folded *form, struct str line,
                     struct output *text, struct shares *s)
{
    struct python_thread thread;
    double count;
    if (str_trim(line).len == 0 || line.ptr[0] == '#')
        return;
    s->lines++;
    if (!take_count(&line, &count)) {
        s->bad++;
        return;
    }
    s->threads += form->take_thread(&line, &thread);
    while (line.len) {
        struct python_frame f = form->frame(str_cut(&line, ';'), text);
        s->frames++;
        s->located += f.line && is_python_file(f.file);
    }
}

bool python_folded_is(const struct python_folded *form, struct str head)
{
    struct shares s = {0};
    struct output text = OUTPUT_BUFFER;
    for (size_t lines = 0; head.len && lines < PROBE_LINES; lines++) {
        bool whole = str_find(head, '\n') < head.len;
        struct str line = str_cut(&head, '\n');
        if (whole || lines == 0) /* the last line may be incomplete */
            add_line(form, line, &text, &s);
    }
    output_deinit(&text);
    return s.lines > s.bad * 4 &&
           (s.threads * 2 >= s.lines || (s.located && s.located * 4 >= s.frames));
}
