/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of Python programs by cProfile, profile and pstats: a dict in marshal format.
 *
 *   {(file, line, function): (primitive calls, calls, self time, total time,
 *                             {caller: (calls, primitive calls, self, total time)})}
 *
 * A caller is a key like (file, line, function). The profile module has only the number
 * of calls for each caller: the function's total time is then divided in proportion to
 * the calls. Functions of C have the file "~" and line 0. Times are in seconds; they
 * become integers of nanoseconds, which the profilers' clocks have.
 *
 * The format is a call graph: callgrind_stacks.c makes stacks of it. A function's name
 * includes its location, "normpath (posixpath.py:337)", as in other profiles of Python,
 * because many functions of different modules have the same name. */
#include "codec/marshal.h"
#include "import/callgrind.h"
#include "import/python_name.h"
#include <math.h>

#define NANOSECONDS 1e9
#define SECONDS_MOST 1e9
#define CALLS_MOST 1e15
#define NUMBERS_MAX 64 /* that are read of one caller; each merged profile has four */

/* The items of a function's value. */
enum function_item { PRIMITIVE_CALLS, CALLS, SELF, TOTAL, CALLERS };

struct pstats {
    struct callgrind graph;
    struct marshal file;
    string_id *strings;  /* by node: of texts that were read */
    uint32_t *functions; /* by node: of keys that were read */
    struct output label;
    uint64_t label_bytes, callers_read;
    uint64_t bad_keys, bad_times, negative_times, bad_calls, omitted;
};

/* --- Functions -------------------- */

/* Shared texts are read once. */
static string_id string_of(struct pstats *s, uint32_t node)
{
    struct str text;
    uint32_t at = marshal_at(&s->file, node);
    if (!marshal_text(&s->file, at, &text))
        return 0;
    if (!s->strings[at])
        s->strings[at] = builder_string(s->graph.b, text);
    return s->strings[at];
}

/* "normpath (posixpath.py:337)". References to one long name are labelled with the
 * location while that takes no more than the limit. */
static string_id label_of(struct pstats *s, string_id name, string_id file, uint32_t line)
{
    const struct callgrind *c = &s->graph;
    struct str text = profile_string(c->b->profile, name);
    struct str path = profile_string(c->b->profile, file);
    s->label_bytes += text.len + python_short_path(text, path).len;
    if (limits_expansion_exceeded(c->b->limits, c->bytes, s->label_bytes))
        return name;
    s->label.used = 0;
    python_write_label(&s->label, text, path, line);
    return builder_string(c->b, output_contents(&s->label));
}

/* Whether the node is (file, line, function). */
static bool is_key(const struct marshal *m, uint32_t key)
{
    struct str text;
    double line;
    const struct marshal_node *n = &m->nodes[key];
    if (n->kind != MARSHAL_LIST || n->count != 3)
        return false;
    uint32_t at = key + 1;
    if (!marshal_text(m, at, &text))
        return false;
    at = marshal_next(m, at);
    if (!marshal_number(m, at, &line) || !(line >= 0) || line > INT32_MAX)
        return false;
    return marshal_text(m, marshal_next(m, at), &text);
}

/* The function with that key; 0 if it is not a key, or if out of memory. */
static uint32_t function_of(struct pstats *s, uint32_t node)
{
    struct callgrind *c = &s->graph;
    uint32_t key = marshal_at(&s->file, node);
    double number = 0;
    if (s->functions[key])
        return s->functions[key];
    if (!is_key(&s->file, key)) {
        s->bad_keys++;
        return 0;
    }
    uint32_t at = key + 1; /* three items without items */
    marshal_number(&s->file, at + 1, &number);
    string_id file = string_of(s, at), name = string_of(s, at + 2);
    uint32_t line = (uint32_t)number;
    if (str_equal(profile_string(c->b->profile, file), STR("~")) && !line)
        file = 0;
    if (file)
        name = label_of(s, name, file, line);
    uint32_t id = callgrind_function_of(c, name, file, 0);
    if (id)
        c->functions[id].line = line;
    s->functions[key] = id;
    return id;
}

/* --- Costs -------------------- */

/* A time in nanoseconds; 0, counted, if it is not one. */
static double time_of(struct pstats *s, uint32_t node)
{
    double seconds;
    bool number = marshal_number(&s->file, node, &seconds);
    if (number && seconds >= 0 && seconds < SECONDS_MOST)
        return floor(seconds * NANOSECONDS + 0.5);
    s->negative_times += number && seconds < 0;
    s->bad_times += !(number && seconds < 0);
    return 0;
}

static double calls_of(struct pstats *s, uint32_t node)
{
    double calls;
    bool ok = marshal_number(&s->file, node, &calls) && calls >= 0 && calls < CALLS_MOST;
    s->bad_calls += !ok;
    return ok ? calls : 0;
}

/* A function's value. */
struct value {
    double calls, total;
    uint32_t callers; /* its node, or 0 */
};

static struct value read_value(struct pstats *s, uint32_t function, uint32_t node)
{
    const struct marshal_node *n = &s->file.nodes[node];
    struct value v = {0};
    uint32_t at = node + 1;
    for (uint32_t i = 0; i < n->count && i <= CALLERS; i++) {
        if (i == CALLS)
            s->graph.functions[function].called += v.calls = calls_of(s, at);
        else if (i == SELF)
            s->graph.functions[function].self[0] += time_of(s, at);
        else if (i == TOTAL)
            v.total = time_of(s, at);
        else if (i == CALLERS)
            v.callers = marshal_at(&s->file, at);
        at = marshal_next(&s->file, at);
    }
    s->graph.functions[function].total += v.total;
    return v;
}

/* The number of calls by one caller: of each group of four numbers, the first one. */
static double caller_calls(struct pstats *s, uint32_t node)
{
    const struct marshal_node *n = &s->file.nodes[node];
    double sum = 0;
    uint32_t at = node + 1;
    if (n->kind == MARSHAL_NUMBER)
        return calls_of(s, node);
    for (uint32_t i = 0; n->kind == MARSHAL_LIST && i < n->count && i < NUMBERS_MAX;
         i++) {
        sum += i % 4 == 0 ? calls_of(s, at) : 0;
        at = marshal_next(&s->file, at);
    }
    return sum;
}

/* The total time of calls by one caller: of each group of four numbers, the last one. */
static double caller_time(struct pstats *s, const struct value *v, uint32_t node)
{
    const struct marshal_node *n = &s->file.nodes[node];
    if (n->kind == MARSHAL_NUMBER)
        return v->calls > 0 ? floor(v->total * (calls_of(s, node) / v->calls) + 0.5) : 0;
    double sum = 0;
    uint32_t at = node + 1;
    bool list = n->kind == MARSHAL_LIST && n->count >= 4;
    for (uint32_t i = 0; list && i < n->count && i < NUMBERS_MAX; i++) {
        if (i % 4 == 3)
            sum += time_of(s, at);
        at = marshal_next(&s->file, at);
    }
    s->bad_times += !list && !s->file.damaged;
    return sum;
}

static void read_callers(struct pstats *s, uint32_t callee, const struct value *v)
{
    struct callgrind *c = &s->graph;
    const struct marshal_node *n = &s->file.nodes[v->callers];
    uint32_t key = v->callers + 1;
    if (n->kind != MARSHAL_DICT)
        return;
    for (uint32_t i = 0; i + 1 < n->count && !c->arena.failed; i += 2) {
        uint32_t value = marshal_next(&s->file, key);
        if (++s->callers_read > s->file.count) { /* functions share a dict */
            s->omitted++;
            return;
        }
        c->function = function_of(s, key);
        c->called = callee;
        struct callgrind_call *call = c->function ? callgrind_call_of(c) : NULL;
        if (call) {
            call->count += caller_calls(s, marshal_at(&s->file, value));
            call->cost[0] += caller_time(s, v, marshal_at(&s->file, value));
        }
        key = marshal_next(&s->file, value);
    }
}

/* --- The file -------------------- */

static void read_functions(struct pstats *s)
{
    const struct marshal *m = &s->file;
    uint32_t key = 1;
    if (m->nodes[0].kind != MARSHAL_DICT)
        return;
    for (uint32_t i = 0; i + 1 < m->nodes[0].count && !s->graph.arena.failed; i += 2) {
        uint32_t value = marshal_next(m, key), at = marshal_at(m, value);
        uint32_t function = function_of(s, key);
        if (function && m->nodes[at].kind == MARSHAL_LIST) {
            struct value v = read_value(s, function, at);
            if (v.callers)
                read_callers(s, function, &v);
        }
        key = marshal_next(m, value);
    }
}

static void report(const struct pstats *s)
{
    struct builder *b = s->graph.b;
    builder_warn_times(b, "a key that is not a file, line and function", s->bad_keys);
    builder_warn_times(b, "a time that is not a number of seconds", s->bad_times);
    builder_warn_times(b, "a number of calls that is not valid", s->bad_calls);
    builder_warn_times(b, "a negative time, skipped", s->negative_times);
    builder_warn_times(b, "more callers than the limit: the rest is skipped", s->omitted);
    if (!s->file.damaged)
        return;
    builder_warn_offset(b, "the file is truncated or damaged; the rest is skipped",
                        s->file.offset);
    b->profile->facts.incomplete = true;
}

static bool pstats_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct pstats s = {.graph = CALLGRIND_GRAPH(b, options)};
    struct callgrind *c = &s.graph;
    struct str all;
    if (!source_all(in, &all, err))
        return false;
    c->bytes = all.len;
    c->exact_self = true;
    c->event_count = 1;
    c->events[0] = (struct callgrind_event){
        .event = builder_event(b, STR("time"),
                               options->samples ? UNIT_COUNT : UNIT_NANOSECONDS),
        .scale = 1};
    marshal_read(&s.file, &c->arena, all, UINT32_MAX);
    s.strings = arena_zalloc(&c->arena, (size_t)s.file.count + 1, sizeof *s.strings);
    s.functions = arena_zalloc(&c->arena, (size_t)s.file.count + 1, sizeof *s.functions);
    if (s.strings && s.functions && s.file.count) {
        read_functions(&s);
        if (c->functions && !c->arena.failed)
            callgrind_add_stacks(c);
    }
    report(&s);
    b->profile->arena.failed |= s.label.failed;
    output_deinit(&s.label);
    builder_end_scratch(b, &c->arena);
    return true;
}

/* --- Detection -------------------- */

/* The dict, the first key, and the value up to its dict; the key of a module has its code. */
#define FIRST_NODES 4096

/* Whether the value begins with two counts and two times, and a dict of callers. */
static bool is_value(const struct marshal *m, uint32_t node)
{
    const struct marshal_node *n = &m->nodes[node];
    uint32_t at = node + 1;
    double number;
    if (n->kind != MARSHAL_LIST || n->count != 5)
        return false;
    for (unsigned i = 0; i < CALLERS; i++, at = marshal_next(m, at))
        if (!marshal_number(m, at, &number))
            return false;
    return m->nodes[at].kind == MARSHAL_DICT;
}

/* The first function is read. No text begins with these two bytes. */
static int pstats_probe(struct str head)
{
    struct arena arena = ARENA_INIT;
    struct marshal m;
    char first = head.len > 1 ? (char)(head.ptr[0] & 0x7f) : 0;
    char second = head.len > 1 ? (char)(head.ptr[1] & 0x7f) : 0;
    if (first != '{' || (second != '(' && second != ')'))
        return 0;
    marshal_read(&m, &arena, head, FIRST_NODES);
    bool ok = m.count && m.nodes[0].count >= 2 && is_key(&m, 1) &&
              is_value(&m, marshal_next(&m, 1));
    arena_deinit(&arena);
    return ok ? 95 : 0;
}

const struct importer import_pstats = {
    .name = "pstats",
    .suffixes = "pstats,prof,cprof",
    .summary = "Python's cProfile, profile and pstats",
    .probe = pstats_probe,
    .counts_all = true,
    .shape = SHAPE_BINARY,
    .read = pstats_read,
};
