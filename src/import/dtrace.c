/* SPDX-License-Identifier: Apache-2.0 */
/* DTrace's aggregations of stack() and ustack(), as dtrace(1) prints them: keys, frame
 * lines, leaf first, and a count.
 *
 *               libc.so.1`__read+0xa
 *               bash`main+0x1c4
 *                 884
 *
 * A key that is not a stack is on a separate line before the frames, or before the
 * count on its line; it is read as the thread's name. Two stacks in sequence without a
 * count between them are keys of the same entry. A JIT's helper may print a chain of
 * inlined calls, "caller->callee". Lines without indentation are messages of dtrace.
 *
 * Stacks share their callers, so the text after the leaf's line is first looked up as
 * a whole, by its hash. Only unknown callers are looked up line by line. */
#include "base/number.h"
#include "import/callers.h"
#include "import/stacktext.h"
#include "model/name.h"

/* Callers with a longer text are read line by line. */
#define CALLERS_MAX ((size_t)32 << 10)

/* A key's line is indented at least this much less than the frames after it. */
#define KEY_INDENT 4

/* A line whose meaning depends on the next line: a key, if the next line is a frame
 * with more indentation; otherwise a frame, or the count of an entry without frames. */
struct pending_line {
    string_id text; /* 0: none */
    size_t indent;
};

struct dtrace_reader {
    struct stacktext text;
    struct callers callers;
    uint64_t by_line_before; /* entries before this offset are read line by line */
    size_t indent;           /* of the preceding frame line */
    struct pending_line pending;
    bool in_distribution; /* within the lines of quantize() or similar */
    bool only_frames;     /* all lines since this was set were frames */
};

/* --- Frames ------------------------------------------------------------------------- */

/* "module`function", without arguments. */
static struct str shown_name(const struct dtrace_reader *r, struct str name)
{
    size_t tick = str_find(name, '`');
    struct str function = str_skip(name, tick < name.len ? tick + 1 : 0);
    struct str bare = name_without_arguments(function);
    if (r->text.options->signatures || bare.len == 0)
        return name;
    return str_trim_right(str_span(name.ptr, bare.ptr + bare.len));
}

static frame_id make_frame(struct dtrace_reader *r, struct str text, bool is_leaf,
                           bool inlined)
{
    struct text_frame f = TEXT_FRAME;
    struct str bare = name_without_offset(text);
    size_t tick = str_find(text, '`');
    if (tick < text.len)
        f.module = str_head(text, tick);
    if (!is_leaf)
        f.offset = str_skip(text, bare.len);
    f.name = shown_name(r, bare);
    f.verbatim = true;
    f.kind = inlined ? FRAME_INLINED : FRAME_USER;
    return stacktext_frame(&r->text, &f);
}

/* "a->b->c", the caller first; the path needs the callee first. */
static void add_links(struct dtrace_reader *r, struct str rest, bool is_leaf)
{
    size_t from = r->text.b->path.count;
    bool inlined = false;
    while (rest.len) {
        struct str link = name_next_link(&rest);
        if (link.len)
            builder_path_add(r->text.b,
                             make_frame(r, link, is_leaf && !rest.len, inlined));
        inlined = true;
    }
    builder_path_reverse(r->text.b, from);
}

/* A leaf is always shown without its offset. If other frames are shown with theirs,
 * the two need different keys. */
static struct hash128 line_key(const struct dtrace_reader *r, struct str line)
{
    struct hash128 key = hash_bytes128(line.ptr, line.len);
    key.hi ^= r->text.b->path.count == 0;
    return key;
}

static void add_frame(struct dtrace_reader *r, frame_id frame, size_t indent)
{
    builder_path_add(r->text.b, frame);
    r->indent = indent;
}

/* Adds the frame of a known line; false if the line is unknown. */
static bool add_known_frame(struct dtrace_reader *r, struct str line)
{
    const uint64_t *known = memo_find(&r->text.frames, line_key(r, line));
    if (known)
        add_frame(r, (frame_id)*known, (size_t)(*known >> 32));
    return known != NULL;
}

/* `text` is the line without surrounding white space. With `sure`, the line is cached
 * as a frame, whatever precedes it. */
static void add_new_frame(struct dtrace_reader *r, struct str line, struct str text,
                          bool sure)
{
    bool is_leaf = r->text.b->path.count == 0;
    size_t indent = (size_t)(text.ptr - line.ptr);
    if (str_has(text, STR("->"))) {
        r->indent = indent;
        add_links(r, text, is_leaf);
        return;
    }
    struct hash128 key = line_key(r, line);
    frame_id frame = make_frame(r, text, is_leaf, false);
    if (sure && indent <= UINT32_MAX)
        memo_put(&r->text.frames, key, (uint64_t)indent << 32 | frame);
    add_frame(r, frame, indent);
}

/* --- Entries ------------------------------------------------------------------------ */

static void begin_entry(struct dtrace_reader *r)
{
    builder_path_clear(r->text.b);
    r->text.weight = 0;
    r->text.thread = 0;
    r->text.pid = ID_NONE;
    r->only_frames = false;
}

static void end_entry(struct dtrace_reader *r, struct str count)
{
    stacktext_end_counted(&r->text, count);
    begin_entry(r);
}

/* "1234", "bash", "1234  bash": a process ID, its name, or both. */
static void set_key(struct dtrace_reader *r, struct str key)
{
    struct stacktext *t = &r->text;
    struct str rest = key, word = str_word(&rest);
    uint64_t pid;
    if (number_parse_u64(word, &pid) && pid <= INT64_MAX) {
        t->pid = (int64_t)pid;
        key = str_trim(rest);
    }
    t->thread = builder_string(t->b, key);
}

/* --- Lines -------------------------------------------------------------------------- */

static bool looks_like_frame(struct str text)
{
    return str_find(text, '`') < text.len || str_has(text, STR("+0x")) ||
           str_starts(text, STR("0x"));
}

/* "CPU     ID                    FUNCTION:NAME", "  0  64091     :tick-60s",
 * "dtrace: description 'profile-97 ' matched 1 probe". */
static bool is_header(struct str text)
{
    uint64_t number;
    struct str rest = text, first = str_word(&rest), second = str_word(&rest);
    if (str_starts(text, STR("dtrace: ")) || str_ends(text, STR("FUNCTION:NAME")))
        return true;
    return number_parse_u64(first, &number) && number_parse_u64(second, &number) &&
           str_find(rest, ':') < rest.len;
}

/* A line "  bash       884" after frames: a key, then the count. */
static bool end_with_key(struct dtrace_reader *r, struct str text, size_t indent)
{
    size_t at = text.len;
    while (at && byte_is_digit(text.ptr[at - 1]))
        at--;
    struct str key = str_trim(str_head(text, at));
    if (indent + KEY_INDENT > r->indent || at == text.len || key.len + 1 >= at)
        return false;
    set_key(r, key);
    end_entry(r, str_skip(text, at));
    return true;
}

/* The lines of a distribution: its values are not counts of the stack. */
static bool read_distribution(struct dtrace_reader *r, struct str text)
{
    if (str_has(text, STR("------------- Distribution -------------"))) {
        stacktext_warn(&r->text, "a stack with a distribution instead of a count", text);
        begin_entry(r);
        r->in_distribution = true;
    }
    return r->in_distribution;
}

/* A line that does not look like DTrace's frames. False if it is a frame nevertheless. */
static bool read_unusual(struct dtrace_reader *r, struct str text, size_t indent)
{
    struct stacktext *t = &r->text;
    bool is_first = t->b->path.count == 0;
    if (read_distribution(r, text) || (!is_first && end_with_key(r, text, indent)))
        return true;
    if (!is_first)
        return false;
    if (indent && !is_header(text))
        r->pending = (struct pending_line){builder_string(t->b, text), indent};
    else if (!is_header(text))
        stacktext_warn(t, "a line outside of all stacks", text);
    return true;
}

/* Reads the preceding line, which the indentation of the next line now identifies. */
static void settle_pending(struct dtrace_reader *r, bool leads_frames)
{
    struct stacktext *t = &r->text;
    struct str text = profile_string(t->b->profile, r->pending.text);
    if (!r->pending.text)
        return;
    r->pending.text = 0;
    if (leads_frames)
        set_key(r, text);
    else if (stacktext_is_count(text))
        end_entry(r, text);
    else
        add_new_frame(r, text, text, false);
}

static void read_line(struct dtrace_reader *r, struct str line)
{
    if (line.len && !r->pending.text && !r->in_distribution && add_known_frame(r, line))
        return;
    struct str text = str_trim(line);
    size_t indent = (size_t)(text.ptr - line.ptr);
    settle_pending(r, text.len && indent >= r->pending.indent + KEY_INDENT);
    if (text.len == 0) {
        r->in_distribution = false;
    } else if (r->text.b->path.count && stacktext_is_count(text)) {
        end_entry(r, text);
    } else if (looks_like_frame(text) || !read_unusual(r, text, indent)) {
        /* text after frames that is not a frame can end their entry, but only with a
         * number */
        bool sure = looks_like_frame(text) || !byte_is_digit(text.ptr[text.len - 1]);
        r->only_frames &= sure;
        r->in_distribution = false;
        add_new_frame(r, line, text, sure);
    }
}

/* --- Whole entries ------------------------------------------------------------------ */

/* Finds the rest of the entry after its leaf's line, if all of it is in the window:
 * its callers, looked up in r->callers, and its count line. *end is the start of the
 * empty line after them. */
static bool find_rest(struct dtrace_reader *r, struct str *count, const char **end)
{
    struct source *in = r->text.lines.source;
    struct callers *c = &r->callers;
    struct str text = str_head(str_span(in->begin, in->end), CALLERS_MAX);
    if (in->offset < r->by_line_before)
        return false;
    size_t at = callers_scan(c, text);
    *end = text.ptr + at;
    r->by_line_before = in->offset + at; /* until proved otherwise */
    if (at == text.len || c->entry_lines < 2 || c->entry_lines > CALLERS_LINES_MAX)
        return false;
    *count = str_span(text.ptr + c->starts[c->entry_lines - 1], *end - 1);
    return stacktext_is_count(*count);
}

/* Reads the callers' lines that are not cached. False if one is not part of this
 * stack: the rest of the entry is then read line by line. */
static bool read_unknown_callers(struct dtrace_reader *r)
{
    struct callers *c = &r->callers;
    size_t unknown = callers_unknown(c);
    struct str line;
    r->only_frames = true;
    for (size_t i = 0; i < unknown; i++) {
        if (!lines_next(&r->text.lines, &line))
            return false;
        read_line(r, line);
        if (!r->only_frames)
            return false;
        c->frames_at[i] = r->text.b->path.count;
    }
    return c->line_count != 0;
}

/* After the leaf's line: reads the rest of the entry, using cached callers. Does
 * nothing if the entry is not complete in the window. */
static void read_whole_entry(struct dtrace_reader *r)
{
    struct builder *b = r->text.b;
    struct lines *lines = &r->text.lines;
    struct callers *c = &r->callers;
    size_t leaf_frames = b->path.count, parsed = 0;
    struct str count;
    const char *end;
    stack_id stack;
    if (!find_rest(r, &count, &end))
        return;
    if (!callers_find(c, 0, c->entry_lines - 1, &stack)) {
        if (!read_unknown_callers(r))
            return;
        parsed = callers_unknown(c);
        stack = callers_learn(c, b, leaf_frames);
    }
    lines_skip(lines, (size_t)(end + 1 - lines->source->begin),
               c->entry_lines - parsed + 1); /* includes the empty line */
    b->path.count = leaf_frames;
    builder_path_reverse(b, 0);
    stack = builder_push_run(b, stack, b->path.items, leaf_frames, NULL);
    if (stacktext_set_count(&r->text, count))
        stacktext_add_stack(&r->text, stack);
    begin_entry(r);
}

static void dtrace_line(struct stacktext *t, struct str line)
{
    struct dtrace_reader *r = (struct dtrace_reader *)t;
    bool was_empty = t->b->path.count == 0;
    read_line(r, line);
    if (was_empty && t->b->path.count)
        read_whole_entry(r);
}

static void dtrace_finish(struct stacktext *t)
{
    settle_pending((struct dtrace_reader *)t, false);
}

static bool dtrace_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct dtrace_reader r = {.text = {.memo_pairs = 32768, .finish = dtrace_finish}};
    if (callers_init(&r.callers, &r.text.arena))
        return stacktext_read(&r.text, in, options, b, dtrace_line, err);
    arena_deinit(&r.text.arena);
    return error_memory(err);
}

/* --- Probing and splitting ---------------------------------------------------------- */

static int dtrace_probe(struct str head)
{
    size_t ticks = 0, frames = 0, counts = 0, others = 0;
    struct str line;
    while (stacktext_probe_line(&head, &line)) {
        struct str text = str_trim_left(line);
        if (str_ends(line, STR("FUNCTION:NAME")) && str_starts(line, STR("CPU")))
            return 90;
        size_t tick = str_find(text, '`');
        bool indented = text.ptr != line.ptr;
        ticks += indented && tick > 0 && tick + 1 < text.len;
        frames += indented && looks_like_frame(text);
        counts += frames && stacktext_is_count(text);
        others +=
            frames && text.len && !looks_like_frame(text) && !stacktext_is_count(text);
    }
    if (!counts || ticks * 2 < frames)
        return 0;
    return others * 4 < frames ? 85 : 55;
}

static size_t dtrace_split(struct str bytes, size_t from)
{
    return stacktext_split(bytes, from, looks_like_frame);
}

const struct importer import_dtrace = {
    .name = "dtrace",
    .suffixes = "dtrace,stacks",
    .summary = "DTrace aggregations of stack() and ustack()",
    .probe = dtrace_probe,
    .read = dtrace_read,
    .split = dtrace_split,
};
