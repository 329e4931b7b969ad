/* SPDX-License-Identifier: Apache-2.0 */
/* perf script text, as perf 3 to 6 print it.
 *
 * A sample is a header line, frame lines, leaf first, and an empty line:
 *
 *   comm  pid/tid [cpu] time: period event: rest
 *           pc symbol+0xoffset (module)
 *
 * cpu, time, period and event may be missing. The stack may be missing, too: the frame
 * is then at the end of the header line. If the stack is there, any field of the header
 * may be missing. A comm may contain spaces and digits. Newer
 * versions of perf add lines for inlined functions, with "(inlined)" instead of the
 * module (which is that of the containing function), and source lines between the
 * frames.
 *
 * Stacks repeat, so the text of a leaf's callers is first looked up as a whole, by its
 * hash. Only unknown callers are looked up line by line. */
#include "base/array.h"
#include "base/memo.h"
#include "base/number.h"
#include "base/scan.h"
#include "import/callers.h"
#include "import/perf_line.h"
#include "model/name.h"

/* Callers with a longer text are read line by line. */
#define CALLERS_MAX ((size_t)32 << 10)

/* The value of a frame line: nothing, one frame, or a range of r->links. */
#define FRAMES_NONE UINT64_MAX
#define FRAMES_ONE(frame) ((uint64_t)(frame))
#define FRAMES_MANY(at, count) ((uint64_t)(count) << 32 | (uint64_t)(at))

/* A line outside of samples that is a header if a stack follows it (perf_find_loose_head): the text
 * in `room`. An empty one is before each stack that has no header. */
struct loose_head {
    char room[128];
    size_t length;
    uint64_t line;
    bool is_there;
};

struct perf_reader {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct lines lines;
    struct memo frames; /* frame lines */
    struct callers callers;
    struct perf_inlined inlined;
    struct memo threads; /* "comm pid/tid" */
    frame_id *links;     /* leaf first */
    size_t link_count, link_cap;
    struct sample sample; /* current; its frames are in the builder's path */
    bool in_sample;
    struct loose_head loose;
    bool is_flat;          /* the last sample is in one line, without a time */
    bool only_frames;      /* all lines since this was set were frames */
    bool has_locations;    /* there are annotation lines between the frames */
    frame_id header_frame; /* the frame at the end of the header line, or 0 */
    struct str event_name; /* of the last sample, saves the look-up */
    event_id event;
};

static void read_line(struct perf_reader *r, struct str line);

/* --- Frame lines -------------------------------------------------------------------- */

static void add_link(struct perf_reader *r, frame_id frame)
{
    frame_id *link = ARRAY_APPEND(&r->arena, r->links, r->link_count, r->link_cap);
    if (!link)
        return;
    *link = frame;
}

/* Adds the frames of a chain "a->b->c", root first, to r->links. */
static uint64_t make_frames(struct perf_reader *r, const struct perf_frame_line *line)
{
    struct str rest = name_without_offset(line->symbol);
    if (perf_symbol_is_process(rest))
        return FRAMES_NONE;
    r->inlined.any |= perf_is_inlined(line);
    struct str link = name_next_link(&rest);
    if (rest.len == 0)
        return FRAMES_ONE(perf_frame(r->b, r->options, line, link, false));
    size_t from = r->link_count, to;
    for (bool inlined = false;; inlined = true, link = name_next_link(&rest)) {
        add_link(r, perf_frame(r->b, r->options, line, link, inlined));
        if (rest.len == 0)
            break;
    }
    to = r->link_count;
    for (size_t i = from, j = to; i + 1 < j; i++) {
        frame_id swap = r->links[i];
        r->links[i] = r->links[--j];
        r->links[j] = swap;
    }
    return FRAMES_MANY(from, to - from);
}

static void add_frames(struct perf_reader *r, uint64_t frames)
{
    if (frames == FRAMES_NONE)
        return;
    if (frames >> 32 == 0) {
        builder_path_add(r->b, (frame_id)frames);
        return;
    }
    for (uint64_t i = 0; i < frames >> 32; i++)
        builder_path_add(r->b, r->links[(uint32_t)frames + i]);
}

/* Whether the cached result for a line's text is valid for this line: a line without a
 * module is a frame only if it is indented. */
static bool may_be_known(struct str line)
{
    return line.len &&
           (byte_is_space(line.ptr[0]) || str_ends(str_trim_right(line), STR(")")));
}

/* Adds the frames of a cached line to the path; false if the line is not cached. */
static bool add_known_frame(struct perf_reader *r, struct str line)
{
    const uint64_t *known = memo_find(&r->frames, hash_bytes128(line.ptr, line.len));
    if (known)
        add_frames(r, *known);
    return known != NULL;
}

/* Only results that do not depend on the context are cached, as `anywhere` says. */
static void add_new_frame(struct perf_reader *r, struct str text,
                          const struct perf_frame_line *parsed, bool anywhere)
{
    size_t links = r->link_count;
    uint64_t frames = make_frames(r, parsed);
    add_frames(r, frames);
    if (anywhere && !(parsed->is_bare && str_ends(str_trim_right(text), STR(")"))))
        memo_put(&r->frames, hash_bytes128(text.ptr, text.len), frames);
    else
        r->link_count = links;
}

/* --- Header lines ------------------------------------------------------------------- */

static thread_id thread_of(struct perf_reader *r, struct str comm, struct str id)
{
    struct str text = str_span(comm.ptr, id.ptr + id.len);
    struct hash128 key = hash_bytes128(text.ptr, text.len);
    const uint64_t *known = memo_find(&r->threads, key);
    if (known)
        return (thread_id)*known;
    thread_id thread = perf_thread(r->b, comm, id);
    memo_put(&r->threads, key, thread);
    return thread;
}

static event_id event_of(struct perf_reader *r, struct str name, bool has_period)
{
    if (r->event && str_equal(name, r->event_name))
        return r->event;
    r->event = builder_event(r->b, name,
                             perf_event_unit(name, has_period && !r->options->samples));
    r->event_name = profile_string(r->b->profile, r->b->profile->events[r->event].name);
    return r->event;
}

static bool parse_flat_frame(struct perf_reader *r, struct str text)
{
    struct perf_frame_line line;
    r->header_frame = 0;
    if (perf_parse_frame(text, &line, true))
        r->header_frame =
            perf_frame(r->b, r->options, &line, name_without_offset(line.symbol), false);
    return true;
}

/* The text after the event: a frame, if perf prints no stacks, or the fields of a
 * tracepoint. Lost events are records of perf. */
static bool parse_rest(struct perf_reader *r, struct str rest)
{
    struct perf_frame_line line;
    uint64_t lost;
    struct str text = rest;
    rest = str_trim(rest);
    r->header_frame = 0;
    if (rest.len == 0)
        return true;
    if (str_starts(rest, STR("PERF_RECORD_"))) {
        struct str kind = str_word(&rest), word = str_word(&rest);
        if (str_starts(kind, STR("PERF_RECORD_LOST")) && str_equal(word, STR("lost")) &&
            number_parse_u64(str_word(&rest), &lost))
            r->b->profile->facts.lost += lost;
        return false;
    }
    if (perf_parse_frame_in_header(text, &line))
        r->header_frame =
            perf_frame(r->b, r->options, &line, name_without_offset(line.symbol), false);
    return true;
}

/* Begins a sample with the header line. False, with nothing changed, if the line has
 * neither a time nor an event, so it is not a header. */
static bool start_sample(struct perf_reader *r, const struct perf_head *h)
{
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE, .count = 1};
    uint64_t period;
    struct str rest = perf_parse_fields(&s, h->rest, &period), left = rest;
    struct str word = str_word(&left);
    bool is_record = str_starts(word, STR("PERF_RECORD_"));
    bool is_event = !is_record && word.len > 1 && word.ptr[word.len - 1] == ':';
    if (!is_event && s.time == TIME_NONE && word.len)
        return false;
    if (!is_record)
        s.event = event_of(r, is_event ? str_head(word, word.len - 1) : STR("samples"),
                           period && !r->options->samples);
    if (h->comm.len || h->id.len)
        s.thread = thread_of(r, h->comm, h->id);
    s.weight = r->options->samples || !period ? 1 : (double)period;
    r->sample = s;
    r->is_flat = h->frame.len != 0;
    if (r->is_flat)
        r->in_sample = parse_flat_frame(r, h->frame);
    else
        r->in_sample = parse_rest(r, is_event ? left : rest);
    r->only_frames = false;
    builder_path_clear(r->b);
    return true;
}

/* --- Loose headers ------------------------------------------------------------------ */

#define NEITHER "neither a sample header nor a frame"

/* No stack followed it. */
static void drop_loose(struct perf_reader *r)
{
    if (r->loose.is_there && r->loose.length)
        builder_warn(r->b, NEITHER, r->loose.line, 1,
                     (struct str){r->loose.room, r->loose.length});
    r->loose.is_there = false;
}

/* False if the text cannot be a header. */
static bool hold_loose(struct perf_reader *r, struct str text)
{
    struct perf_head head;
    if (text.len >= sizeof r->loose.room ||
        (text.len && !perf_find_loose_head(text, &head)))
        return false;
    memcpy(r->loose.room, text.ptr, text.len);
    r->loose.length = text.len;
    r->loose.line = r->lines.number;
    r->loose.is_there = true;
    return true;
}

/* At a stack line outside of samples. */
static void start_loose(struct perf_reader *r)
{
    struct perf_head head;
    if (perf_find_loose_head((struct str){r->loose.room, r->loose.length}, &head) &&
        start_sample(r, &head))
        r->loose.is_there = false;
}

/* --- Samples ------------------------------------------------------------------------ */

static bool is_skip_frame(const struct perf_reader *r, frame_id frame)
{
    const struct profile *p = r->b->profile;
    struct str name = profile_string(p, p->frames[frame].name);
    for (size_t i = 0; i < r->options->skip_after_count; i++)
        if (str_equal(name, r->options->skip_after[i]))
            return true;
    return false;
}

static void skip_callers(struct perf_reader *r)
{
    struct frame_path *path = &r->b->path;
    for (size_t i = 0; r->options->skip_after_count && i < path->count; i++)
        if (is_skip_frame(r, path->items[i]))
            path->count = i + 1;
}

/* Ends the sample: the leaf's frames, in the path up to `leaf_frames`, are added to
 * the callers' stack. */
static void finish_sample(struct perf_reader *r, stack_id callers, size_t leaf_frames)
{
    struct frame_path *path = &r->b->path;
    if (path->is_cut)
        builder_cut(r->b);
    path->count = leaf_frames;
    perf_inlined_settle(&r->inlined, r->b, 0, leaf_frames, callers);
    builder_path_reverse(r->b, 0);
    r->sample.stack = builder_push_run(r->b, callers, path->items, leaf_frames, NULL);
    builder_add(r->b, &r->sample);
    r->in_sample = false;
}

static void end_sample(struct perf_reader *r)
{
    if (!r->in_sample)
        return;
    if (r->b->path.count == 0 && r->header_frame)
        builder_path_add(r->b, r->header_frame);
    perf_inlined_settle(&r->inlined, r->b, 0, r->b->path.count, 0);
    skip_callers(r);
    finish_sample(r, 0, r->b->path.count);
}

#define LINES_AT_ONCE 16

/* The keys of the callers' lines from `from` on, as frame lines. */
static void hash_lines(const struct perf_reader *r, size_t from, size_t end,
                       struct hash128 *keys)
{
    for (size_t i = from; i < end && i < from + LINES_AT_ONCE; i++) {
        struct str text = str_trim_left(callers_line(&r->callers, i));
        keys[i - from] = hash_bytes128(text.ptr, text.len);
        memo_prefetch(&r->frames, keys[i - from]);
    }
}

/* Reads the callers' lines that are not cached. Their entries in the memo of frame
 * lines are prefetched in groups. False if one is not part of this stack: the rest of
 * the sample is then read line by line. */
static bool read_unknown_callers(struct perf_reader *r)
{
    struct callers *c = &r->callers;
    size_t unknown = callers_unknown(c);
    struct hash128 keys[LINES_AT_ONCE];
    r->only_frames = true;
    for (size_t i = 0; i < unknown; i++) {
        if (i % LINES_AT_ONCE == 0)
            hash_lines(r, i, unknown, keys);
        struct str line = callers_line(c, i);
        const uint64_t *frames =
            may_be_known(line) ? memo_find(&r->frames, keys[i % LINES_AT_ONCE]) : NULL;
        lines_skip(&r->lines, callers_line_size(c, i), 1);
        if (frames)
            add_frames(r, *frames);
        else
            read_line(r, line);
        if (!r->only_frames || !r->in_sample) /* a damaged header ends the sample */
            return false;
        c->frames_at[i] = r->b->path.count;
    }
    return c->line_count != 0;
}

/* After a header: reads the whole sample, using cached callers. Does nothing if the
 * sample is not complete in the window. */
static void read_whole_sample(struct perf_reader *r)
{
    struct source *in = r->lines.source;
    struct callers *c = &r->callers;
    struct str leaf, text = str_head(str_span(in->begin, in->end), CALLERS_MAX);
    size_t end = callers_scan(c, text), parsed = 0;
    stack_id stack;
    if (end == text.len || c->entry_lines < 2 || r->options->skip_after_count ||
        (r->options->lines && r->has_locations))
        return;
    r->only_frames = true;
    lines_next(&r->lines, &leaf);
    read_line(r, leaf);
    if (!r->only_frames || !r->in_sample || r->b->path.count == 0)
        return;
    size_t leaf_frames = r->b->path.count;
    if (!callers_find(c, 1, c->entry_lines, &stack)) {
        if (!read_unknown_callers(r))
            return;
        parsed = callers_unknown(c);
        perf_inlined_settle(&r->inlined, r->b, leaf_frames, r->b->path.count,
                            c->known_stack);
        stack = callers_learn(c, r->b, leaf_frames);
    }
    lines_skip(&r->lines, (size_t)(text.ptr + end + 1 - in->begin),
               c->entry_lines - parsed);
    finish_sample(r, stack, leaf_frames);
    hold_loose(r, STR("")); /* the empty line: a stack without a header may follow */
}

/* "# hostname : x" and similar lines, which perf script --header prints. */
static void read_comment(struct perf_reader *r, struct str line)
{
    struct facts *facts = &r->b->profile->facts;
    struct str rest = str_skip(line, 1), key = str_trim(str_cut(&rest, ':'));
    if (str_equal(key, STR("hostname")))
        facts->host = builder_string(r->b, str_trim(rest));
    else if (str_equal(key, STR("cmdline")))
        facts->command = builder_string(r->b, str_trim(rest));
}

/* Sets the location of the innermost frame of the path from an annotation. */
static void locate_frame(struct perf_reader *r, struct str text)
{
    struct frame_path *path = &r->b->path;
    struct str file;
    uint32_t line;
    if (!r->options->lines || path->count == 0 ||
        !perf_parse_location(text, &file, &line))
        return;
    struct frame f = r->b->profile->frames[path->items[path->count - 1]];
    f.file = builder_string(r->b, file);
    f.line = line;
    path->items[path->count - 1] = builder_frame(r->b, &f);
}

/* Newer versions of perf print "(inlined)" after the location, if they print
 * locations; sets *location to it. */
static bool is_inlined_location(struct str text, struct str *location)
{
    struct str end = STR(" (inlined)");
    text = str_trim_right(text);
    *location = str_head(text, text.len < end.len ? 0 : text.len - end.len);
    return str_ends(text, end) && perf_is_annotation(*location);
}

/* Marks the innermost frame as inlined, with that location. */
static void mark_inlined(struct perf_reader *r, struct str location)
{
    struct frame_path *path = &r->b->path;
    struct frame f = r->b->profile->frames[path->items[path->count - 1]];
    f.kind = FRAME_INLINED;
    f.module = 0;
    path->items[path->count - 1] = builder_frame(r->b, &f);
    r->inlined.any = true;
    r->only_frames = false;
    r->has_locations = true;
    locate_frame(r, location);
}

/* "|1105           operator++()": the text of a source line, of the field srccode. */
static bool is_source(struct str line)
{
    size_t digits = 0;
    struct str text = str_skip(line, 1);
    while (digits < text.len && byte_is_digit(text.ptr[digits]))
        digits++;
    return line.ptr[0] == '|' && digits &&
           (digits == text.len || text.ptr[digits] == ' ');
}

/* A whole sample in one line. If it is only a frame, it may be one of the stack of the last header. */
static bool start_flat(struct perf_reader *r, struct str line)
{
    struct perf_head head;
    if (!perf_find_flat_head(line, &head) ||
        (r->in_sample && !r->is_flat &&
         str_trim(str_span(line.ptr, head.frame.ptr)).len == 0))
        return false;
    end_sample(r);
    return start_sample(r, &head);
}

/* A line that is not cached as a frame. */
static void read_new_line(struct perf_reader *r, struct str line, struct str text)
{
    struct perf_frame_line frame;
    struct perf_head head;
    struct str location;
    bool indented = text.ptr != line.ptr, has_head = perf_find_head(text, &head);
    bool is_location = is_inlined_location(text, &location);
    if (has_head && head.sure) {
        end_sample(r);
        if (start_sample(r, &head))
            return;
    }
    if (is_location && r->in_sample && r->b->path.count) {
        mark_inlined(r, location);
        return;
    }
    if (start_flat(r, line))
        return;
    if (perf_parse_frame(text, &frame, indented && r->in_sample)) {
        if (r->in_sample) /* would be wrong after another frame */
            add_new_frame(r, text, &frame, !is_location);
        return; /* skips frames of a record that is not a sample */
    }
    if (has_head && !indented) {
        end_sample(r);
        if (start_sample(r, &head))
            return;
    }
    r->only_frames = false;
    if (perf_is_annotation(text) && (indented || r->in_sample)) {
        r->has_locations = true;
        locate_frame(r, text);
        return;
    }
    if (is_source(line))
        return;
    if (r->in_sample || !hold_loose(r, line))
        builder_warn(r->b, NEITHER, r->lines.number, (uint64_t)(text.ptr - line.ptr) + 1,
                     line);
}

static void read_line(struct perf_reader *r, struct str line)
{
    struct str text = str_trim_left(line);
    if (!r->in_sample && r->loose.is_there && perf_is_stack_line(line))
        start_loose(r);
    drop_loose(r);
    if (text.len == 0) {
        r->only_frames = false;
        end_sample(r);
        hold_loose(r, text);
    } else if (line.ptr[0] == '#') {
        read_comment(r, line);
    } else if (!r->in_sample || !may_be_known(line) || !add_known_frame(r, text)) {
        read_new_line(r, line, text);
    }
}

static bool perf_start(struct perf_reader *r, struct error *err)
{
    return (memo_init(&r->frames, &r->arena, 32768) &&
            callers_init(&r->callers, &r->arena) &&
            memo_init(&r->threads, &r->arena, 1024)) ||
           error_memory(err);
}

static bool perf_read(struct source *in, const struct import_options *options,
                      struct builder *b, struct error *err)
{
    struct perf_reader r = {.b = b, .options = options, .lines = lines_of(in, err)};
    struct str line = STR("");
    r.loose.is_there = true; /* empty, before the first line */
    bool ok = perf_start(&r, err);
    while (ok && !builder_failed(b) && lines_next(&r.lines, &line)) {
        bool was_in_sample = r.in_sample;
        read_line(&r, line);
        if (!was_in_sample && r.in_sample)
            read_whole_sample(&r);
    }
    if (r.in_sample && r.lines.cut) {
        builder_warn(b, "the input ends within a sample", r.lines.number, line.len, line);
        b->profile->facts.truncated++;
    }
    end_sample(&r);
    drop_loose(&r);
    builder_end_scratch(b, &r.arena);
    return ok && !r.lines.failed;
}

/* --- Probing and splitting ---------------------------------------------------------- */

/* How likely a line is a header: 0 not at all, 1 only "comm pid", 2 certain. */
static int header_likeness(struct str line)
{
    struct perf_head h;
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE};
    uint64_t period;
    if (!perf_find_head(str_trim_left(line), &h))
        return 0;
    struct str rest = perf_parse_fields(&s, h.rest, &period), word = str_word(&rest);
    if ((h.sure && s.time != TIME_NONE) ||
        (word.len > 1 && word.ptr[word.len - 1] == ':' && rest.len == 0))
        return 2;
    return word.len == 0 && !byte_is_space(line.ptr[0]);
}

/* Whether each line is a stack line, or is before one and may be a header; and there is a stack. */
static bool has_loose_headers(struct str head)
{
    bool before_stack = true, found = false;
    struct perf_head h;
    for (size_t lines = 0; head.len && lines < 400; lines++) {
        struct str line = str_cut(&head, '\n'), text = str_trim(line);
        bool is_stack = perf_is_stack_line(line);
        if (text.len && !is_stack && (!before_stack || !perf_find_loose_head(line, &h)))
            return false;
        found |= is_stack;
        before_stack = text.len == 0;
    }
    return found;
}

/* Indented tables begin with numbers, too. */
#define BARE_PC_LEAST 4

/* Whether each line is a sample, without a time. The last one may be incomplete. */
static bool is_flat_text(struct str head)
{
    size_t found = 0;
    struct perf_head h;
    while (head.len && found < 400) {
        struct str line = str_trim_right(str_cut(&head, '\n'));
        if (line.len == 0 || line.ptr[0] == '#' || (head.len == 0 && found))
            continue;
        if (!perf_find_flat_head(line, &h) || h.frame.len < BARE_PC_LEAST)
            return false;
        found++;
    }
    return found != 0;
}

static int perf_probe(struct str head)
{
    size_t headers = 0, likely = 0, frames = 0, others = 0;
    if (memchr(head.ptr, 0, head.len))
        return 0;
    if (has_loose_headers(head) || is_flat_text(head))
        return 60;
    for (size_t lines = 0; head.len && lines < 400; lines++) {
        struct str line = str_trim_right(str_cut(&head, '\n'));
        struct perf_frame_line frame;
        if (line.len == 0 || line.ptr[0] == '#')
            continue;
        int likeness = header_likeness(line);
        headers += likeness == 2;
        likely += likeness == 1;
        if (likeness)
            continue;
        if ((headers || likely) &&
            perf_parse_frame(line, &frame, byte_is_space(line.ptr[0])) &&
            (!frame.is_bare || frame.pc.len >= BARE_PC_LEAST))
            frames++;
        else if (!perf_is_annotation(line))
            others++;
    }
    if (headers == 0 && (frames == 0 || likely == 0))
        return 0;
    if (others > headers + likely + frames)
        return 0;
    return headers && frames ? 90 : 60;
}

static size_t perf_split(struct str bytes, size_t from)
{
    size_t at = from + scan_empty_line(str_skip(bytes, from));
    return at < bytes.len ? at + 1 : bytes.len;
}

const struct importer import_perf_script = {
    .name = "perf",
    .suffixes = "perf,script,stacks",
    .summary = "perf script text, perf 3 to 6",
    .probe = perf_probe,
    .read = perf_read,
    .split = perf_split,
};
