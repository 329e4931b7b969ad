/* SPDX-License-Identifier: Apache-2.0 */
/* The stack text that FireSim's TracerV writes (output format 2), and `stoke trace
 * --to firesim`:
 *
 *   Indent: 2, Start label: do_trap_ecall_u, At cycle: 125
 *   Indent: 2, End label: do_trap_ecall_u, End cycle: 162
 *
 * Older drivers write a label as <name>:. The cycles between two lines belong to the
 * stack before the second line. Other lines are messages of the driver. */
#include "base/array.h"
#include "base/number.h"
#include "import/importer.h"

#define DEPTH_MAX ((size_t)1 << 20)

struct open_label {
    string_id name;
    stack_id stack;
};

struct firesim_reader {
    struct builder *b;
    struct arena arena;
    struct open_label *open; /* root first */
    size_t count, cap;
    uint64_t now; /* cycle of the preceding line */
    event_id event;
    struct lines lines;
    struct str line; /* the current line */
};

struct event_line {
    bool start;
    struct str label;
    uint64_t cycle;
};

static struct str plain_label(struct str label)
{
    if (label.len > 3 && label.ptr[0] == '<' && str_ends(label, STR(">:")))
        return str_head(str_skip(label, 1), label.len - 3);
    return label;
}

/* The cycle follows the last comma, because a label may contain commas. */
static bool parse_event(struct str line, struct event_line *e)
{
    struct str rest = str_trim(line), indent;
    uint64_t depth;
    if (!str_starts(rest, STR("Indent: ")))
        return false;
    rest = str_skip(rest, sizeof "Indent: " - 1);
    indent = str_cut(&rest, ',');
    if (!number_parse_u64(indent, &depth))
        return false;
    e->start = str_starts(rest, STR(" Start label: "));
    if (!e->start && !str_starts(rest, STR(" End label: ")))
        return false;
    rest = str_skip(rest,
                    e->start ? sizeof " Start label: " - 1 : sizeof " End label: " - 1);
    struct str mark = e->start ? STR(", At cycle: ") : STR(", End cycle: ");
    size_t at = str_rsearch(rest, mark);
    if (at == rest.len || !number_parse_u64(str_skip(rest, at + mark.len), &e->cycle))
        return false;
    e->label = plain_label(str_head(rest, at));
    return e->label.len > 0;
}

static void warn(struct firesim_reader *r, const char *what)
{
    builder_warn(r->b, what, r->lines.number, 1, r->line);
}

/* Adds the cycles since the preceding line to the open stack. */
static void charge(struct firesim_reader *r, uint64_t cycle)
{
    if (cycle < r->now) {
        warn(r, "cycles that decrease");
    } else if (r->count && cycle > r->now) {
        builder_add(r->b, &(struct sample){.time = r->now,
                                           .cpu = CPU_NONE,
                                           .event = r->event,
                                           .stack = r->open[r->count - 1].stack,
                                           .count = 1,
                                           .weight = (double)(cycle - r->now)});
    }
    r->now = cycle;
}

static void open_label(struct firesim_reader *r, struct str label)
{
    if (r->count >= DEPTH_MAX ||
        !ARRAY_RESERVE(&r->arena, r->open, r->cap, r->count + 1)) {
        warn(r, "a call beyond the stack limit");
        return;
    }
    stack_id caller = r->count ? r->open[r->count - 1].stack : 0;
    stack_id stack = builder_push(r->b, caller, builder_named_frame(r->b, label));
    r->open[r->count++] = (struct open_label){builder_string(r->b, label), stack};
}

/* Closes the innermost label of that name. */
static void close_label(struct firesim_reader *r, struct str label)
{
    string_id name = builder_string(r->b, label);
    size_t at = r->count;
    while (at > 0 && r->open[at - 1].name != name)
        at--;
    if (at != r->count)
        warn(r, at ? "a label that ends while labels in it are open: they end, too"
                   : "the end of a label that is not open");
    if (at)
        r->count = at - 1;
}

static bool firesim_read(struct source *in, const struct import_options *options,
                         struct builder *b, struct error *err)
{
    struct firesim_reader r = {.b = b, .arena = ARENA_INIT, .lines = lines_of(in, err)};
    struct event_line e;
    (void)options;
    r.event = builder_event(b, STR("cycles"), UNIT_CYCLES);
    while (lines_next(&r.lines, &r.line)) {
        if (!parse_event(r.line, &e)) {
            if (str_starts(r.line, STR("WARN:")))
                warn(&r, "TracerV lost its stack (WARN: in the file)");
            continue;
        }
        charge(&r, e.cycle);
        if (e.start)
            open_label(&r, e.label);
        else
            close_label(&r, e.label);
    }
    bool ok = !r.lines.failed;
    if (r.count)
        builder_warn_times(
            b, "a label that is open at the end: its last cycles are unknown", r.count);
    if (r.arena.failed)
        b->profile->arena.failed = true;
    arena_deinit(&r.arena);
    return ok;
}

static int firesim_probe(struct str head)
{
    struct event_line e;
    for (unsigned i = 0; i < 64 && head.len; i++)
        if (parse_event(str_cut(&head, '\n'), &e))
            return 100;
    return 0;
}

const struct importer import_firesim = {
    .name = "firesim",
    .suffixes = "",
    .summary = "FireSim's stack text (TracerV, output format 2)",
    .probe = firesim_probe,
    .read = firesim_read,
};
