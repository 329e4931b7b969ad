/* SPDX-License-Identifier: Apache-2.0 */
/* GHC's time and allocation report, PROGRAM.prof of a program run with +RTS -p or -P.
 *
 *   COST CENTRE  MODULE  SRC         no.  entries %time %alloc %time %alloc ticks  bytes
 *
 *   MAIN         MAIN    <built-in>  129        0   0.0    0.0 100.0  100.0     0    832
 *    main        Main    Main.hs:9:1 258        1   4.3    0.7   4.3    1.6     2 619504
 *
 * SRC exists since GHC 8; ticks and bytes are printed with -P. The first pair of
 * shares is the cost centre alone, and so are ticks and bytes; the second includes
 * callees. Each level of calls is indented by one more space. Names may use any
 * script, and columns are aligned by characters, not bytes. */
#include "base/number.h"
#include "base/output.h"
#include "import/importer.h"
#include "import/indent.h"
#include "import/quantity.h"
#include <math.h>

/* The columns of the header line. */
struct ghc_layout {
    size_t module;  /* where the module's column begins, in characters */
    size_t numbers; /* number of numeric columns */
    bool has_source, has_ticks;
};

struct ghc_row {
    size_t column;
    struct str name, module, source;
    struct str numbers[8]; /* no. entries %time %alloc %time %alloc ticks bytes */
};

struct ghc_reader {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    struct indent tree;
    struct ghc_layout layout;
    event_id event;
    struct output name; /* of the current row */
};

/* --- The header ------------------------------------------------------------------ */

/* A header of the tree; the header of the flat table before it has no "entries". */
static bool parse_header(struct str line, struct ghc_layout *layout)
{
    static const char *const words[] = {"no.",    "entries", "%time",
                                        "%alloc", "%time",   "%alloc"};
    struct str rest = line;
    if (!str_equal(str_word(&rest), STR("COST")) ||
        !str_equal(str_word(&rest), STR("CENTRE")) ||
        !str_equal(str_word(&rest), STR("MODULE")))
        return false;
    *layout =
        (struct ghc_layout){.module = (size_t)(rest.ptr - line.ptr) - 6, .numbers = 6};
    struct str word = str_word(&rest);
    layout->has_source = str_equal(word, STR("SRC"));
    if (layout->has_source)
        word = str_word(&rest);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++, word = str_word(&rest))
        if (!str_equal(word, str_of(words[i])))
            return false;
    layout->has_ticks = str_equal(word, STR("ticks"));
    if (layout->has_ticks)
        layout->numbers = 8;
    return true;
}

/* --- Rows ------------------------------------------------------------------------ */

/* The byte at which the character with that number begins. */
static size_t byte_of_character(struct str s, size_t number)
{
    size_t at = 0;
    for (; at < s.len; at++)
        if (((unsigned char)s.ptr[at] & 0xc0) != 0x80 && number-- == 0)
            break;
    return at;
}

/* Removes the last word from *s. */
static struct str take_last_word(struct str *s)
{
    struct str text = str_trim_right(*s);
    size_t at = text.len;
    while (at && !byte_is_space(text.ptr[at - 1]))
        at--;
    *s = str_head(text, at);
    return str_skip(text, at);
}

/* Splits name and module at their columns, or, where a long name has shifted the
 * columns, by words. A name may contain spaces. */
static void split_names(struct str text, size_t module_at, struct ghc_row *row)
{
    size_t at = byte_of_character(text, module_at);
    struct str rest = str_skip(text, at);
    bool aligned = at && at < text.len && byte_is_space(text.ptr[at - 1]) &&
                   !byte_is_space(text.ptr[at]);
    if (aligned) {
        row->name = str_trim(str_head(text, at));
    } else {
        rest = text;
        row->name = str_word(&rest);
    }
    row->module = str_word(&rest);
    row->source = str_trim(rest);
}

static bool parse_row(struct str line, const struct ghc_layout *layout,
                      struct ghc_row *row)
{
    struct str rest = str_trim_right(line);
    while (row->column < line.len && line.ptr[row->column] == ' ')
        row->column++;
    for (size_t i = layout->numbers; i-- > 0;) {
        row->numbers[i] = take_last_word(&rest);
        if (row->numbers[i].len == 0 || !byte_is_digit(row->numbers[i].ptr[0]))
            return false;
    }
    split_names(str_trim_right(rest), layout->module, row);
    return row->name.len && row->module.len;
}

/* "Main.hs:(9,1)-(13,16)" or "Main.hs:9:1-8" as file and line. */
static void set_location(struct ghc_reader *r, struct str source, struct frame *f)
{
    size_t bracket = str_search(source, STR(":("));
    struct str file = str_head(source, bracket), digits = str_skip(source, bracket + 2);
    uint64_t line;
    if (bracket == source.len) {
        struct str rest = str_head(source, str_rfind(source, ':'));
        file = str_head(rest, str_rfind(rest, ':'));
        digits = str_skip(rest, file.len + 1);
    }
    digits = str_head(digits, str_find(digits, ','));
    if (!number_parse_u64(digits, &line) || line > UINT32_MAX)
        return;
    f->file = builder_string(r->b, file);
    f->line = (uint32_t)line;
}

static frame_id frame_of(struct ghc_reader *r, const struct ghc_row *row)
{
    struct frame f = {.module = builder_module(r->b, row->module, STR(""))};
    r->name.used = 0;
    output_str(&r->name, row->module);
    output_char(&r->name, '.');
    output_str(&r->name, row->name);
    f.name = builder_string(r->b, output_contents(&r->name));
    if (r->options->lines)
        set_location(r, row->source, &f);
    return builder_frame(r->b, &f);
}

/* The report has shares of the time in tenths of a percent. */
static bool row_value(const struct ghc_row *row, enum ghc_column column, double *value)
{
    struct str text = row->numbers[column == GHC_TIME ? 2 : column == GHC_TICKS ? 6 : 7];
    if (!number_parse_double(text, value) || *value > QUANTITY_MAX)
        return false;
    if (column == GHC_TIME)
        *value = floor(*value * 10 + 0.5);
    return true;
}

static void read_row(struct ghc_reader *r, struct str line)
{
    struct ghc_row row = {.column = 0};
    double value;
    if (!parse_row(line, &r->layout, &row) || !row_value(&row, r->options->ghc, &value)) {
        builder_warn(r->b, "not a row of the tree of cost centres", r->lines.number, 1,
                     line);
        return;
    }
    stack_id stack = indent_open(&r->tree, row.column, frame_of(r, &row));
    builder_add_stack(r->b, r->event, stack, value);
}

/* --- The report ------------------------------------------------------------------ */

static bool start_tree(struct ghc_reader *r, struct error *err)
{
    static const struct {
        const char *name;
        enum unit unit;
    } events[] = {
        {"time (0.1%)", UNIT_COUNT}, {"ticks", UNIT_COUNT}, {"bytes", UNIT_BYTES}};
    enum ghc_column column = r->options->ghc;
    if (column != GHC_TIME && !r->layout.has_ticks) {
        error_set(err, "this report has no column '%s'", events[column].name);
        return error_hint(err, "run the program with +RTS -P instead of -p");
    }
    r->event = builder_event(r->b, str_of(events[column].name), events[column].unit);
    return true;
}

/* "total time  =  0.05 secs   (49 ticks @ 1000 us, 1 processor)" */
static void read_total_time(struct ghc_reader *r, struct str line)
{
    struct str rest = str_skip(line, str_search(line, STR(" @ ")) + 3);
    double us;
    if (number_parse_double(str_word(&rest), &us) && us > 0 &&
        str_starts(str_trim(rest), STR("us")))
        r->b->profile->facts.rate = 1e6 / us;
}

/* Skips to the tree's header. The line with RTS options is the command. */
static bool find_tree(struct ghc_reader *r)
{
    struct str line;
    while (lines_next(&r->lines, &line)) {
        struct str text = str_trim(line);
        if (parse_header(line, &r->layout))
            return true;
        if (str_starts(text, STR("total time")))
            read_total_time(r, text);
        else if (str_has(text, STR(" +RTS ")) && !r->b->profile->facts.command)
            r->b->profile->facts.command = builder_string(r->b, text);
    }
    return false;
}

/* The tree follows an empty line and ends at the next. */
static void read_tree(struct ghc_reader *r)
{
    struct str line;
    bool begun = false;
    while (!builder_failed(r->b) && lines_next(&r->lines, &line)) {
        if (str_trim(line).len) {
            read_row(r, line);
            begun = true;
        } else if (begun) {
            break;
        }
    }
}

static bool ghcprof_read(struct source *in, const struct import_options *options,
                         struct builder *b, struct error *err)
{
    struct ghc_reader r = {
        .b = b, .options = options, .lines = lines_of(in, err), .tree = {.b = b}};
    bool ok = find_tree(&r);
    if (!ok && !r.lines.failed)
        error_set(err, "the report has no tree of cost centres");
    ok = ok && start_tree(&r, err);
    if (ok)
        read_tree(&r);
    indent_deinit(&r.tree);
    b->profile->arena.failed |= r.name.failed;
    output_deinit(&r.name);
    return ok && !r.lines.failed;
}

static int ghcprof_probe(struct str head)
{
    struct ghc_layout layout;
    if (str_has(str_head(head, 4096), STR("Time and Allocation Profiling Report")))
        return 95;
    while (head.len)
        if (parse_header(str_trim_right(str_cut(&head, '\n')), &layout))
            return 90;
    return 0;
}

const struct importer import_ghcprof = {
    .name = "ghcprof",
    .suffixes = "prof",
    .summary = "GHC time and allocation report (.prof)",
    .probe = ghcprof_probe,
    .read = ghcprof_read,
};
