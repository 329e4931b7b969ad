/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of Very Sleepy, a sampling profiler for Windows: a zip of text files.
 *
 *   Stats.txt        Filename: C:\prog.exe         or "?"
 *   Symbols.txt      sym1 "val3" "main" "C:\val3.c" 55     up to version 0.82
 *                    0x401590 "val3" "main" "C:\val3.c" 51 later: a row per address
 *   IPCounts.txt     14.379314                     the total, in seconds
 *   Callstacks.txt   0.074062 sym1 sym3            seconds, and the stack, leaf first
 *                    0.074062 0x401590 0x4015a5    the same of version 0.90
 *                     0x401590 0x4015a5            the same of newer versions: a stack,
 *                     4711 0.05 4712 0.024         then each thread and its seconds
 *
 * Seconds have 6 decimals; weights are whole nanoseconds, so that sums are exact. */
#include "base/bytes.h"
#include "base/idmap.h"
#include "base/number.h"
#include "codec/encoding.h"
#include "codec/unpack.h"
#include "codec/zip.h"
#include "import/stacktext.h"
#include "import/stated.h"
#include <math.h>

#define SECONDS_MAX 1e9
#define ROUNDING 0.5e-6 /* the largest error of a printed number of seconds */

enum { STATS, SYMBOLS, IP_COUNTS, CALLSTACKS, SLEEPY_FILES };

static const char *const file_names[SLEEPY_FILES] = {"stats.txt", "symbols.txt",
                                                     "ipcounts.txt", "callstacks.txt"};

struct sleepy_reader {
    struct builder *b;
    struct stacktext text; /* makes frames */
    const struct limits *limits;
    struct arena arena;
    struct str files[SLEEPY_FILES];
    bool found[SLEEPY_FILES];
    bool cut[SLEEPY_FILES]; /* the end is missing */
    uint64_t packed, unpacked;
    struct idmap numbered, addressed; /* by number or address of a symbol: frame + 1 */
    event_id event;
    stack_id stack; /* of the last line with a stack but without a time */
    bool has_stack;
    double sum;
    uint64_t samples; /* in Callstacks.txt */
};

/* --- Files ----------------------------------------------------------------------- */

static void damaged_file(struct sleepy_reader *r, const struct zip_file *f, size_t file)
{
    r->cut[file] = r->b->profile->facts.incomplete = true;
    builder_warn(r->b, "a file of the capture is truncated or damaged: its rest is lost",
                 0, 0, f->path);
}

/* What can be unpacked of the file; with a warning if that is not everything. */
static struct str unpack_file(struct sleepy_reader *r, const struct zip_file *f,
                              size_t file)
{
    uint64_t size = f->size == ZIP_SIZE_UNKNOWN ? UNPACK_SIZE_UNKNOWN : f->size;
    struct str text = STR("");
    if (f->method == ZIP_STORED) {
        if (f->packed.len != size)
            damaged_file(r, f, file);
        return f->packed;
    }
    if (f->method != ZIP_DEFLATED) {
        builder_warn(r->b, "a file of the capture is compressed with an unknown method",
                     0, 0, f->path);
        return text;
    }
    if (unpack(PACK_DEFLATE, f->packed, size, r->limits, &r->arena, &text, NULL))
        return text;
    damaged_file(r, f, file);
    uint64_t most = f->packed.len * r->limits->block_ratio;
    if (most > r->limits->unpacked)
        most = r->limits->unpacked;
    unpack_part(f->packed, (size_t)(size < most ? size : most), &r->arena, &text);
    return text;
}

/* Unpacks the file if it is one of those that are read. */
static void take_file(struct sleepy_reader *r, const struct zip_file *f)
{
    for (size_t i = 0; i < SLEEPY_FILES; i++) {
        if (r->found[i] || !zip_path_is(f->path, str_of(file_names[i])))
            continue;
        r->found[i] = true;
        r->packed += f->packed.len;
        r->unpacked += f->size == ZIP_SIZE_UNKNOWN ? 0 : f->size;
        if (limits_exceeded(r->limits, r->packed, r->unpacked))
            builder_warn(r->b,
                         "a file of the capture exceeds the limit for decompressed "
                         "data, skipped; --limits x8 raises it",
                         0, 0, f->path);
        else
            r->files[i] = unpack_file(r, f, i);
    }
}

static bool take_files(struct sleepy_reader *r, struct str all, struct error *err)
{
    struct zip zip;
    struct zip_file f;
    if (!zip_init(&zip, all)) {
        builder_warn(r->b, "the zip archive is truncated: its directory is missing", 0, 0,
                     STR(""));
        r->b->profile->facts.incomplete = true;
        zip_scan(&zip, all);
    }
    while (zip_next(&zip, &f))
        take_file(r, &f);
    if (r->found[CALLSTACKS])
        return true;
    error_set(err, "this capture of Very Sleepy has no Callstacks.txt");
    return error_hint(err, "copy the file again, or save the capture again");
}

/* The next whole line. */
static bool next_line(const struct sleepy_reader *r, struct lines *lines, size_t file,
                      struct str *line)
{
    return !builder_failed(r->b) && lines_next(lines, line) &&
           !(lines->cut && r->cut[file]);
}

static struct lines lines_in(struct sleepy_reader *r, struct source *s, size_t file,
                             struct error *err)
{
    *s = source_of(r->files[file], str_of(file_names[file]));
    s->limits = r->limits;
    return lines_of(s, err);
}

/* --- Symbols --------------------------------------------------------------------- */

/* "sym12" or "0x401590": the entry of a symbol, with its number in *number. */
static struct idmap *symbol_table(struct sleepy_reader *r, struct str id,
                                  uint64_t *number)
{
    if (str_starts(id, STR("sym")))
        return number_parse_u64(str_skip(id, 3), number) ? &r->numbered : NULL;
    return number_parse_hex(id, number) ? &r->addressed : NULL;
}

/* Removes a quoted text from the end of *rest. */
static bool take_last_quoted(struct str *rest, struct str *out)
{
    struct str s = str_trim_right(*rest);
    if (!str_ends(s, STR("\"")))
        return false;
    s.len--;
    size_t begin = str_rfind(s, '"');
    if (begin == s.len)
        return false;
    *out = str_skip(s, begin + 1);
    *rest = str_trim(str_head(s, begin));
    return true;
}

/* Names are in quotes, except in version 0.90, and may contain any character. */
static bool parse_symbol(struct str line, struct str *id, struct text_frame *f)
{
    struct str rest = str_trim(line);
    size_t number = str_rfind(rest, ' ');
    *f = TEXT_FRAME;
    *id = str_word(&rest);
    rest = str_trim_left(rest);
    number -= (size_t)(rest.ptr - str_trim(line).ptr);
    if (number >= rest.len || !number_parse_u64(str_skip(rest, number + 1), &f->line))
        return false;
    rest = str_head(rest, number);
    if (!str_starts(rest, STR("\"")) || !take_last_quoted(&rest, &f->file))
        return false;
    rest = str_skip(rest, 1);
    f->module = str_cut(&rest, '"');
    f->name = str_trim(rest);
    if (f->name.len >= 2 && str_starts(f->name, STR("\"")) &&
        str_ends(f->name, STR("\"")))
        f->name = str_part(f->name, 1, f->name.len - 2);
    return true;
}

/* "[004015A0]" stands for the name of an unknown function. */
static bool is_address(struct str name)
{
    uint64_t address;
    return str_starts(name, STR("[")) && str_ends(name, STR("]")) && name.len > 2 &&
           number_parse_hex(str_part(name, 1, name.len - 2), &address);
}

static void add_symbol(struct sleepy_reader *r, struct idmap *table, uint64_t number,
                       struct text_frame *f)
{
    uint64_t *frame = idmap_put(table, &r->arena, number);
    if (!frame || *frame)
        return;
    if (is_address(f->name))
        f->name = STR("");
    if (str_equal(f->file, STR("[unknown]")))
        f->file = STR("");
    if (table == &r->addressed)
        f->address = number;
    *frame = (uint64_t)stacktext_frame(&r->text, f) + 1;
}

static bool read_symbols(struct sleepy_reader *r, struct error *err)
{
    struct source s;
    struct lines lines = lines_in(r, &s, SYMBOLS, err);
    struct str line, id;
    if (!r->found[SYMBOLS])
        builder_warn(r->b, "the capture has no Symbols.txt: functions are unknown", 0, 0,
                     STR(""));
    while (next_line(r, &lines, SYMBOLS, &line)) {
        struct text_frame f;
        uint64_t number;
        struct idmap *table =
            parse_symbol(line, &id, &f) ? symbol_table(r, id, &number) : NULL;
        if (table)
            add_symbol(r, table, number, &f);
        else if (str_trim(line).len)
            builder_warn(r->b, "not a line of Symbols.txt", lines.number, 1, line);
    }
    return !lines.failed;
}

/* --- Stacks ---------------------------------------------------------------------- */

static frame_id unknown_frame(struct sleepy_reader *r, uint64_t address)
{
    struct text_frame f = TEXT_FRAME;
    f.address = address;
    return stacktext_frame(&r->text, &f);
}

/* The stack of symbols, leaf first. False if a word is none. */
static bool parse_stack(struct sleepy_reader *r, struct str rest, uint64_t line,
                        stack_id *stack)
{
    builder_path_clear(r->b);
    for (struct str word; (word = str_word(&rest)).len;) {
        uint64_t number;
        struct idmap *table = symbol_table(r, word, &number);
        if (!table)
            return false;
        const uint64_t *frame = idmap_find(table, number);
        if (!frame)
            builder_warn(r->b, "a symbol that Symbols.txt does not list", line, 1, word);
        builder_path_add(r->b,
                         frame ? (frame_id)(*frame - 1)
                               : unknown_frame(r, table == &r->addressed ? number : 0));
    }
    *stack = builder_path_from_leaf(r->b);
    return true;
}

static bool parse_seconds(struct str word, double *seconds)
{
    return number_parse_double(word, seconds) && *seconds >= 0 && *seconds <= SECONDS_MAX;
}

static void add_sample(struct sleepy_reader *r, stack_id stack, thread_id thread,
                       double seconds)
{
    r->sum += seconds;
    r->samples++;
    builder_add(r->b, &(struct sample){.time = TIME_NONE,
                                       .thread = thread,
                                       .cpu = CPU_NONE,
                                       .event = r->event,
                                       .stack = stack,
                                       .count = 1,
                                       .weight = r->text.options->samples
                                                     ? 1
                                                     : floor(seconds * 1e9 + 0.5)});
}

/* " 4711 0.05 4712 0.024": the threads of the stack in the line before. */
static bool read_threads(struct sleepy_reader *r, struct str rest)
{
    uint64_t tid;
    double seconds;
    bool any = false;
    for (struct str word; (word = str_word(&rest)).len; any = true) {
        if (!number_parse_u64(word, &tid) || tid > INT64_MAX ||
            !parse_seconds(str_word(&rest), &seconds))
            return false;
        add_sample(r, r->stack, builder_thread(r->b, ID_NONE, (int64_t)tid, STR("")),
                   seconds);
    }
    return any;
}

/* A line with a stack alone begins with a space, and so does the line of its threads. */
static bool read_stack(struct sleepy_reader *r, struct str line, uint64_t number)
{
    struct str rest = line;
    double seconds;
    if (r->has_stack) {
        r->has_stack = false;
        return read_threads(r, rest);
    }
    if (str_starts(line, STR(" "))) {
        r->has_stack = true;
        return parse_stack(r, rest, number, &r->stack);
    }
    stack_id stack;
    if (!parse_seconds(str_word(&rest), &seconds) ||
        !parse_stack(r, rest, number, &stack))
        return false;
    add_sample(r, stack, 0, seconds);
    return true;
}

static bool read_callstacks(struct sleepy_reader *r, struct error *err)
{
    struct source s;
    struct lines lines = lines_in(r, &s, CALLSTACKS, err);
    struct str line;
    r->event = builder_event(r->b, STR("time"),
                             r->text.options->samples ? UNIT_COUNT : UNIT_NANOSECONDS);
    while (next_line(r, &lines, CALLSTACKS, &line))
        if (line.len && !read_stack(r, line, lines.number))
            builder_warn(r->b, "not a line of Callstacks.txt", lines.number, 1, line);
    if (r->has_stack)
        builder_warn(r->b, "a stack without its time at the end of Callstacks.txt", 0, 0,
                     STR(""));
    return !lines.failed;
}

/* --- Facts ----------------------------------------------------------------------- */

static void read_stats(struct sleepy_reader *r)
{
    struct str rest = r->files[STATS];
    while (rest.len) {
        struct str line = str_trim(str_cut(&rest, '\n'));
        struct str value = str_trim(str_skip(line, STR("Filename:").len));
        if (str_starts(line, STR("Filename:")) && !str_equal(value, STR("?")))
            r->b->profile->facts.command = builder_string(r->b, value);
    }
}

static void check_total(struct sleepy_reader *r)
{
    struct str rest = r->files[IP_COUNTS];
    double stated;
    if (number_parse_double(str_trim(str_cut(&rest, '\n')), &stated))
        stated_check_about(r->b, STR("seconds"), r->sum, stated,
                           ROUNDING * (double)(r->samples + 1));
}

static bool sleepy_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct sleepy_reader r = {
        .b = b, .text = {.b = b, .options = options}, .limits = source_limits(in)};
    struct str all;
    if (!source_all(in, &all, err))
        return false;
    for (size_t i = 0; i < SLEEPY_FILES; i++)
        r.files[i] = STR("");
    bool ok = take_files(&r, all, err) && read_symbols(&r, err);
    if (ok)
        read_stats(&r);
    ok = ok && read_callstacks(&r, err);
    if (ok)
        check_total(&r);
    b->profile->arena.failed |= r.arena.failed | r.text.text.failed;
    output_deinit(&r.text.text);
    arena_deinit(&r.arena);
    return ok;
}

static int sleepy_probe(struct str head)
{
    return zip_has_sleepy(head) ? 100 : 0;
}

const struct importer import_sleepy = {
    .name = "sleepy",
    .suffixes = "sleepy",
    .summary = "Very Sleepy captures of Windows programs",
    .probe = sleepy_probe,
    .shape = SHAPE_BINARY,
    .empty = "this capture of Very Sleepy has no samples",
    .read = sleepy_read,
};
