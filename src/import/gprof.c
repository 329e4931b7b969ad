/* SPDX-License-Identifier: Apache-2.0 */
/* gprof's text: a flat profile, a call graph, or both.
 *
 *   granularity: each sample hit covers 2 byte(s) for 0.51% of 1.93 seconds
 *
 *   index % time    self  children    called     name
 *                   0.16    1.77       1/1           start [1]        a caller
 *   [2]    100.0    0.16    1.77       1         main [2]             the function
 *                   1.77    0.00       1/1           a <cycle 1> [5]  a callee
 *   -----------------------------------------------
 *
 * "3/6" is three of the six calls from outside of the function's cycle, and a plain number
 * is calls inside a cycle, which have no time. "1+5" is one call and five recursive ones.
 * The times of callers and callees are rounded to 0.01 seconds; gprof computes them from
 * the self times and the counts, and gprof_stacks.c does the same without rounding.
 *
 * Without a call graph, the functions of the flat profile are the stacks. */
#include "import/gprof.h"
#include "base/array.h"
#include "base/number.h"
#include <math.h>

#define NUMBER_MOST 1e15
#define BY_NAME ((uint64_t)1 << 40) /* keys of functions without an index */

enum section { SECTION_NONE, SECTION_FLAT, SECTION_GRAPH };

/* A caller, until its callee is known. */
struct caller {
    uint32_t function;
    double count, entered;
};

struct reader {
    struct gprof graph, flat;
    struct lines lines;
    enum section section;
    struct caller *callers; /* of the current block */
    size_t caller_count, caller_cap;
    uint32_t function;   /* of the current block; 0: none yet */
    bool listed, is_sum; /* its line was read; it is "<cycle 1 as a whole>" */
    double unit;         /* of the flat profile: nanoseconds, or 1 for ticks */
    double stated;       /* the total of the next call graph, or negative */
};

/* A line of a block, or of the flat profile. */
struct entry {
    double self;
    double count, of;        /* 3/6, 1+5, or 3 */
    bool recursive, counted; /* counted: it has a count */
    struct str name;
};

static void warn(struct reader *r, const char *what, struct str line)
{
    builder_warn(r->graph.b, what, r->lines.number, 1, line);
}

/* --- Tables -------------------- */

uint32_t gprof_function(struct gprof *g, uint64_t key)
{
    uint64_t *id = idmap_put(&g->function_ids, &g->arena, key);
    if (!id || *id)
        return id ? (uint32_t)*id : 0;
    if (!ARRAY_RESERVE(&g->arena, g->functions, g->function_cap, g->function_count + 2))
        return 0;
    g->functions[++g->function_count] = (struct gprof_function){0};
    *id = g->function_count;
    return (uint32_t)g->function_count;
}

struct gprof_call *gprof_call(struct gprof *g, uint32_t caller, uint32_t callee)
{
    uint64_t *id =
        idmap_put(&g->call_ids, &g->arena, (uint64_t)caller << 32 | (uint64_t)callee);
    if (!id)
        return NULL;
    if (*id)
        return &g->calls[*id];
    if (!ARRAY_RESERVE(&g->arena, g->calls, g->call_cap, g->call_count + 2))
        return NULL;
    *id = ++g->call_count;
    g->calls[*id] = (struct gprof_call){
        .caller = caller, .callee = callee, .next = g->functions[caller].first_call};
    g->functions[caller].first_call = (uint32_t)*id;
    return &g->calls[*id];
}

/* --- Names -------------------- */

/* Removes the number in brackets, which are round if the function is not listed, from
 * the end of a name. */
static bool cut_index(struct str *name, uint64_t *number)
{
    struct str text = str_trim(*name);
    size_t square = str_rfind(text, '['), round = str_rfind(text, '(');
    bool in_square = str_ends(text, STR("]"));
    size_t at = in_square ? square : round;
    if (!in_square && !str_ends(text, STR(")")))
        return false;
    if (at == text.len || (at && text.ptr[at - 1] != ' '))
        return false;
    if (!number_parse_u64(str_span(text.ptr + at + 1, text.ptr + text.len - 1), number) ||
        *number >= BY_NAME)
        return false;
    *name = str_trim(str_head(text, at));
    return true;
}

static struct str without_cycle(struct str name)
{
    size_t at = str_rsearch(name, STR("<cycle "));
    if (at && at < name.len && str_ends(name, STR(">")) && name.ptr[at - 1] == ' ')
        return str_trim(str_head(name, at));
    return name;
}

/* "work (a.c:12 @ 4011d6)", by gprof -l. */
static void set_name(struct builder *b, struct gprof_function *f, struct str name)
{
    size_t at = str_rsearch(name, STR(" @ ")), open, colon;
    uint64_t address, line;
    struct str location = str_head(name, at);
    f->name = builder_string(b, name);
    if (at == name.len || !str_ends(name, STR(")")) ||
        !number_parse_hex(str_span(name.ptr + at + 3, name.ptr + name.len - 1), &address))
        return;
    open = str_rsearch(location, STR(" ("));
    colon = str_rfind(location, ':');
    if (open == location.len || colon == location.len || colon < open + 2 ||
        !number_parse_u64(str_skip(location, colon + 1), &line) || line > UINT32_MAX)
        return;
    f->name = builder_string(b, str_head(name, open));
    f->file = builder_string(b, str_span(name.ptr + open + 2, name.ptr + colon));
    f->line = (uint32_t)line;
}

uint32_t gprof_function_named(struct gprof *g, struct str name)
{
    uint64_t key;
    if (!cut_index(&name, &key))
        key = BY_NAME | builder_string(g->b, name);
    uint32_t id = gprof_function(g, key);
    if (id && !g->functions[id].name)
        set_name(g->b, &g->functions[id], without_cycle(name));
    return id;
}

/* --- Numbers -------------------- */

static bool parse_number(struct str word, double *number)
{
    return word.len && number_parse_double(word, number) && *number >= 0 &&
           *number < NUMBER_MOST;
}

static bool parse_time(struct str word, double *time)
{
    return str_find(word, '.') < word.len && parse_number(word, time);
}

static bool parse_count(struct str word, double *count)
{
    uint64_t number;
    bool ok = number_parse_u64(word, &number) && number < (uint64_t)NUMBER_MOST;
    *count = ok ? (double)number : 0;
    return ok;
}

/* "3/6", "1+5" or "3" */
static bool parse_called(struct str word, struct entry *e)
{
    struct str first = word;
    size_t plus = str_find(word, '+'), slash = str_find(word, '/');
    size_t at = plus < slash ? plus : slash;
    e->recursive = plus < word.len;
    e->of = 0;
    first.len = at;
    return parse_count(first, &e->count) &&
           (at == word.len || parse_count(str_skip(word, at + 1), &e->of));
}

/* The time in seconds, in nanoseconds or ticks. */
static double scaled(double time, double unit)
{
    return floor(time * unit + 0.5);
}

/* --- The call graph -------------------- */

static void start_block(struct reader *r)
{
    r->function = 0;
    r->listed = r->is_sum = false;
    r->caller_count = 0;
}

/* A call may be stated twice: by its caller, and by its callee. */
static void add_call(struct reader *r, uint32_t caller, uint32_t callee, double count,
                     double entered)
{
    struct gprof *g = &r->graph;
    if (!(count > 0)) /* found by gprof -c, in the code only */
        return;
    struct gprof_call *call = gprof_call(g, caller, callee);
    if (call && count > call->count)
        call->count = call->part = count;
    if (entered > g->functions[callee].entered)
        g->functions[callee].entered = entered;
}

/* "[2]  100.0  0.16  1.77  1+5  main [2]" */
static bool parse_primary(struct str line, struct entry *e)
{
    struct str rest = line, word;
    double share, children;
    str_cut(&rest, ']');
    if (!parse_time(str_word(&rest), &share) || !parse_time(str_word(&rest), &e->self) ||
        !parse_time(str_word(&rest), &children))
        return false;
    e->name = str_trim(rest);
    word = str_word(&rest);
    rest = str_trim(rest);
    e->counted = rest.len && !str_starts(rest, STR("[")) && parse_called(word, e);
    if (e->counted)
        e->name = rest;
    else
        e->count = e->of = 0;
    return e->name.len;
}

static void read_primary(struct reader *r, struct str line)
{
    struct gprof *g = &r->graph;
    struct entry e;
    if (r->listed || !parse_primary(line, &e)) {
        warn(r,
             r->listed ? "a second function in a block"
                       : "not a function of a call graph",
             line);
        return;
    }
    r->listed = true;
    r->is_sum = str_starts(e.name, STR("<cycle ")) && str_has(e.name, STR("as a whole"));
    if (r->is_sum)
        return;
    struct str index = str_head(str_skip(line, 1), str_find(line, ']') - 1);
    uint64_t key = 0;
    struct str name = e.name;
    if (!cut_index(&name, &key) && number_parse_u64(index, &key) && key < BY_NAME)
        warn(r, "a function without its number, skipped", line);
    else
        r->function = gprof_function_named(g, e.name);
    struct gprof_function *f = r->function ? &g->functions[r->function] : NULL;
    if (!f || f->listed) {
        if (f)
            warn(r, "a function that is listed twice, skipped", line);
        r->is_sum = true;
        return;
    }
    f->listed = true;
    f->self = scaled(e.self, 1e9);
    f->called = e.count + e.of;
    f->recursed = e.of;
    f->uncounted = !e.counted;
    for (size_t i = 0; i < r->caller_count; i++)
        add_call(r, r->callers[i].function, r->function, r->callers[i].count,
                 r->callers[i].entered);
}

/* "0.16  1.77  1/1  start [1]"; inside a cycle without times. */
static bool parse_neighbour(struct str line, struct entry *e)
{
    struct str rest = line, word = str_word(&rest);
    double children;
    if (parse_time(word, &e->self)) {
        if (!parse_time(str_word(&rest), &children))
            return false;
        word = str_word(&rest);
    }
    e->name = str_trim(rest);
    return parse_called(word, e) && !e->recursive && e->name.len;
}

static void read_neighbour(struct reader *r, struct str line)
{
    struct gprof *g = &r->graph;
    struct entry e;
    if (r->is_sum || str_equal(line, STR("<spontaneous>")) ||
        str_starts(line, STR("called/total"))) /* the header's last line, by gprof -T */
        return;
    if (!parse_neighbour(line, &e)) {
        warn(r, "not a line of a call graph", line);
        return;
    }
    uint32_t function = gprof_function_named(g, e.name);
    if (!function)
        return;
    if (r->listed) {
        add_call(r, r->function, function, e.count, e.of);
        return;
    }
    if (ARRAY_RESERVE(&g->arena, r->callers, r->caller_cap, r->caller_count + 1))
        r->callers[r->caller_count++] = (struct caller){function, e.count, e.of};
}

static bool is_rule(struct str text)
{
    size_t dashes = 0;
    while (dashes < text.len && text.ptr[dashes] == '-')
        dashes++;
    return dashes >= 5 && dashes == text.len;
}

static bool block_is_open(const struct reader *r)
{
    return r->listed || r->caller_count;
}

static void end_block(struct reader *r, struct str line)
{
    if (!r->listed && r->caller_count)
        warn(r, "a block without its function", line);
    start_block(r);
}

static void read_graph_line(struct reader *r, struct str line)
{
    struct str text = str_trim(line);
    if (str_starts(line, STR("\f")) || str_starts(text, STR("Index by function name")) ||
        str_starts(line, STR(" This table"))) {
        end_block(r, line);
        r->section = SECTION_NONE;
    } else if (is_rule(text)) {
        end_block(r, line);
    } else if (str_starts(text, STR("["))) {
        read_primary(r, text);
    } else if (text.len) {
        read_neighbour(r, text);
    }
}

/* --- The flat profile -------------------- */

/* "9.09  0.10  0.04  120  0.33  0.73  pattern_search"; without calls, only three
 * numbers. */
static void read_flat_line(struct reader *r, struct str line)
{
    struct gprof *g = &r->flat;
    struct str text = str_trim(line), rest = text, name;
    double share, sum, self, count = 0, each;
    if (text.len == 0 || str_starts(line, STR("\f"))) {
        r->section = SECTION_NONE;
        return;
    }
    bool ok = parse_time(str_word(&rest), &share) &&
              parse_number(str_word(&rest), &sum) && parse_number(str_word(&rest), &self);
    name = rest = str_trim(rest);
    if (ok && parse_count(str_word(&rest), &count) &&
        parse_time(str_word(&rest), &each) && parse_time(str_word(&rest), &each))
        name = str_trim(rest);
    else
        count = 0;
    if (!ok || !name.len) {
        warn(r, "not a line of a flat profile", line);
        return;
    }
    uint32_t id = gprof_function_named(g, name);
    if (!id)
        return;
    struct gprof_function *f = &g->functions[id];
    f->self += scaled(self, r->unit);
    f->called += count;
    if (sum * r->unit > g->stated)
        g->stated = sum * r->unit;
}

/* --- Sections -------------------- */

static void reset(struct gprof *g, struct builder *b,
                  const struct import_options *options)
{
    builder_end_scratch(b, &g->arena);
    *g = (struct gprof){.b = b,
                        .options = options,
                        .event = "time",
                        .unit = UNIT_NANOSECONDS,
                        .stated = -1,
                        .precision = 1e7};
}

/* Both should have the same total: a flat profile of another program may come before a
 * call graph. */
static void check_pair(const struct reader *r)
{
    const struct gprof *graph = &r->graph, *flat = &r->flat;
    double sum = 0, slack = graph->precision;
    if (!graph->function_count || !flat->function_count || flat->unit == UNIT_COUNT)
        return;
    for (size_t i = 1; i <= graph->function_count; i++) {
        sum += graph->functions[i].self;
        slack += graph->precision / 2;
    }
    builder_warn_times(graph->b,
                       "a flat profile with another total than the call graph, skipped",
                       sum > flat->stated + slack || sum < flat->stated - slack);
}

/* Each function that a block names has a block of its own, even one without time. */
static void check_blocks(const struct reader *r)
{
    const struct gprof *g = &r->graph;
    uint64_t missing = 0;
    for (size_t i = 1; i <= g->function_count; i++)
        missing += !g->functions[i].listed;
    builder_warn_times(g->b,
                       "a function without its block of the call graph, truncated or "
                       "omitted by gprof -e: its own time is not known",
                       missing);
    g->b->profile->facts.incomplete |= missing && r->section == SECTION_GRAPH;
}

/* Makes stacks of what was read so far: a file may contain the profiles of several
 * programs. */
static void finish(struct reader *r)
{
    struct builder *b = r->graph.b;
    const struct import_options *options = r->graph.options;
    struct gprof *g = r->graph.function_count ? &r->graph : &r->flat;
    r->callers = NULL;
    r->caller_cap = 0;
    start_block(r);
    g->bytes = r->lines.source->offset;
    check_pair(r);
    check_blocks(r);
    if (g->function_count && !g->arena.failed)
        gprof_add_stacks(g);
    reset(&r->graph, b, options);
    reset(&r->flat, b, options);
}

/* "index % time    self  children    called     name", also with "descendants". */
static bool is_graph_header(struct str line)
{
    struct str rest = line, word;
    if (!str_equal(str_word(&rest), STR("index")))
        return false;
    word = str_word(&rest);
    if (str_equal(word, STR("%")))
        word = str_word(&rest);
    if (!str_equal(word, STR("time")) && !str_equal(word, STR("%time")))
        return false;
    if (!str_equal(str_word(&rest), STR("self")))
        return false;
    word = str_word(&rest);
    return (str_equal(word, STR("children")) || str_equal(word, STR("descendants"))) &&
           str_starts(str_word(&rest), STR("called")) &&
           str_equal(str_word(&rest), STR("name"));
}

/* "time   seconds   seconds    calls  us/call  us/call  name" */
static bool is_flat_header(struct str line, bool *ticks)
{
    struct str rest = line;
    bool named = str_equal(str_word(&rest), STR("time"));
    struct str first = str_word(&rest), second = str_word(&rest);
    *ticks = str_equal(first, STR("ticks"));
    return named && (*ticks || str_equal(first, STR("seconds"))) &&
           str_equal(first, second) && str_equal(str_word(&rest), STR("calls")) &&
           str_ends(str_trim(line), STR("name"));
}

/* "granularity: each sample hit covers 2 byte(s) for 0.51% of 1.93 seconds" */
static void read_granularity(struct reader *r, struct str line)
{
    struct str text = str_trim(line);
    double seconds;
    if (!str_ends(text, STR(" seconds")))
        return;
    text.len -= STR(" seconds").len;
    text = str_skip(text, str_rfind(text, ' ') + 1);
    if (parse_time(text, &seconds))
        r->stated = seconds * 1e9;
}

/* True if the line begins a section. */
static bool read_header(struct reader *r, struct str line)
{
    bool ticks;
    if (is_graph_header(line)) {
        end_block(r, line);
        if (r->graph.function_count)
            finish(r);
        r->graph.stated = r->stated;
        r->stated = -1;
        r->section = SECTION_GRAPH;
    } else if (is_flat_header(line, &ticks)) {
        end_block(r, line);
        if (r->flat.function_count)
            finish(r);
        if (ticks) {
            r->flat.event = "ticks";
            r->flat.unit = UNIT_COUNT;
        }
        r->unit = ticks ? 1 : 1e9;
        r->flat.precision = ticks ? 0.01 : 1e7;
        r->section = SECTION_FLAT;
    } else {
        return false;
    }
    return true;
}

static void read_line(struct reader *r, struct str line)
{
    if (read_header(r, line))
        return;
    if (r->section == SECTION_GRAPH)
        read_graph_line(r, line);
    else if (r->section == SECTION_FLAT)
        read_flat_line(r, line);
    else if (str_starts(str_trim(line), STR("granularity:")))
        read_granularity(r, line);
}

static bool gprof_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct reader r = {.lines = lines_of(in, err), .stated = -1};
    struct str line;
    reset(&r.graph, b, options);
    reset(&r.flat, b, options);
    while (!builder_failed(b) && !r.graph.arena.failed && !r.flat.arena.failed &&
           lines_next(&r.lines, &line))
        read_line(&r, line);
    if (r.section == SECTION_GRAPH && block_is_open(&r)) {
        warn(&r, "the file ends inside a block of the call graph", STR(""));
        b->profile->facts.incomplete = true;
    }
    finish(&r);
    return !r.lines.failed;
}

static int gprof_probe(struct str head)
{
    bool ticks;
    for (int i = 0; i < 400 && head.len; i++) {
        struct str line = str_cut(&head, '\n');
        if (is_graph_header(line) || is_flat_header(line, &ticks))
            return 96;
    }
    return 0;
}

const struct importer import_gprof = {
    .name = "gprof",
    .suffixes = "gprof,prof",
    .summary = "gprof's flat profile and call graph, as text",
    .probe = gprof_probe,
    .read = gprof_read,
};
