/* SPDX-License-Identifier: Apache-2.0 */
/* What `go tool pprof -traces` (and pprof -traces) prints:
 *
 *   File: app
 *   Type: cpu
 *   Duration: 708.40ms, Total samples = 590ms (83.29%)
 *   -----------+-------------------------------------------------------
 *        key:  a label of the sample
 *      230ms   main.work (inline)
 *              main.main.func1
 *   -----------+-------------------------------------------------------
 *
 * Stacks are printed leaf first, values with two decimals in a unit that suits them. With -lines, a
 * location follows the name; with -addresses, an address is before it. */
#include "base/number.h"
#include "import/quantity.h"
#include "import/stacktext.h"
#include "import/stated.h"

#define VALUE_COLUMNS 10
#define NAME_COLUMN 13 /* after the value and 3 spaces */
#define ADDRESS_DIGITS 16

struct go_traces {
    struct stacktext text; /* first */
    struct str type;       /* in `names` */
    struct arena names;
    enum unit unit;
    bool in_traces, has_unit;
    double sum, rounding, stated, stated_step; /* negative: not stated */
};

static bool is_separator(struct str line)
{
    return str_starts(line, STR("-----------+-----"));
}

/* --- Samples ------------------------------------------------------------------------ */

static void end_trace(struct go_traces *g)
{
    struct stacktext *t = &g->text;
    if (t->b->path.count && t->weight > 0) {
        g->sum += t->weight;
        if (t->options->samples)
            t->weight = 1;
        stacktext_end(t);
    }
    builder_path_clear(t->b);
    t->weight = 0;
}

/* "0000000000482a3f main.work /src/main.go:12 (inline)" */
static void add_frame(struct stacktext *t, struct str text)
{
    struct text_frame f = TEXT_FRAME;
    struct str rest = text, inlined = STR(" (inline)");
    if (stacktext_add_known(t, text))
        return;
    if (str_ends(rest, inlined)) {
        f.kind = FRAME_INLINED;
        rest.len -= inlined.len;
    }
    struct str after = rest, word = str_word(&after);
    if (word.len == ADDRESS_DIGITS && number_parse_hex(word, &f.address))
        rest = str_trim(after);
    size_t space = str_rfind(rest, ' ');
    struct str location = str_skip(rest, space + 1);
    struct str file = stacktext_split_location(location, &f.line);
    if (space < rest.len && f.line) {
        f.file = file;
        rest = str_head(rest, space);
    }
    f.name = str_trim(rest);
    stacktext_add(t, text, &f);
}

/* The first line of a stack has its value. All values have the same unit, or none if they are 0. */
static void begin_trace(struct go_traces *g, struct str line)
{
    struct stacktext *t = &g->text;
    struct str rest = line;
    struct quantity q;
    if (!quantity_take(&rest, &q) || !str_trim(rest).len) {
        stacktext_warn(t, "neither a value nor a frame", line);
        return;
    }
    if (q.has_unit && !g->has_unit) {
        g->has_unit = true;
        g->unit = q.unit;
    }
    if (!t->event && q.value > 0)
        t->event = builder_event(t->b, g->type.len ? g->type : STR("samples"),
                                 t->options->samples ? UNIT_COUNT : g->unit);
    g->rounding += q.has_unit ? q.step : 0;
    t->weight = q.value;
    add_frame(t, str_trim(rest));
}

/* "       key:  value": the key may contain spaces, and its columns are characters, not bytes. */
static bool is_label(struct str line)
{
    struct str rest = str_trim(line);
    struct quantity q;
    bool has_value = quantity_take(&rest, &q) && str_starts(rest, STR("   "));
    return !has_value && str_search(line, STR(":  ")) < line.len;
}

/* "Duration: 708.40ms, Total samples = 590ms (83.29%)" */
static void read_head(struct go_traces *g, struct str line)
{
    struct str type = STR("Type: "), total = STR("Total samples = ");
    size_t at = str_search(line, total);
    if (str_starts(line, type)) {
        struct str name = str_trim(str_skip(line, type.len));
        char *copy = arena_alloc(&g->names, name.len + 1);
        if (copy)
            g->type = (struct str){memcpy(copy, name.ptr, name.len), name.len};
    }
    struct str number = str_skip(line, at + total.len);
    struct quantity q;
    if (at < line.len && quantity_take(&number, &q)) {
        g->stated = q.value;
        g->stated_step = q.step;
    }
}

static void go_traces_line(struct stacktext *t, struct str line)
{
    struct go_traces *g = (struct go_traces *)t;
    bool has_value = str_trim(str_head(line, VALUE_COLUMNS)).len > 0;
    if (is_separator(line)) {
        end_trace(g);
        g->in_traces = true;
    } else if (!g->in_traces) {
        read_head(g, str_trim(line));
    } else if (has_value && t->b->path.count == 0) {
        if (!is_label(line))
            begin_trace(g, line);
    } else if (!has_value && t->b->path.count && line.len >= NAME_COLUMN) {
        add_frame(t, str_trim(line));
    } else if (str_trim(line).len) {
        stacktext_warn(t, "neither a value nor a frame", line);
    }
}

static void finish(struct stacktext *t)
{
    if (!t->b->path.count)
        return;
    builder_warn(t->b, "the input ends inside a stack", t->lines.number, 0, STR(""));
    t->b->profile->facts.incomplete = true;
    end_trace((struct go_traces *)t);
}

/* --- The file ----------------------------------------------------------------------- */

static bool go_traces_read(struct source *in, const struct import_options *options,
                           struct builder *b, struct error *err)
{
    struct go_traces g = {.text = {.weight = 0, .finish = finish},
                          .unit = UNIT_COUNT,
                          .type = STR(""),
                          .stated = -1};
    bool ok = stacktext_read(&g.text, in, options, b, go_traces_line, err);
    if (ok && g.stated >= 0)
        stated_check_about(b, g.type.len ? g.type : STR("samples"), g.sum, g.stated,
                           g.rounding + g.stated_step);
    b->profile->arena.failed |= g.names.failed;
    arena_deinit(&g.names);
    return ok;
}

static int go_traces_probe(struct str head)
{
    struct str line;
    bool separated = false;
    while (stacktext_probe_line(&head, &line)) {
        struct str rest = line;
        struct quantity q;
        if (separated && line.len > NAME_COLUMN && quantity_take(&rest, &q))
            return 90;
        separated |= is_separator(line);
        if (separated && !is_separator(line) && !is_label(line))
            return 0;
    }
    return 0;
}

const struct importer import_go_traces = {
    .name = "go-traces",
    .suffixes = "traces",
    .summary = "pprof -traces",
    .empty = "the traces have no values",
    .probe = go_traces_probe,
    .read = go_traces_read,
};
