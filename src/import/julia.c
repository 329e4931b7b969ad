/* SPDX-License-Identifier: Apache-2.0 */
/* What Julia's Profile.print() prints: a tree of calls, or a table of lines (format=:flat).
 *
 *   Overhead ╎ [+additional indent] Count File:Line; Function
 *   =========================================================
 *      ╎147  @Base/client.jl:495; _start()
 *      ╎ 147  @Base/Base.jl:427; include(mod::Module, _path::String)
 *    43╎    ╎ +12 43  @Main/fib.jl:3; fib(n::Int64)
 *   Total snapshots: 225. Utilization: 100% across all threads and tasks.
 *
 *    Count  Overhead File                    Line Function
 *    =====  ======== ====                    ==== ========
 *       43        43 @Main/fib.jl               3 fib(n::Int64)
 *
 * Every column behind the first mark is a level, and a number with a plus sign is that of levels
 * that are not drawn. Counts include the callees, the overhead does not. Newer versions have spaces
 * for the semicolon. With groupby, a heading names each thread or task. */
#include "base/number.h"
#include "import/importer.h"
#include "import/indent.h"
#include "model/name.h"

#define MARK "\xe2\x95\x8e" /* ╎ */
#define COUNT_MOST 1e15
#define LEVEL_MOST 1000000000

enum text_kind { TEXT_NONE, TEXT_TREE, TEXT_FLAT };

struct julia {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    struct indent tree;
    enum text_kind kind;
};

static bool is_count(struct str text, double *count)
{
    uint64_t number;
    *count = 0;
    if (!number_parse_u64(text, &number) || (double)number > COUNT_MOST)
        return false;
    *count = (double)number;
    return true;
}

static frame_id frame_of(struct julia *r, struct str function, struct str file,
                         struct str line)
{
    uint64_t number = 0;
    struct frame f = {0};
    struct str bare = name_without_arguments(function);
    if (!r->options->signatures &&
        bare.len) /* (::Module.var"#f#1")() has no other name */
        function = bare;
    if (!str_equal(function, STR("???")))
        f.name = builder_string(r->b, function);
    if (r->options->lines && file.len) {
        f.file = builder_string(r->b, file);
        f.line =
            number_parse_u64(line, &number) && number <= INT32_MAX ? (uint32_t)number : 0;
    }
    return builder_frame(r->b, &f);
}

/* --- Trees -------------------------------------------------------------------------- */

/* Removes the indentation from the start of *text; returns the level. */
static size_t take_level(struct str *text)
{
    size_t level = 0;
    uint64_t more = 0;
    struct str mark = STR(MARK);
    for (;;) {
        if (str_starts(*text, STR(" ")))
            *text = str_skip(*text, 1);
        else if (str_starts(*text, mark))
            *text = str_skip(*text, mark.len);
        else
            break;
        level++;
    }
    if (!str_starts(*text, STR("+")))
        return level;
    struct str rest = str_skip(*text, 1), number = str_word(&rest);
    if (!number_parse_u64(number, &more) || more > LEVEL_MOST)
        return level;
    *text = str_trim_left(rest);
    return level + (size_t)more + (size_t)(text->ptr - number.ptr) + 1;
}

/* "@Base/client.jl:495; _start()" */
static frame_id parse_row(struct julia *r, struct str text)
{
    size_t semicolon = str_search(text, STR("; ")), gap = str_search(text, STR("  "));
    size_t end = semicolon < gap ? semicolon : gap;
    struct str location = str_head(text, end),
               function = str_trim(str_skip(text, end + 1));
    size_t colon = str_rfind(location, ':');
    return frame_of(r, function, str_head(location, colon),
                    str_skip(location, colon + 1));
}

static void tree_line(struct julia *r, struct str line)
{
    double count;
    size_t mark = str_search(line, STR(MARK));
    struct str rest = str_skip(line, mark + STR(MARK).len);
    if (mark == line.len)
        return;
    size_t level = take_level(&rest);
    if (!is_count(str_word(&rest), &count) || str_trim(rest).len == 0) {
        builder_warn(r->b, "not a line of a tree", r->lines.number, 1, line);
        return;
    }
    indent_open(&r->tree, level, parse_row(r, str_trim(rest)));
    indent_total(&r->tree, count, 0);
}

/* "Thread 1 Total snapshots: 5. Utilization: 100%", "Task 0x00007f1: ..." */
static bool begin_group(struct julia *r, struct str line)
{
    struct str text = str_trim(line);
    if (!str_starts(text, STR("Thread ")) && !str_starts(text, STR("Task ")))
        return false;
    text = str_trim(str_head(text, str_search(text, STR("Total snapshots"))));
    indent_close(&r->tree, 0);
    r->tree.thread = builder_thread(r->b, ID_NONE, ID_NONE, text);
    return true;
}

/* --- Tables ------------------------------------------------------------------------- */

static void flat_line(struct julia *r, struct str line)
{
    double count, overhead;
    struct str rest = line;
    if (!is_count(str_word(&rest), &count))
        return;
    if (!is_count(str_word(&rest), &overhead)) {
        builder_warn(r->b, "not a line of a table", r->lines.number, 1, line);
        return;
    }
    struct str file = str_word(&rest), number = str_word(&rest);
    frame_id frame = frame_of(r, str_trim(rest), file, number);
    if (overhead > 0)
        builder_add(r->b, &(struct sample){.time = TIME_NONE,
                                           .thread = r->tree.thread,
                                           .cpu = CPU_NONE,
                                           .event = r->tree.event,
                                           .stack = builder_push(r->b, 0, frame),
                                           .count = (uint64_t)overhead,
                                           .weight = overhead});
}

/* --- The text ----------------------------------------------------------------------- */

static enum text_kind heading_kind(struct str line)
{
    struct str text = str_trim(line), first = str_word(&text), second = str_word(&text);
    if (str_equal(first, STR("Overhead")) && str_equal(second, STR(MARK)))
        return TEXT_TREE;
    bool flat = str_equal(first, STR("Count")) &&
                (str_equal(second, STR("Overhead")) || str_equal(second, STR("File")));
    return flat && str_ends(str_trim(line), STR("Line Function")) ? TEXT_FLAT : TEXT_NONE;
}

static void read_line(struct julia *r, struct str line)
{
    enum text_kind kind = heading_kind(line);
    if (kind != TEXT_NONE) {
        indent_close(&r->tree, 0);
        r->kind = kind;
    } else if (!begin_group(r, line) && r->kind == TEXT_FLAT) {
        flat_line(r, line);
    } else if (r->kind == TEXT_TREE) {
        tree_line(r, line);
    }
}

static bool julia_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct julia r = {.b = b,
                      .options = options,
                      .lines = lines_of(in, err),
                      .tree = {.b = b, .samples = true}};
    struct str line;
    r.tree.event = builder_event(b, STR("samples"), UNIT_COUNT);
    while (!builder_failed(b) && lines_next(&r.lines, &line))
        read_line(&r, line);
    indent_deinit(&r.tree);
    return !r.lines.failed;
}

/* The heading, and the line of "=" below it. */
static int julia_probe(struct str head)
{
    for (int i = 0; i < 20 && head.len; i++) {
        struct str line = str_cut(&head, '\n');
        if (heading_kind(line) != TEXT_NONE)
            return str_starts(str_trim_left(head), STR("====")) ? 92 : 0;
    }
    return 0;
}

const struct importer import_julia = {
    .name = "julia",
    .suffixes = "",
    .summary = "Julia's Profile.print(), as a tree or a table",
    .probe = julia_probe,
    .read = julia_read,
};
