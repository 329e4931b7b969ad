/* SPDX-License-Identifier: Apache-2.0 */
/* What R's Rprof() writes:
 *
 *   memory profiling: GC profiling: line profiling: sample.interval=20000
 *   #File 1: /home/a/fit.R
 *   :2611:178331:4821096:13:"<GC>" 1#3 "rnorm" 1#10 "lapply"
 *
 * The interval is in microseconds. A sample has the leaf first; "1#3 " before a function is the
 * line in file 1 that it executes. Four numbers, the sizes of the heap, come first if memory is
 * profiled; they do not belong to the stack, and are left out. R does not escape quotes in
 * names. */
#include "base/array.h"
#include "base/number.h"
#include "import/importer.h"

#define INTERVAL STR("sample.interval=")
#define FILE_LINE STR("#File ")
#define MEMORY_FIELDS 4
#define MICROSECONDS 1000.0 /* ns */
#define FILES_MAX 100000

struct rprof {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    string_id *files; /* by number; [0] is unused */
    size_t file_count, file_cap;
    event_id event;
    double interval; /* ns */
};

/* Several runs of Rprof(append = TRUE) each write this line. */
static bool parse_heading(struct str line, uint64_t *interval)
{
    struct str text = str_trim(line);
    size_t at = str_search(text, INTERVAL);
    if (at == text.len || (at > 0 && text.ptr[at - 1] != ' '))
        return false;
    return number_parse_u64(str_skip(text, at + INTERVAL.len), interval);
}

/* "1: /home/a/fit.R" */
static void read_file_line(struct rprof *r, struct str rest, struct lines *lines)
{
    uint64_t number;
    struct str digits = str_cut(&rest, ':');
    if (!number_parse_u64(digits, &number) || number > FILES_MAX) {
        builder_warn(r->b, "not a number of a file", lines->number, 1, digits);
        return;
    }
    while (r->file_count <= number) {
        string_id *added = ARRAY_APPEND(&r->arena, r->files, r->file_count, r->file_cap);
        if (!added)
            return;
        *added = 0;
    }
    r->files[number] = builder_string(r->b, str_trim(rest));
}

/* Cuts "1#3" from the text; false if there is none. */
static bool cut_location(struct str *rest, uint64_t *file, uint64_t *line)
{
    struct str text = *rest, word = str_cut(&text, ' '), number = word;
    struct str digits = str_cut(&number, '#');
    if (digits.len == word.len || !number_parse_u64(digits, file) ||
        !number_parse_u64(number, line))
        return false;
    *rest = text;
    return true;
}

/* Whether what follows a quote and a space shows that the quote ended a name. */
static bool ends_name(struct str rest)
{
    size_t digits = 0;
    while (digits < rest.len && byte_is_digit(rest.ptr[digits]))
        digits++;
    return rest.len == 0 || rest.ptr[0] == '"' ||
           (digits > 0 && digits < rest.len && rest.ptr[digits] == '#');
}

/* Cuts a name in quotes, and the space after it. A name may contain quotes. */
static bool cut_name(struct str *rest, struct str *name)
{
    if (!str_starts(*rest, STR("\"")))
        return false;
    struct str text = str_skip(*rest, 1);
    for (size_t i = 0; i < text.len; i++) {
        struct str after = str_skip(text, i + 1);
        bool closes = text.ptr[i] == '"' && (after.len == 0 || after.ptr[0] == ' ');
        if (!closes || !ends_name(str_trim_left(after)))
            continue;
        *name = str_head(text, i);
        *rest = str_trim_left(after);
        return true;
    }
    return false;
}

static void add_frame(struct rprof *r, struct str name, uint64_t file, uint64_t line)
{
    struct frame f = {.name = builder_string(r->b, name)};
    if (r->options->lines && file && file < r->file_count && r->files[file]) {
        f.file = r->files[file];
        f.line = line < UINT32_MAX ? (uint32_t)line : 0;
    }
    builder_path_add(r->b, builder_frame(r->b, &f));
}

/* Skips ":2611:178331:4821096:13:". */
static struct str without_memory(struct str line)
{
    uint64_t unused;
    struct str rest = line;
    if (!str_starts(line, STR(":")))
        return line;
    rest = str_skip(rest, 1);
    for (int i = 0; i < MEMORY_FIELDS; i++)
        if (!number_parse_u64(str_cut(&rest, ':'), &unused))
            return line;
    return rest;
}

/* False if the line is not a sample. */
static bool read_sample(struct rprof *r, struct str line)
{
    struct str rest = without_memory(line), name;
    builder_path_clear(r->b);
    for (;;) {
        uint64_t file = 0, number = 0;
        if (rest.len == 0)
            break;
        bool located = cut_location(&rest, &file, &number);
        rest = str_trim_left(rest);
        if (located && rest.len == 0)
            break; /* a line outside of functions */
        if (!cut_name(&rest, &name))
            return false;
        add_frame(r, name, file, number);
    }
    struct sample s = {.time = TIME_NONE,
                       .cpu = CPU_NONE,
                       .event = r->event,
                       .stack = builder_path_from_leaf(r->b),
                       .count = 1,
                       .weight = r->options->samples ? 1 : r->interval};
    builder_add(r->b, &s);
    return true;
}

static void read_line(struct rprof *r, struct lines *lines, struct str line)
{
    uint64_t interval;
    if (parse_heading(line, &interval))
        r->interval = (double)interval * MICROSECONDS;
    else if (str_starts(line, FILE_LINE))
        read_file_line(r, str_skip(line, FILE_LINE.len), lines);
    else if (str_trim(line).len > 0 && !read_sample(r, str_trim(line)))
        builder_warn(r->b, "not a sample of Rprof", lines->number, 1, line);
}

static bool rprof_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct rprof r = {.b = b, .options = options};
    struct lines lines = lines_of(in, err);
    struct str line;
    r.event =
        builder_event(b, STR("time"), options->samples ? UNIT_COUNT : UNIT_NANOSECONDS);
    while (!builder_failed(b) && !r.arena.failed && lines_next(&lines, &line))
        read_line(&r, &lines, line);
    builder_end_scratch(b, &r.arena);
    return !lines.failed;
}

static int rprof_probe(struct str head)
{
    uint64_t interval;
    return parse_heading(str_cut(&head, '\n'), &interval) ? 95 : 0;
}

const struct importer import_rprof = {
    .name = "rprof",
    .suffixes = "out",
    .summary = "samples of R programs, by Rprof()",
    .probe = rprof_probe,
    .read = rprof_read,
};
