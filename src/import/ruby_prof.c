/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of Ruby programs by ruby-prof, as a call graph (-p graph) or a table of methods (-p flat):
 *
 *   Measure Mode: wall_time
 *   Thread ID: 620
 *   Total Time: 0.0267
 *
 *     %total   %self      total       self       wait      child     calls     name           location
 *   ------------------------------------------------------------------------------------------------
 *                         0.018      0.000      0.000      0.018       3/3     Integer#times
 *     68.69%   0.06%      0.018      0.000      0.000      0.018         3     Cart#fill      cart.rb:2
 *                         0.003      0.003      0.000      0.000       3/4     Kernel#sleep
 *   ------------------------------------------------------------------------------------------------
 *
 * The callers of a method are before it, with their part of its calls and its time, and its callees
 * after it. An asterisk marks a method that calls itself. Shares have more digits than times in short
 * programs. Each thread has a graph of its own; they are added up. */
#include "base/number.h"
#include "import/gprof.h"
#include <math.h>

#define VALUE_MOST 1e9
#define CALLS_MOST 1e15
#define SHARE_STEP 1e-4 /* of the total */
#define TIME_STEP 1e-3

enum table_kind { TABLE_NONE, TABLE_GRAPH, TABLE_FLAT };

struct caller {
    uint32_t function;
    double calls, time;
};

#define CALLERS_MAX 4096 /* of a method */

struct ruby_prof {
    struct gprof graph;
    struct lines lines;
    enum table_kind kind;
    double scale; /* of a value: nanoseconds, or 1 */
    double total; /* of the thread */
    bool in_table, listed, has_wait;
    struct caller *callers; /* of the next method */
    size_t caller_count;
};

struct row {
    double total_share, self_share; /* negative in the rows of other methods */
    double total, self, wait, calls;
    struct str name, file;
    uint64_t line;
};

/* --- Rows --------------------------------------------------------------------------- */

static bool take_number(struct str *rest, double most, double *value)
{
    return number_parse_double(str_word(rest), value) && *value >= 0 && *value < most;
}

/* "68.69%"; "NaN%" of nothing. */
static bool take_share(struct str *rest, double *share)
{
    struct str left = *rest, word = str_word(&left);
    *share = 0;
    if (!str_ends(word, STR("%")))
        return false;
    word.len--;
    if (!number_parse_double(word, share) || !(*share >= 0 && *share <= 100))
        *share = 0;
    *rest = left;
    return true;
}

/* "Cart#fill      cart.rb:2" */
static void split_location(struct str text, struct row *row)
{
    size_t gap = str_search(text, STR("  ")), space = str_rfind(text, ' ');
    size_t end = gap < text.len ? gap : space;
    struct str location = str_trim(str_skip(text, end));
    size_t colon = str_rfind(location, ':');
    row->name = text;
    if (colon == location.len ||
        !number_parse_u64(str_skip(location, colon + 1), &row->line))
        return;
    row->name = str_trim(str_head(text, end));
    row->file = str_head(location, colon);
}

static bool parse_row(const struct ruby_prof *r, struct str line, struct row *row)
{
    struct str rest = line, calls;
    double child;
    *row = (struct row){.total_share = -1, .self_share = -1, .file = STR("")};
    if (r->kind == TABLE_FLAT && !take_number(&rest, 101, &row->self_share))
        return false;
    if (r->kind == TABLE_GRAPH && take_share(&rest, &row->total_share))
        take_share(&rest, &row->self_share);
    if (!take_number(&rest, VALUE_MOST, &row->total) ||
        !take_number(&rest, VALUE_MOST, &row->self) ||
        !take_number(&rest, VALUE_MOST, &row->wait) ||
        !take_number(&rest, VALUE_MOST, &child))
        return false;
    calls = str_word(&rest);
    calls = str_head(calls, str_find(calls, '/'));
    if (!take_number(&calls, CALLS_MOST, &row->calls))
        return false;
    rest = str_trim(rest);
    rest = str_skip(rest, str_starts(rest, STR("*")));
    split_location(rest, row);
    return row->name.len;
}

/* --- The graph ---------------------------------------------------------------------- */

static uint32_t function_of(struct gprof *g, struct str name)
{
    string_id text = builder_string(g->b, name);
    uint32_t id = gprof_function(g, text);
    if (id)
        g->functions[id].name = text;
    return id;
}

/* With the time that it waited. A share of the total has more digits than a value below ten. */
static double self_of(const struct ruby_prof *r, const struct row *row)
{
    bool by_share = row->self_share > 0 && r->total * SHARE_STEP < TIME_STEP;
    double value = by_share ? r->total * row->self_share / 100 : row->self;
    return floor((value + row->wait) * r->scale + 0.5);
}

static void add_method(struct ruby_prof *r, const struct row *row)
{
    struct gprof *g = &r->graph;
    uint32_t id = function_of(g, row->name);
    struct gprof_function *f = id ? &g->functions[id] : NULL;
    if (!f)
        return;
    f->listed = true;
    r->has_wait |= row->wait > 0;
    f->self += self_of(r, row);
    f->called += row->calls;
    if (row->file.len) {
        f->file = builder_string(g->b, row->file);
        f->line = row->line <= INT32_MAX ? (uint32_t)row->line : 0;
    }
    for (size_t i = 0; i < r->caller_count; i++) {
        const struct caller *c = &r->callers[i];
        if (c->function == id)
            f->recursed += c->calls;
        struct gprof_call *call = gprof_call(g, c->function, id);
        if (!call)
            return;
        call->count += c->calls;
        call->part += c->time > 0 ? c->time : c->calls;
        f = &g->functions[id];
    }
}

static void read_row(struct ruby_prof *r, struct str line)
{
    struct row row;
    if (!parse_row(r, line, &row)) {
        builder_warn(r->graph.b, "not a row of a method", r->lines.number, 1, line);
        return;
    }
    if (row.self_share >= 0) {
        add_method(r, &row);
        r->listed = true;
    } else if (!r->listed && r->caller_count < CALLERS_MAX) {
        r->callers[r->caller_count++] =
            (struct caller){function_of(&r->graph, row.name), row.calls,
                            floor(row.total * r->scale + 0.5)};
    }
}

/* --- The text ----------------------------------------------------------------------- */

/* "Measure Mode: wall_time" */
static void read_mode(struct ruby_prof *r, struct str mode)
{
    struct gprof *g = &r->graph;
    bool time = str_ends(mode, STR("time")), memory = str_equal(mode, STR("memory"));
    r->in_table = false;
    r->scale = time ? 1e9 : 1;
    g->event = time ? "time" : memory ? "memory" : "allocations";
    g->unit = time ? UNIT_NANOSECONDS : memory ? UNIT_BYTES : UNIT_COUNT;
}

static bool take_prefix(struct str *text, struct str prefix)
{
    if (!str_starts(*text, prefix))
        return false;
    *text = str_trim(str_skip(*text, prefix.len));
    return true;
}

static enum table_kind heading_kind(struct str line)
{
    struct str rest = line, first = str_word(&rest), second = str_word(&rest);
    if (!str_has(line, STR(" calls ")) || !str_has(line, STR(" name")))
        return TABLE_NONE;
    if (str_equal(first, STR("%total")) && str_equal(second, STR("%self")))
        return TABLE_GRAPH;
    bool flat = str_equal(first, STR("%self")) && str_equal(second, STR("total"));
    return flat ? TABLE_FLAT : TABLE_NONE;
}

static void read_line(struct ruby_prof *r, struct str line)
{
    struct str text = str_trim(line);
    enum table_kind kind = heading_kind(text);
    bool rule = str_starts(text, STR("--------"));
    if (kind != TABLE_NONE) {
        r->kind = kind;
        r->in_table = true;
    } else if (take_prefix(&text, STR("Measure Mode:"))) {
        read_mode(r, text);
    } else if (take_prefix(&text, STR("Total Time:")) ||
               take_prefix(&text, STR("Total:"))) {
        if (!take_number(&text, VALUE_MOST, &r->total))
            r->total = 0;
        r->graph.stated += r->total * r->scale;
    } else if (text.len == 0 || str_starts(text, STR("* "))) {
        r->in_table = false; /* the explanation of columns follows */
    } else if (r->in_table && !rule) {
        read_row(r, line);
    }
    if (rule || !r->in_table) {
        r->caller_count = 0;
        r->listed = false;
    }
}

static bool ruby_prof_read(struct source *in, const struct import_options *options,
                           struct builder *b, struct error *err)
{
    struct ruby_prof r = {.lines = lines_of(in, err), .scale = 1e9};
    struct gprof *g = &r.graph;
    struct str line;
    *g = (struct gprof){
        .b = b, .options = options, .event = "time", .unit = UNIT_NANOSECONDS};
    r.callers = arena_zalloc(&g->arena, CALLERS_MAX, sizeof *r.callers);
    while (r.callers && !builder_failed(b) && !g->arena.failed &&
           lines_next(&r.lines, &line))
        read_line(&r, line);
    g->bytes = r.lines.source->offset;
    bool by_share = r.total * SHARE_STEP < TIME_STEP && !r.has_wait;
    g->precision = (by_share ? r.total * SHARE_STEP : TIME_STEP) * r.scale;
    if (g->function_count && !g->arena.failed)
        gprof_add_stacks(g);
    builder_end_scratch(b, &g->arena);
    return !r.lines.failed;
}

static int ruby_prof_probe(struct str head)
{
    bool measured = false;
    for (int i = 0; i < 20 && head.len; i++) {
        struct str line = str_trim(str_cut(&head, '\n'));
        measured |= str_starts(line, STR("Measure Mode:"));
        if (heading_kind(line) != TABLE_NONE)
            return measured ? 92 : 0;
    }
    return 0;
}

const struct importer import_ruby_prof = {
    .name = "ruby-prof",
    .suffixes = "",
    .summary = "ruby-prof's call graph and table, as text",
    .probe = ruby_prof_probe,
    .counts_all = true,
    .read = ruby_prof_read,
};
