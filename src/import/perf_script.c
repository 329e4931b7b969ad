/* perf script text, as perf 3 to 6 print it.
 *
 * A sample is a header line, frame lines from the leaf outwards, and an empty line:
 *
 *   comm  pid/tid [cpu] time: period event: rest
 *           pc symbol+0xoffset (module)
 *
 * cpu, time, period and event may be missing, as may the stack: the frame then stands at
 * the end of the header line. A comm may hold spaces and digits. Newer perfs add lines
 * for inlined functions, with "(inlined)" for a module, and source lines between the
 * frames.
 *
 * Profiles repeat themselves, so the text of a leaf's callers is looked up as a whole
 * first, by its hash, and each frame line of those not met before by its own. */
#include "base/memo.h"
#include "base/number.h"
#include "base/scan.h"
#include "import/callers.h"
#include "import/importer.h"
#include "model/name.h"

/* Callers whose text is longer than this are read line by line. */
#define CALLERS_MAX ((size_t)32 << 10)

/* What a frame line stands for: nothing, one frame, or a run of r->links. */
#define FRAMES_NONE UINT64_MAX
#define FRAMES_ONE(frame) ((uint64_t)(frame))
#define FRAMES_MANY(at, count) ((uint64_t)(count) << 32 | (uint64_t)(at))

struct perf_reader {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct lines lines;
    struct memo frames; /* frame lines */
    struct callers callers;
    struct memo threads; /* "comm pid/tid" */
    frame_id *links;     /* leaf first */
    size_t link_count, link_cap;
    struct sample sample; /* under way, its frames in the builder's path */
    bool in_sample;
    bool only_frames;      /* cleared by a line that was not a frame's */
    frame_id header_frame; /* the frame at the end of the header line, or 0 */
    struct str event_name; /* of the last sample, to save the look-up */
    event_id event;
};

static void read_line(struct perf_reader *r, struct str line);

/* --- Frame lines -------------------------------------------------------------------- */

/* "pc symbol+0x1f (module)", taken apart; symbol may be empty. */
struct frame_line {
    struct str pc, symbol, module;
};

/* Where the last bracketed run of the line opens, its brackets balanced where they can
 * be: "x (/tmp/a (deleted))" opens at "/tmp". s.len where the line ends with none. */
static size_t module_start(struct str s)
{
    size_t depth = 0, last = s.len;
    if (s.len == 0 || s.ptr[s.len - 1] != ')')
        return s.len;
    for (size_t i = s.len; i-- > 0;) {
        if (s.ptr[i] == ')')
            depth++;
        if (s.ptr[i] != '(')
            continue;
        bool starts_word = i == 0 || s.ptr[i - 1] == ' ';
        if (starts_word && last == s.len)
            last = i;
        if (--depth == 0 && starts_word)
            return i;
        if (depth == 0)
            break;
    }
    return last;
}

static bool is_hex(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!byte_is_hex(s.ptr[i]))
            return false;
    return s.len != 0;
}

/* False where the line is no frame's. With `bare`, the module may be missing (perf script
 * -F ip,sym) and the pc must be as long as addresses are printed. */
static bool parse_frame(struct str line, struct frame_line *f, bool bare)
{
    struct str rest = str_trim(line);
    size_t open = module_start(rest);
    if (open == rest.len && !bare)
        return false;
    f->module = STR("[unknown]");
    if (open < rest.len)
        f->module = str_skip(str_head(rest, rest.len - 1), open + 1);
    struct str symbol = str_trim_right(str_head(rest, open));
    rest = symbol;
    f->pc = str_word(&rest);
    if (is_hex(f->pc)) {
        f->symbol = str_trim(rest);
        return open < line.len || f->symbol.len;
    }
    f->pc = STR(""); /* only inlined frames may have none */
    f->symbol = symbol;
    return str_equal(f->module, STR("inlined")) && symbol.len;
}

static frame_id make_frame(struct perf_reader *r, const struct frame_line *line,
                           struct str symbol, bool inlined)
{
    inlined |= str_equal(line->module, STR("inlined"));
    struct frame f = {.kind = inlined ? FRAME_INLINED : module_kind(line->module)};
    bool unknown = str_equal(symbol, STR("[unknown]"));
    if (symbol.len == 0) /* a symbol without a name, which every folder shows as this */
        f.name = builder_string(r->b, STR(" "));
    else if (!unknown)
        f.name =
            builder_string(r->b, r->options->signatures ? symbol : name_tidy(symbol));
    if (!str_equal(line->module, STR("[unknown]")) && f.kind != FRAME_INLINED)
        f.module = builder_module(r->b, line->module, STR(""));
    if (r->options->every_address || (unknown && r->options->addresses))
        number_parse_hex(line->pc, &f.address);
    return builder_frame(r->b, &f);
}

static void add_link(struct perf_reader *r, frame_id frame)
{
    frame_id *links =
        arena_grow(&r->arena, r->links, &r->link_cap, r->link_count + 1, sizeof *links);
    if (!links)
        return;
    r->links = links;
    links[r->link_count++] = frame;
}

/* The frames of a chain "a->b->c", which comes outermost first, into r->links. */
static uint64_t make_frames(struct perf_reader *r, const struct frame_line *line)
{
    struct str rest = name_without_offset(line->symbol);
    if (rest.len && rest.ptr[0] == '(') /* a process's name, not a function's */
        return FRAMES_NONE;
    struct str link = name_next_link(&rest);
    if (rest.len == 0)
        return FRAMES_ONE(make_frame(r, line, link, false));
    size_t from = r->link_count, to;
    for (bool inlined = false;; inlined = true, link = name_next_link(&rest)) {
        add_link(r, make_frame(r, line, link, inlined));
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

/* Adds the frames of a line met before to the path; false where it was not. */
static bool add_known_frame(struct perf_reader *r, struct str line)
{
    const uint64_t *known = memo_find(&r->frames, hash_bytes128(line.ptr, line.len));
    if (known)
        add_frames(r, *known);
    return known != NULL;
}

static void add_new_frame(struct perf_reader *r, struct str line,
                          const struct frame_line *parsed)
{
    uint64_t frames = make_frames(r, parsed);
    memo_put(&r->frames, hash_bytes128(line.ptr, line.len), frames);
    add_frames(r, frames);
}

/* A line between the frames that tells where the last one is: "file.c:12" or, without
 * line data, "libc.so[27249]". Those of the branch stack are passed over like them. */
static bool is_annotation(struct str line)
{
    struct str text = str_trim(line), left = text, pc = str_word(&left);
    size_t colon = str_rfind(text, ':'), open = str_rfind(text, '[');
    uint64_t number;
    if (str_starts(text, STR("0x")) || str_ends(text, STR(":?")))
        return true;
    if (open < text.len && text.ptr[text.len - 1] == ']' &&
        is_hex(str_head(str_skip(text, open + 1), text.len - open - 2)))
        return true;
    if (is_hex(pc) && left.len == 0) /* an address without a symbol (-F ip) */
        return true;
    return colon < text.len && number_parse_u64(str_skip(text, colon + 1), &number);
}

/* --- Header lines ------------------------------------------------------------------- */

static bool is_number(struct str s)
{
    uint64_t v;
    return number_parse_u64(s, &v);
}

/* "12", "12/34" or "-1": a process's or thread's number. */
static bool is_id(struct str word)
{
    struct str first = str_cut(&word, '/');
    if (str_equal(first, STR("-1")))
        return word.len == 0 || str_equal(word, STR("-1"));
    return is_number(first) && (word.len == 0 || is_number(word));
}

static bool is_cpu(struct str word)
{
    return word.len > 2 && word.ptr[0] == '[' && word.ptr[word.len - 1] == ']' &&
           is_number(str_head(str_skip(word, 1), word.len - 2));
}

/* "123.456789:" to nanoseconds. */
static bool parse_time(struct str word, uint64_t *time)
{
    if (word.len < 4 || word.ptr[word.len - 1] != ':')
        return false;
    word.len--;
    struct str seconds = str_cut(&word, '.');
    uint64_t s, fraction;
    if (!number_parse_u64(seconds, &s) || !number_parse_u64(word, &fraction) ||
        word.len > 9 || s > UINT64_MAX / 1000000000 - 1)
        return false;
    for (size_t i = word.len; i < 9; i++)
        fraction *= 10;
    *time = s * 1000000000 + fraction;
    return true;
}

/* A header line's beginning, taken apart. */
struct head {
    struct str comm, id, rest;
    bool sure; /* a cpu or a time follows the id: no frame line looks like that */
};

/* Finds where the comm ends: at the first number that a cpu or a time follows, or else at
 * the first number of all. False where there is none. */
static bool find_head(struct str line, struct head *h)
{
    struct str left = line;
    uint64_t time;
    *h = (struct head){.id = STR("")};
    while (left.len && !h->sure) {
        struct str before = str_trim(str_span(line.ptr, left.ptr));
        struct str word = str_word(&left);
        if (!is_id(word))
            continue;
        struct str peek = left, next = str_word(&peek);
        h->sure = is_cpu(next) || parse_time(next, &time);
        if (h->sure || (h->id.len == 0 && before.len)) {
            h->id = word;
            h->comm = before;
            h->rest = left;
        }
    }
    return h->id.len != 0;
}

static int64_t id_number(struct str word)
{
    uint64_t v;
    return number_parse_u64(word, &v) && v <= INT64_MAX ? (int64_t)v : ID_NONE;
}

static thread_id thread_of(struct perf_reader *r, struct str comm, struct str id)
{
    struct str text = str_span(comm.ptr, id.ptr + id.len);
    struct hash128 key = hash_bytes128(text.ptr, text.len);
    const uint64_t *known = memo_find(&r->threads, key);
    if (known)
        return (thread_id)*known;
    struct str second = id, first = str_cut(&second, '/');
    int64_t pid = second.len ? id_number(first) : ID_NONE;
    int64_t tid = id_number(second.len ? second : first);
    thread_id thread = builder_thread(r->b, pid, tid, comm);
    memo_put(&r->threads, key, thread);
    return thread;
}

static enum unit event_unit(struct str name, bool has_period)
{
    if (!has_period)
        return UNIT_COUNT;
    if (str_starts(name, STR("cpu-clock")) || str_starts(name, STR("task-clock")))
        return UNIT_NANOSECONDS;
    return str_starts(name, STR("cycles")) ? UNIT_CYCLES : UNIT_COUNT;
}

static event_id event_of(struct perf_reader *r, struct str name, bool has_period)
{
    if (r->event && str_equal(name, r->event_name))
        return r->event;
    r->event = builder_event(r->b, name, event_unit(name, has_period));
    r->event_name = profile_string(r->b->profile, r->b->profile->events[r->event].name);
    return r->event;
}

/* What stands between the id and the event: cpu, flags, time, period. */
static struct str parse_fields(struct sample *s, struct str rest, uint64_t *period)
{
    uint64_t cpu;
    *period = 0;
    for (struct str left = rest; left.len; rest = left) {
        struct str word = str_word(&left);
        if (is_cpu(word)) {
            number_parse_u64(str_head(str_skip(word, 1), word.len - 2), &cpu);
            s->cpu = cpu < CPU_NONE ? (uint32_t)cpu : CPU_NONE;
        } else if (parse_time(word, &s->time)) {
            continue;
        } else if (!number_parse_u64(word, period)) {
            bool flags = s->time == TIME_NONE && s->cpu != CPU_NONE && word.len &&
                         word.ptr[word.len - 1] != ':';
            if (!flags)
                break;
        }
    }
    return rest;
}

/* What stands behind the event: a frame, where perf prints no stacks, or a tracepoint's
 * fields. Lost events are perf's own records. */
static bool parse_rest(struct perf_reader *r, struct str rest)
{
    struct frame_line line;
    uint64_t lost;
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
    if (parse_frame(rest, &line, false) && line.pc.len >= 3)
        r->header_frame = make_frame(r, &line, name_without_offset(line.symbol), false);
    return true;
}

/* Begins a sample with the header line. False, with nothing changed, where the line has
 * neither a time nor an event and so is no header. */
static bool start_sample(struct perf_reader *r, const struct head *h)
{
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE, .count = 1};
    uint64_t period;
    struct str rest = parse_fields(&s, h->rest, &period), left = rest;
    struct str word = str_word(&left);
    bool is_record = str_starts(word, STR("PERF_RECORD_"));
    bool is_event = !is_record && word.len > 1 && word.ptr[word.len - 1] == ':';
    if (!is_event && s.time == TIME_NONE && word.len)
        return false;
    if (!is_record)
        s.event = event_of(r, is_event ? str_head(word, word.len - 1) : STR("samples"),
                           period != 0);
    s.thread = thread_of(r, h->comm, h->id);
    s.weight = r->options->samples || !period ? 1 : (double)period;
    r->sample = s;
    r->in_sample = parse_rest(r, is_event ? left : rest);
    r->only_frames = false;
    builder_path_clear(r->b);
    return true;
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

/* The sample is done: its leaf's frames, in the path up to `leaf_frames`, go on top of
 * its callers' stack. */
static void finish_sample(struct perf_reader *r, stack_id callers, size_t leaf_frames)
{
    struct frame_path *path = &r->b->path;
    path->count = leaf_frames;
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
    skip_callers(r);
    finish_sample(r, 0, r->b->path.count);
}

/* Reads the callers' lines that are not known by their text. False where one was not of
 * this stack: the sample is then read on line by line. */
static bool read_unknown_callers(struct perf_reader *r)
{
    struct callers *c = &r->callers;
    size_t unknown = callers_unknown(c);
    struct str line;
    r->only_frames = true;
    for (size_t i = 0; i < unknown; i++) {
        if (!lines_next(&r->lines, &line))
            return false;
        read_line(r, line);
        if (!r->only_frames)
            return false;
        c->frames_at[i] = r->b->path.count;
    }
    return c->line_count != 0;
}

/* Behind a header: reads the sample as a whole, its callers by their text as far as it is
 * known. Only a sample that lies in the window to its end is; others are left alone. */
static void read_whole_sample(struct perf_reader *r)
{
    struct source *in = r->lines.source;
    struct str leaf, text = str_head(str_span(in->begin, in->end), CALLERS_MAX);
    size_t end = scan_empty_line(text), first = str_find(text, '\n') + 1, lines;
    stack_id stack;
    if (end == text.len || end <= first || r->options->skip_after_count)
        return;
    struct str callers = str_head(str_skip(text, first), end - first);
    r->only_frames = true;
    lines_next(&r->lines, &leaf);
    read_line(r, leaf);
    if (!r->only_frames || r->b->path.count == 0)
        return;
    size_t leaf_frames = r->b->path.count;
    if (!callers_find(&r->callers, callers, &stack, &lines)) {
        if (!read_unknown_callers(r))
            return;
        lines = r->callers.line_count - callers_unknown(&r->callers);
        stack = callers_learn(&r->callers, r->b, leaf_frames);
    }
    size_t rest = (size_t)(callers.ptr + callers.len - in->begin);
    lines_skip(&r->lines, rest + 1, lines + 1);
    finish_sample(r, stack, leaf_frames);
}

/* "# hostname : x" and its like, which perf script --header prints. */
static void read_comment(struct perf_reader *r, struct str line)
{
    struct facts *facts = &r->b->profile->facts;
    struct str rest = str_skip(line, 1), key = str_trim(str_cut(&rest, ':'));
    if (str_equal(key, STR("hostname")))
        facts->host = builder_string(r->b, str_trim(rest));
    else if (str_equal(key, STR("cmdline")))
        facts->command = builder_string(r->b, str_trim(rest));
}

/* A line that was not met before as a frame's. */
static void read_new_line(struct perf_reader *r, struct str line, struct str text)
{
    struct frame_line frame;
    struct head head;
    bool indented = text.ptr != line.ptr, has_head = find_head(text, &head);
    if (has_head && head.sure) {
        end_sample(r);
        if (start_sample(r, &head))
            return;
    }
    if (parse_frame(text, &frame, indented && r->in_sample)) {
        if (r->in_sample)
            add_new_frame(r, text, &frame);
        return; /* frames of a record that is no sample are passed over */
    }
    if (has_head && !indented) {
        end_sample(r);
        if (start_sample(r, &head))
            return;
    }
    r->only_frames = false;
    if (!is_annotation(text))
        builder_warn(r->b, "neither a sample's header nor a frame", r->lines.number,
                     (uint64_t)(text.ptr - line.ptr) + 1, line);
}

static void read_line(struct perf_reader *r, struct str line)
{
    struct str text = str_trim_left(line);
    if (text.len == 0) {
        r->only_frames = false;
        end_sample(r);
    } else if (line.ptr[0] == '#') {
        read_comment(r, line);
    } else if (!r->in_sample || !add_known_frame(r, text)) {
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
    struct str line;
    bool ok = perf_start(&r, err);
    while (ok && !builder_failed(b) && lines_next(&r.lines, &line)) {
        bool was_in_sample = r.in_sample;
        read_line(&r, line);
        if (!was_in_sample && r.in_sample)
            read_whole_sample(&r);
    }
    end_sample(&r);
    b->profile->arena.failed |= r.arena.failed;
    arena_deinit(&r.arena);
    return ok && !r.lines.failed;
}

/* --- Probing and splitting ---------------------------------------------------------- */

/* How much a line looks like a header: 0 not at all, 1 "comm pid" alone, 2 surely. */
static int header_likeness(struct str line)
{
    struct head h;
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE};
    uint64_t period;
    if (!find_head(str_trim_left(line), &h))
        return 0;
    struct str rest = parse_fields(&s, h.rest, &period), word = str_word(&rest);
    if ((h.sure && s.time != TIME_NONE) ||
        (word.len > 1 && word.ptr[word.len - 1] == ':' && rest.len == 0))
        return 2;
    return word.len == 0 && !byte_is_space(line.ptr[0]);
}

static int perf_probe(struct str head)
{
    size_t headers = 0, likely = 0, frames = 0, others = 0;
    if (memchr(head.ptr, 0, head.len))
        return 0;
    for (size_t lines = 0; head.len && lines < 400; lines++) {
        struct str line = str_trim_right(str_cut(&head, '\n'));
        struct frame_line frame;
        if (line.len == 0 || line.ptr[0] == '#')
            continue;
        int likeness = header_likeness(line);
        headers += likeness == 2;
        likely += likeness == 1;
        if (likeness)
            continue;
        if ((headers || likely) && parse_frame(line, &frame, byte_is_space(line.ptr[0])))
            frames++;
        else if (!is_annotation(line))
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
