/* SPDX-License-Identifier: Apache-2.0 */
/* What `go tool pprof -raw` (and pprof -raw) prints:
 *
 *   Samples:
 *   samples/count cpu/nanoseconds
 *             1   10000000: 1 2 3
 *   Locations
 *        1: 0x42e507 M=1 runtime.push /go/src/runtime/mspanset.go:136 s=0
 *        2: 0x4238fa M=1 main.inlined /src/main.go:12 s=10
 *                main.caller /src/main.go:30 s=28
 *   Mappings
 *   1: 0x400000/0x4b2000/0x0 /bin/app BUILDID [FN]
 *
 * Stacks are printed leaf first and refer to locations that follow later in the text.
 * So the whole text is held in memory, and its sections are read from last to first:
 * mappings, locations, samples. A location's continuation lines are the callers it was
 * inlined into. */
#include "base/array.h"
#include "base/idmap.h"
#include "base/number.h"
#include "import/importer.h"
#include "model/sample_labels.h"

#define VALUES_MAX 16
#define VALUE_MAX 1e18

/* Samples refer to locations, and locations expand to inlined frames. This limits the
 * total number of expanded frames per byte of the text. Real profiles need less than
 * one. */
#define FRAMES_PER_BYTE 4

/* Lines with this indentation are labels of the preceding sample, or continuation
 * lines of a location. */
#define LABEL_INDENT 16
#define INLINE_INDENT 13

/* A location's frames are a range of the reader's frames: the index of the first in
 * the upper half of a number, their count in the lower half. */
#define RUN(first) ((uint64_t)(first) << 32)
#define RUN_FIRST(run) ((size_t)((run) >> 32))
#define RUN_COUNT(run) ((size_t)((run)&UINT32_MAX))

struct go_reader {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct idmap locations; /* to ranges of frames */
    struct idmap mappings;  /* to modules */
    frame_id *frames;       /* of the locations, leaf first */
    size_t frame_count, frame_cap;
    event_id events[VALUES_MAX];
    size_t event_count;
    label_id labels[LABELS_MAX]; /* of the current sample */
    size_t label_count;
    uint64_t line;      /* number of the current line */
    size_t frames_left; /* how many more frames samples may expand to */
};

/* --- Lines ----------------------------------------------------------------------- */

static struct str next_line(struct go_reader *r, struct str *rest)
{
    r->line++;
    return str_trim_right(str_cut(rest, '\n'));
}

static size_t indent_of(struct str line)
{
    return line.len - str_trim_left(line).len;
}

/* Removes "12:" from the start of *rest. */
static bool take_id(struct str *rest, uint64_t *id)
{
    struct str word = str_word(rest);
    return word.len > 1 && word.ptr[word.len - 1] == ':' &&
           number_parse_u64(str_head(word, word.len - 1), id);
}

/* --- Mappings -------------------------------------------------------------------- */

/* "1: 0x400000/0x4b2000/0x0 FILE BUILDID BITS"; the last three may be empty. */
static void read_mapping(struct go_reader *r, struct str line)
{
    struct str rest = line;
    uint64_t id;
    if (!take_id(&rest, &id)) {
        builder_warn(r->b, "not a mapping", r->line, 1, line);
        return;
    }
    str_word(&rest);
    rest = str_skip(rest, 1);
    uint64_t *module = idmap_put(&r->mappings, &r->arena, id);
    size_t bits = str_rfind(rest, ' ');
    if (bits < rest.len && str_starts(str_skip(rest, bits + 1), STR("[")))
        rest = str_head(rest, bits);
    size_t build = str_rfind(rest, ' ');
    struct str build_id = str_skip(rest, build + 1);
    if (module)
        *module = builder_module(r->b, str_trim(str_head(rest, build)), build_id);
}

/* --- Locations ------------------------------------------------------------------- */

/* A function and its location: "NAME FILE:LINE s=START(SYSTEMNAME)". */
struct location_text {
    struct str name, file;
    uint64_t line;
};

/* Where the file name begins, after the function name, which may contain spaces: at
 * the first word that looks like a path, otherwise at the last word. */
static size_t file_start(struct str s)
{
    for (size_t at = 0; at < s.len; at++) {
        at += str_find(str_skip(s, at), ' ');
        struct str word = str_skip(s, at + 1);
        bool drive = word.len > 2 && word.ptr[1] == ':' &&
                     (word.ptr[2] == '/' || word.ptr[2] == '\\');
        if (str_starts(word, STR("/")) || drive)
            return at;
    }
    return str_rfind(s, ' ');
}

/* Removes ":12" from the end of *s. */
static bool take_number(struct str *s, uint64_t *number)
{
    size_t colon = str_rfind(*s, ':');
    if (colon == s->len || !number_parse_u64(str_skip(*s, colon + 1), number))
        return false;
    *s = str_head(*s, colon);
    return true;
}

static void split_location(struct str text, struct location_text *p)
{
    size_t start = text.len;
    uint64_t column;
    *p = (struct location_text){.name = text, .file = STR("")};
    for (size_t at = 0; at < text.len; at++) {
        at += str_search(str_skip(text, at), STR(" s="));
        if (at + 3 < text.len && byte_is_digit(text.ptr[at + 3]))
            start = at;
    }
    if (start == text.len)
        return;
    struct str rest = str_head(text, start);
    if (!take_number(&rest, &p->line))
        return;
    column = p->line;
    if (!take_number(&rest, &p->line)) /* newer pprof versions also print a column */
        p->line = column;
    size_t file = file_start(rest);
    p->name = str_head(rest, file);
    p->file = str_skip(rest, file + 1);
}

static void add_frame(struct go_reader *r, uint64_t *run, struct frame *f,
                      struct str text)
{
    struct location_text location;
    split_location(text, &location);
    f->name = f->file = 0;
    f->line = 0;
    if (location.name.len && !str_equal(location.name, STR("??")))
        f->name = builder_string(r->b, location.name);
    if (r->options->lines && location.line <= UINT32_MAX) {
        f->file = builder_string(r->b, location.file);
        f->line = (uint32_t)location.line;
    }
    if (!ARRAY_RESERVE(&r->arena, r->frames, r->frame_cap, r->frame_count + 1) ||
        r->frame_count >= UINT32_MAX)
        return;
    r->frames[r->frame_count++] = builder_frame(r->b, f);
    (*run)++;
}

/* A frame with a continuation line after it is inlined. */
static void mark_inlined(struct go_reader *r)
{
    frame_id *last = &r->frames[r->frame_count - 1];
    struct frame f = r->b->profile->frames[*last];
    f.kind = FRAME_INLINED;
    *last = builder_frame(r->b, &f);
}

/* Removes "M=1 " and "[F] " (identical code of several functions) from the start of
 * *text. */
static module_id take_mapping(struct go_reader *r, struct str *text)
{
    const uint64_t *mapping = NULL;
    uint64_t id;
    if (str_starts(*text, STR("M=")) &&
        number_parse_u64(str_skip(str_word(text), 2), &id))
        mapping = idmap_find(&r->mappings, id);
    *text = str_trim(*text);
    if (str_starts(*text, STR("[F]")))
        *text = str_trim(str_skip(*text, 3));
    return mapping ? (module_id)*mapping : 0;
}

/* A location's first line: "1: 0x42e507 M=1 LOCATION". Returns its range of frames;
 * NULL if the line is not a location. *f receives what its frames have in common. */
static uint64_t *read_location(struct go_reader *r, struct str line, struct frame *f)
{
    struct str text = line;
    uint64_t id, address;
    if (!take_id(&text, &id) || !number_parse_hex(str_word(&text), &address)) {
        builder_warn(r->b, "not a location", r->line, 1, line);
        return NULL;
    }
    text = str_trim(text);
    *f = (struct frame){.module = take_mapping(r, &text)};
    if (r->options->every_address || (text.len == 0 && r->options->addresses))
        f->address = address;
    uint64_t *run = idmap_put(&r->locations, &r->arena, id);
    if (run) {
        *run = RUN(r->frame_count);
        add_frame(r, run, f, text);
    }
    return run;
}

static void read_locations(struct go_reader *r, struct str rest)
{
    uint64_t *run = NULL;
    struct frame common = {.name = 0};
    while (rest.len && !builder_failed(r->b)) {
        struct str line = next_line(r, &rest);
        if (line.len == 0)
            continue;
        if (run && RUN_COUNT(*run) && indent_of(line) >= INLINE_INDENT) {
            mark_inlined(r);
            add_frame(r, run, &common, str_trim(line));
        } else {
            run = read_location(r, line, &common);
        }
    }
}

/* --- Samples --------------------------------------------------------------------- */

static enum unit unit_of(struct str name)
{
    if (str_equal(name, STR("nanoseconds")))
        return UNIT_NANOSECONDS;
    return str_equal(name, STR("bytes")) ? UNIT_BYTES : UNIT_COUNT;
}

/* "alloc_objects/count inuse_space/bytes[dflt]": one event per word. The default event
 * comes first. */
static void read_types(struct go_reader *r, struct str line)
{
    for (int pass = 0; pass < 2; pass++) {
        struct str rest = line;
        r->event_count = 0;
        while (r->event_count < VALUES_MAX) {
            struct str word = str_word(&rest);
            bool is_default = str_ends(word, STR("[dflt]"));
            if (word.len == 0)
                break;
            if (is_default)
                word.len -= 6;
            struct str unit = word, name = str_cut(&unit, '/');
            if (pass || is_default)
                r->events[r->event_count] = builder_event(
                    r->b, name, r->options->samples ? UNIT_COUNT : unit_of(unit));
            r->event_count++;
        }
    }
}

static bool parse_values(struct str text, double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!number_parse_double(str_word(&text), &values[i]))
            return false;
    return str_trim(text).len == 0;
}

static stack_id stack_of(struct go_reader *r, struct str ids)
{
    builder_path_clear(r->b);
    for (struct str word = str_word(&ids); word.len; word = str_word(&ids)) {
        uint64_t id;
        const uint64_t *run =
            number_parse_u64(word, &id) ? idmap_find(&r->locations, id) : NULL;
        if (!run) {
            builder_warn(r->b, "a sample with a location that is not listed", r->line, 1,
                         word);
            continue;
        }
        if (RUN_COUNT(*run) > r->frames_left) {
            builder_warn(r->b,
                         "a stack that expands to too many inlined frames, truncated",
                         r->line, 1, word);
            break;
        }
        r->frames_left -= RUN_COUNT(*run);
        for (size_t i = 0; i < RUN_COUNT(*run); i++)
            builder_path_add(r->b, r->frames[RUN_FIRST(*run) + i]);
    }
    return builder_path_from_leaf(r->b);
}

static bool parse_integer(struct str text, int64_t *out)
{
    bool is_negative = str_starts(text, STR("-"));
    uint64_t number;
    if (!number_parse_u64(str_skip(text, is_negative), &number) || number > INT64_MAX)
        return false;
    *out = is_negative ? -(int64_t)number : (int64_t)number;
    return true;
}

/* Whether these are numbers, each with or without a unit: "4096 bytes 3". */
static bool are_numbers(struct str values)
{
    bool after_number = false;
    for (struct str word = str_word(&values); word.len; word = str_word(&values)) {
        int64_t number;
        bool is_number = parse_integer(word, &number);
        if (!is_number && !after_number)
            return false;
        after_number = is_number;
    }
    return true;
}

static void add_label(struct go_reader *r, label_id label)
{
    if (r->label_count < LABELS_MAX)
        r->labels[r->label_count++] = label;
    else
        builder_warn(r->b, TOO_MANY_LABELS, r->line, 1, STR(""));
}

/* The values of a key. Texts are separated by spaces, which they may contain, so they are
 * one label. */
static void add_labels(struct go_reader *r, struct str key, struct str values)
{
    if (values.len == 0 || !are_numbers(values)) {
        add_label(r, builder_label_text(r->b, key, values));
        return;
    }
    struct str word = str_word(&values);
    while (word.len) {
        int64_t number = 0, ignored;
        parse_integer(word, &number);
        struct str unit = word = str_word(&values);
        if (parse_integer(word, &ignored))
            unit = STR("");
        else
            word = str_word(&values);
        add_label(r, builder_label_number(r->b, key, number, unit));
    }
}

/* "request:[a b] thread:[io pool]", or the same with numbers: "bytes:[4096 bytes]". A value
 * ends at the last bracket before the next key, so it may contain brackets. */
static void read_labels(struct go_reader *r, struct str line)
{
    struct str rest = str_trim(line);
    size_t at = str_search(rest, STR(":["));
    while (at < rest.len) {
        struct str key = str_trim(str_head(rest, at)), values;
        rest = str_skip(rest, at + 2);
        at = str_search(rest, STR(":["));
        size_t end = str_rfind(str_head(rest, at), ']');
        if (end >= at)
            break;
        values = str_head(rest, end);
        rest = str_skip(rest, end + 1);
        at -= end + 1;
        add_labels(r, key, values);
    }
    if (str_trim(rest).len)
        builder_warn(r->b, "not labels", r->line, 1, line);
}

/* Reads the lines of labels that follow. */
static label_set_id take_labels(struct go_reader *r, struct str *rest)
{
    r->label_count = 0;
    for (;;) {
        struct str after = *rest, line = str_trim_right(str_cut(&after, '\n'));
        if (line.len == 0 || indent_of(line) < LABEL_INDENT)
            return builder_label_set(r->b, r->labels, r->label_count);
        r->line++;
        read_labels(r, line);
        *rest = after;
    }
}

/* `following` is the text after the line, which may begin with labels. */
static void read_sample(struct go_reader *r, struct str line, struct str *following)
{
    struct str rest = line, numbers = str_cut(&rest, ':');
    double values[VALUES_MAX];
    if (!parse_values(numbers, values, r->event_count)) {
        builder_warn(r->b, "not a sample: its values are missing or are not numbers",
                     r->line, 1, line);
        return;
    }
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE, .count = 1};
    bool first = true;
    s.stack = stack_of(r, rest);
    uint64_t number = r->line;
    label_set_id labels = take_labels(r, following);
    for (size_t i = 0; i < r->event_count; i++) {
        if (values[i] < 0 || values[i] > VALUE_MAX)
            builder_warn(r->b, "a value that is negative or too large", number, 1, line);
        else if (values[i] > 0) {
            s.event = r->events[i];
            s.weight = r->options->samples ? 1 : values[i];
            (first ? builder_add_labelled : builder_add_mapped_labelled)(r->b, &s,
                                                                         labels);
            first = false;
        }
    }
}

static void read_samples(struct go_reader *r, struct str rest)
{
    while (rest.len && !builder_failed(r->b)) {
        struct str line = next_line(r, &rest);
        if (line.len == 0 || indent_of(line) >= LABEL_INDENT)
            continue;
        if (r->event_count == 0)
            read_types(r, line);
        else
            read_sample(r, line, &rest);
    }
}

/* --- The text -------------------------------------------------------------------- */

/* The sections of the text, each with the number of the line before its first. */
struct part {
    struct str text;
    uint64_t line;
};

enum part_kind { PART_HEAD, PART_SAMPLES, PART_LOCATIONS, PART_MAPPINGS, PART_COUNT };

static void split_parts(struct go_reader *r, struct str all, struct part *parts)
{
    static const char *const titles[] = {"", "Samples:", "Locations", "Mappings"};
    struct str rest = all;
    size_t kind = PART_HEAD;
    for (size_t i = 0; i < PART_COUNT; i++)
        parts[i] = (struct part){.text = STR("")};
    parts[PART_HEAD].text = str_head(all, 0);
    while (rest.len) {
        struct str line = next_line(r, &rest);
        for (size_t i = kind + 1; i < PART_COUNT; i++) {
            if (!str_equal(line, str_of(titles[i])))
                continue;
            kind = i;
            parts[kind] = (struct part){str_head(rest, 0), r->line};
        }
        parts[kind].text = str_span(parts[kind].text.ptr, rest.ptr);
    }
}

/* "Period: 10000000" of "PeriodType: cpu nanoseconds". */
static void read_head(struct go_reader *r, struct str rest)
{
    bool in_time = false;
    while (rest.len) {
        struct str line = str_trim_right(str_cut(&rest, '\n'));
        uint64_t period;
        if (str_starts(line, STR("PeriodType:")))
            in_time = str_ends(line, STR(" nanoseconds"));
        else if (in_time && str_starts(line, STR("Period:")) &&
                 number_parse_u64(str_trim(str_skip(line, 7)), &period) && period)
            r->b->profile->facts.rate = 1e9 / (double)period;
    }
}

static void read_parts(struct go_reader *r, const struct part *parts)
{
    struct str rest = parts[PART_MAPPINGS].text;
    read_head(r, parts[PART_HEAD].text);
    r->line = parts[PART_MAPPINGS].line;
    while (rest.len && !builder_failed(r->b)) {
        struct str line = next_line(r, &rest);
        if (line.len)
            read_mapping(r, line);
    }
    r->line = parts[PART_LOCATIONS].line;
    read_locations(r, parts[PART_LOCATIONS].text);
    r->line = parts[PART_SAMPLES].line;
    read_samples(r, parts[PART_SAMPLES].text);
}

static bool go_read(struct source *in, const struct import_options *options,
                    struct builder *b, struct error *err)
{
    struct go_reader r = {.b = b, .options = options};
    struct part parts[PART_COUNT];
    struct str all;
    if (!source_all(in, &all, err))
        return false;
    r.frames_left = all.len * FRAMES_PER_BYTE;
    split_parts(&r, all, parts);
    read_parts(&r, parts);
    builder_end_scratch(b, &r.arena);
    return true;
}

/* "samples/count cpu/nanoseconds": only words with a slash. */
static bool are_types(struct str line)
{
    struct str rest = line, word = str_word(&rest);
    bool good = word.len != 0;
    for (; word.len; word = str_word(&rest))
        good &= str_find(word, '/') < word.len;
    return good;
}

static int go_probe(struct str head)
{
    bool period = false;
    for (int i = 0; i < 200 && head.len; i++) {
        struct str line = str_trim_right(str_cut(&head, '\n'));
        period |=
            str_starts(line, STR("Period: ")) || str_starts(line, STR("PeriodType:"));
        if (!str_equal(line, STR("Samples:")))
            continue;
        bool types = are_types(str_trim_right(str_cut(&head, '\n')));
        return types ? period ? 95 : 80 : 0;
    }
    return 0;
}

const struct importer import_go = {
    .name = "go",
    .suffixes = "raw,txt",
    .summary = "pprof -raw text, from Go and others",
    .probe = go_probe,
    .read = go_read,
};
