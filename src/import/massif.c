/* SPDX-License-Identifier: Apache-2.0 */
/* massif.out.PID, from valgrind's heap profiler: the live allocations at several
 * snapshots of a run (valgrind's manual, chapter 9).
 *
 *   snapshot=48
 *   #-----------
 *   time=4888893299
 *   mem_heap_B=19406715
 *   mem_heap_extra_B=2901493
 *   mem_stacks_B=0
 *   heap_tree=peak
 *   n19: 19406715 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *    n0: 4699372 in 2377 places, all below massif's threshold (01.00%)
 *    n2: 4251496 0x57B3D69: QTextEngine::LayoutData::reallocate(int)
 * (qtextengine.cpp:2091)
 *
 * One more space of indentation is the next caller; an inlined function has its
 * caller's address. Bytes of different snapshots must not be added: each snapshot with
 * a tree is a separate event, the peak first. If the peak has no tree, the largest
 * tree replaces it. If there is no tree at all, the profile has only the totals. The event
 * "live" has all snapshots over time; instructions and bytes as units of time count as
 * nanoseconds. */
#include "base/array.h"
#include "base/format.h"
#include "base/number.h"
#include "base/output.h"
#include "import/importer.h"
#include "import/indent.h"
#include "import/massif_live.h"
#include "import/quantity.h"
#include "import/valgrind_frame.h"

/* A row of a tree. */
struct massif_row {
    size_t column;
    uint64_t callers, bytes;
    struct str text; /* after the bytes */
};

struct massif_reader {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    struct indent tree;
    struct massif_moment now, largest;
    struct massif_moment *moments; /* all so far */
    size_t moment_count, moment_cap;
    struct arena arena;
    uint64_t unit;               /* ns */
    event_id peak, largest_tree; /* 0: none */
    double largest_tree_bytes;
    bool has_peak_tree;
    struct massif_row held; /* the last row, not opened yet; column 0: none */
    struct output held_text;
};

/* --- Rows ------------------------------------------------------------------------ */

/* " n2: 4251496 0x57B3D69: ..." */
static bool parse_row(struct str line, struct massif_row *row)
{
    size_t column = 0;
    while (column < line.len && line.ptr[column] == ' ')
        column++;
    struct str rest = str_skip(line, column);
    if (!str_starts(rest, STR("n")))
        return false;
    struct str count = str_cut(&rest, ':'), bytes = str_word(&rest);
    row->column = column + 1;
    row->text = str_trim_left(rest);
    return number_parse_u64(str_skip(count, 1), &row->callers) &&
           number_parse_u64(bytes, &row->bytes);
}

/* The root, which represents all allocation functions, and the entry for allocations below
 * the threshold, are no functions. */
frame_id massif_marker(struct builder *b, struct str name)
{
    struct frame f = {.name = builder_string(b, name), .kind = FRAME_MARKER};
    return builder_frame(b, &f);
}

static frame_id frame_of(struct massif_reader *r, const struct massif_row *row,
                         bool inlined)
{
    if (str_starts(row->text, STR("0x")))
        return valgrind_frame(r->b, r->options, row->text, inlined);
    if (str_starts(row->text, STR("in ")))
        return massif_marker(r->b, STR("[below the threshold]"));
    return row->callers ? 0 : massif_marker(r->b, STR("[useful heap]"));
}

/* Whether the held row is inlined into its caller. */
static bool is_inlined(const struct massif_row *row, const struct massif_row *caller)
{
    return caller->column == row->column + 1 &&
           valgrind_is_inlined(row->text, caller->text);
}

/* Opens the held row; `next` is the row after it, NULL if there is none. */
static void open_held(struct massif_reader *r, const struct massif_row *next)
{
    struct massif_row row = r->held;
    if (row.column == 0)
        return;
    row.text = output_contents(&r->held_text);
    r->held.column = 0;
    indent_open(&r->tree, row.column, frame_of(r, &row, next && is_inlined(&row, next)));
    indent_total(&r->tree, (double)row.bytes, 0);
}

static void hold(struct massif_reader *r, const struct massif_row *row)
{
    r->held = *row;
    r->held_text.used = 0;
    output_str(&r->held_text, row->text);
}

static void read_row(struct massif_reader *r, struct str line)
{
    struct massif_row row;
    if (!r->tree.event || !parse_row(line, &row)) {
        builder_warn(r->b, "not a row of a heap tree", r->lines.number, 1, line);
    } else if ((double)row.bytes > QUANTITY_MAX) {
        builder_warn(r->b, "a size that is too large", r->lines.number, row.column, line);
    } else {
        open_held(r, &row);
        hold(r, &row);
    }
}

/* --- Moments --------------------------------------------------------------------- */

static void add_bytes(struct massif_reader *r, event_id event, struct str name,
                      uint64_t bytes)
{
    if (bytes && (double)bytes <= QUANTITY_MAX)
        builder_add_stack(r->b, event, builder_push(r->b, 0, massif_marker(r->b, name)),
                          (double)bytes);
}

/* Memory that massif counts outside the trees. */
static void add_others(struct massif_reader *r, event_id event,
                       const struct massif_moment *s)
{
    add_bytes(r, event, STR("[extra heap]"), s->extra);
    add_bytes(r, event, STR("[stacks]"), s->stacks);
}

static double bytes_of(const struct massif_moment *s)
{
    return (double)s->heap + (double)s->extra + (double)s->stacks;
}

/* The last line of a snapshot's header: "empty" if it has no tree. */
static void begin_tree(struct massif_reader *r, struct str kind)
{
    char name[48];
    if (bytes_of(&r->now) > bytes_of(&r->largest))
        r->largest = r->now;
    r->now.is_known = true;
    r->now.first = r->b->profile->sample_count;
    if (str_equal(kind, STR("empty")))
        return;
    r->now.has_tree = true;
    bool is_peak = str_equal(kind, STR("peak")) && !r->has_peak_tree;
    size_t length = format_text(name, sizeof name, "snapshot %llu",
                                (unsigned long long)r->now.number);
    r->has_peak_tree |= is_peak;
    r->tree.event =
        is_peak ? r->peak : builder_event(r->b, (struct str){name, length}, UNIT_BYTES);
    add_others(r, r->tree.event, &r->now);
    if (r->largest_tree && bytes_of(&r->now) <= r->largest_tree_bytes)
        return;
    r->largest_tree = r->tree.event;
    r->largest_tree_bytes = bytes_of(&r->now);
}

/* Massif saves no tree for a peak that it did not recognise as one, for example in a
 * program whose heap is largest at its end. */
static void make_peak(struct massif_reader *r)
{
    const struct profile *p = r->b->profile;
    size_t count = p->sample_count;
    if (r->has_peak_tree)
        return;
    if (!r->largest_tree) {
        add_bytes(r, r->peak, STR("[useful heap]"), r->largest.heap);
        add_others(r, r->peak, &r->largest);
        return;
    }
    for (size_t i = 0; i < count && i < p->sample_count; i++) {
        struct sample s = p->samples[i];
        bool is_largest = s.event == r->largest_tree;
        s.event = r->peak;
        if (is_largest)
            builder_add_mapped(r->b, &s);
    }
    if (r->largest_tree_bytes < bytes_of(&r->largest))
        builder_warn(r->b, "a peak without a tree: the largest tree replaces it", 0, 0,
                     STR(""));
}

/* Ends the snapshot: its tree is complete. */
static void end_snapshot(struct massif_reader *r)
{
    open_held(r, NULL);
    indent_close(&r->tree, 0);
    r->tree.event = 0;
    r->now.stop = r->b->profile->sample_count;
    struct massif_moment *added =
        r->now.is_known
            ? ARRAY_APPEND(&r->arena, r->moments, r->moment_count, r->moment_cap)
            : NULL;
    if (added)
        *added = r->now;
}

static void begin_snapshot(struct massif_reader *r, struct str number)
{
    end_snapshot(r);
    r->now = (struct massif_moment){0};
    if (!number_parse_u64(number, &r->now.number))
        builder_warn(r->b, "a snapshot without a number", r->lines.number, 1, number);
}

static void read_size(struct massif_reader *r, struct str text, uint64_t *size)
{
    if (!number_parse_u64(text, size))
        builder_warn(r->b, "not a size", r->lines.number, 1, text);
}

static void read_line(struct massif_reader *r, struct str line)
{
    struct str value = line, key;
    if (line.len == 0 || line.ptr[0] == '#' || str_starts(line, STR("desc:")))
        return;
    if (line.ptr[0] == ' ' || line.ptr[0] == 'n') {
        read_row(r, line);
        return;
    }
    if (str_starts(line, STR("cmd:")) || str_starts(line, STR("time_unit:"))) {
        if (line.ptr[0] == 'c')
            r->b->profile->facts.command =
                builder_string(r->b, str_trim(str_skip(line, 4)));
        else if (str_equal(str_trim(str_skip(line, 10)), STR("ms")))
            r->unit = 1000000;
        return;
    }
    key = str_cut(&value, '=');
    if (str_equal(key, STR("snapshot")))
        begin_snapshot(r, value);
    else if (str_equal(key, STR("mem_heap_B")))
        read_size(r, value, &r->now.heap);
    else if (str_equal(key, STR("mem_heap_extra_B")))
        read_size(r, value, &r->now.extra);
    else if (str_equal(key, STR("mem_stacks_B")))
        read_size(r, value, &r->now.stacks);
    else if (str_equal(key, STR("heap_tree")))
        begin_tree(r, value);
    else if (str_equal(key, STR("time")))
        read_size(r, value, &r->now.time);
    else
        builder_warn(r->b, "not a line in massif's format", r->lines.number, 1, line);
}

/* --- The format ------------------------------------------------------------------ */

static bool massif_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct massif_reader r = {.b = b,
                              .options = options,
                              .lines = lines_of(in, err),
                              .tree = {.b = b, .callers = true},
                              .peak = builder_event(b, STR("peak"), UNIT_BYTES),
                              .unit = 1,
                              .held_text = OUTPUT_BUFFER};
    struct str line;
    while (!builder_failed(b) && lines_next(&r.lines, &line))
        read_line(&r, str_trim_right(line));
    end_snapshot(&r);
    indent_deinit(&r.tree);
    make_peak(&r);
    massif_add_live(b, r.moments, r.moment_count, r.unit);
    builder_end_scratch(b, &r.arena);
    b->profile->arena.failed |= r.held_text.failed;
    output_deinit(&r.held_text);
    return !r.lines.failed;
}

static int massif_probe(struct str head)
{
    if (!str_starts(head, STR("desc:")))
        return 0;
    bool has_unit = false;
    while (head.len && !has_unit) {
        struct str line = str_cut(&head, '\n');
        if (!str_starts(line, STR("desc:")) && !str_starts(line, STR("cmd:")) &&
            !str_starts(line, STR("time_unit:")))
            return 0;
        has_unit = str_starts(line, STR("time_unit:"));
    }
    return has_unit ? 98 : 0;
}

const struct importer import_massif = {
    .name = "massif",
    .suffixes = "massif",
    .summary = "valgrind massif: the heap at its peak, and at other moments",
    .empty = "the program had no heap allocations at any of massif's snapshots",
    .counts_all = true,
    .probe = massif_probe,
    .read = massif_read,
};
