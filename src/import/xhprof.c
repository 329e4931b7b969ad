/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of PHP programs by XHProf and Tideways, as JSON or as PHP's serialize() writes them; XHGui
 * has them in a member "profile":
 *
 *   {"main()": {"ct": 1, "wt": 900, "cpu": 800}, "main()==>f": {"ct": 3, "wt": 500, "cpu": 400}}
 *   a:2:{s:6:"main()";a:2:{s:2:"ct";i:1;s:2:"wt";i:900;}s:9:"main()==>f";a:2:{...}}
 *
 * A key is a caller and its callee, or a function without a caller. Its value has the number of
 * calls, and the elapsed and the CPU time, in microseconds, of these calls with their callees. "f@1"
 * is a call of f by itself. Memory (mu, pmu) is not read: a call can free more than it
 * allocates.
 *
 * The format is a call graph: callgrind_stacks.c makes stacks of it. */
#include "base/number.h"
#include "import/callgrind.h"
#include "import/json_input.h"

#define VALUE_MOST 1e15 /* microseconds, or calls */
#define DEPTH_MAX 32    /* of serialized arrays */

enum { ELAPSED, CPU, TIMES };

/* The value of a key. */
struct cost {
    double calls, times[TIMES]; /* in ns */
    bool has[TIMES], valid;
};

struct xhprof {
    struct callgrind graph;
    bool has[TIMES];
    uint64_t bad_values;
};

/* --- The graph ---------------------------------------------------------------------- */

static uint32_t function_of(struct xhprof *x, struct str name)
{
    return callgrind_function_of(&x->graph, builder_string(x->graph.b, name), 0, 0);
}

/* Times of functions are those with their callees until finish_graph. */
static void add_cost(struct xhprof *x, struct str key, const struct cost *cost)
{
    struct callgrind *c = &x->graph;
    size_t arrow = str_search(key, STR("==>"));
    uint32_t callee =
        function_of(x, arrow < key.len ? str_skip(key, arrow + STR("==>").len) : key);
    if (!callee)
        return;
    for (size_t i = 0; i < TIMES; i++) {
        c->functions[callee].self[i] += cost->times[i];
        x->has[i] |= cost->has[i];
    }
    c->functions[callee].called += cost->calls;
    if (arrow == key.len)
        return;
    c->function = function_of(x, str_head(key, arrow));
    c->called = callee;
    struct callgrind_call *call = c->function ? callgrind_call_of(c) : NULL;
    if (!call)
        return;
    call->count += cost->calls;
    for (size_t i = 0; i < TIMES; i++)
        call->cost[i] += cost->times[i];
}

/* Makes self times of the totals. The clock is read twice for each call, so that callees can have
 * a little more than their caller. */
static void finish_graph(struct xhprof *x)
{
    struct callgrind *c = &x->graph;
    for (size_t i = 1; i < c->function_count; i++)
        c->functions[i].total = c->functions[i].self[ELAPSED];
    for (size_t i = 1; i < c->call_count; i++)
        for (size_t t = 0; t < TIMES; t++)
            c->functions[c->calls[i].caller].self[t] -= c->calls[i].cost[t];
    for (size_t i = 1; i < c->function_count; i++)
        for (size_t t = 0; t < TIMES; t++)
            if (c->functions[i].self[t] < 0)
                c->functions[i].self[t] = 0;
}

/* Sets a member of a cost: its key, and its value if that is a number. */
static void set_member(struct xhprof *x, struct cost *cost, struct str key,
                       bool is_number, double value)
{
    bool elapsed = str_equal(key, STR("wt")), calls = str_equal(key, STR("ct"));
    if (!calls && !elapsed && !str_equal(key, STR("cpu")))
        return;
    if (!is_number || !(value >= 0) || value > VALUE_MOST) {
        x->bad_values++;
        return;
    }
    cost->valid = true;
    if (calls) {
        cost->calls = value;
        return;
    }
    cost->times[elapsed ? ELAPSED : CPU] = value * 1000;
    cost->has[elapsed ? ELAPSED : CPU] = true;
}

/* --- JSON --------------------------------------------------------------------------- */

static void read_json_cost(struct xhprof *x, struct json *j, struct cost *cost)
{
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        char name[4] = "";
        struct str copy = {name, key.len < sizeof name ? key.len : 0};
        double value = 0;
        memcpy(name, key.ptr, copy.len);
        bool is_number = json_number(j, &value);
        set_member(x, cost, copy, is_number, value);
    }
}

static void read_json(struct xhprof *x, struct json *j)
{
    struct str key;
    struct output name = OUTPUT_BUFFER;
    bool nested = false, more = json_enter(j, JSON_OBJECT);
    while (more && !builder_failed(x->graph.b)) {
        struct cost cost = {0};
        if (!json_key(j, &key)) {
            more = nested;
            nested = false;
        } else if (!nested && str_equal(key, STR("profile"))) {
            nested = json_enter(j, JSON_OBJECT);
        } else {
            name.used = 0; /* the key is valid until the next one */
            output_str(&name, key);
            read_json_cost(x, j, &cost);
            if (cost.valid)
                add_cost(x, output_contents(&name), &cost);
        }
    }
    x->graph.b->profile->arena.failed |= name.failed;
    output_deinit(&name);
}

/* --- Serialized by PHP -------------------------------------------------------------- */

enum php_kind { PHP_BAD, PHP_ARRAY, PHP_END, PHP_STRING, PHP_NUMBER, PHP_OTHER };

struct php_value {
    enum php_kind kind;
    struct str text;
    double number;
};

/* The length in "s:6:" or "a:2:". */
static bool take_length(struct str *rest, uint64_t *length)
{
    struct str text = str_skip(*rest, 2);
    if (!number_parse_u64(str_cut(&text, ':'), length) || text.len == 0)
        return false;
    *rest = text;
    return true;
}

/* `s:6:"main()";` */
static struct php_value take_string(struct str *rest)
{
    uint64_t length;
    if (!take_length(rest, &length) || length > rest->len || rest->len - length < 3 ||
        rest->ptr[0] != '"')
        return (struct php_value){.kind = PHP_BAD};
    struct php_value v = {PHP_STRING, str_head(str_skip(*rest, 1), (size_t)length), 0};
    *rest = str_skip(*rest, (size_t)length + 1);
    v.kind = str_starts(*rest, STR("\"")) ? PHP_STRING : PHP_BAD;
    *rest = str_skip(*rest, 1);
    *rest = str_skip(*rest, str_starts(*rest, STR(";")));
    return v;
}

/* Removes a value, or the beginning or end of an array, from *rest. */
static struct php_value php_take(struct str *rest)
{
    struct php_value v = {.kind = PHP_BAD, .text = STR("")};
    uint64_t length;
    if (str_starts(*rest, STR("s:")))
        return take_string(rest);
    if (str_starts(*rest, STR("}"))) {
        *rest = str_skip(*rest, 1);
        v.kind = PHP_END;
    } else if (str_starts(*rest, STR("a:"))) {
        if (take_length(rest, &length) && rest->ptr[0] == '{')
            v.kind = PHP_ARRAY;
        *rest = str_skip(*rest, 1);
    } else if (str_starts(*rest, STR("i:")) || str_starts(*rest, STR("d:"))) {
        *rest = str_skip(*rest, 2);
        v.kind =
            number_parse_double(str_cut(rest, ';'), &v.number) ? PHP_NUMBER : PHP_OTHER;
    } else if (str_starts(*rest, STR("b:")) || str_starts(*rest, STR("N;"))) {
        str_cut(rest, ';');
        v.kind = PHP_OTHER;
    }
    return v;
}

/* Skips the rest of an array. */
static bool skip_array(struct str *rest)
{
    for (int depth = 1; depth > 0;) {
        enum php_kind kind = php_take(rest).kind;
        if (kind == PHP_BAD || depth > DEPTH_MAX)
            return false;
        depth += (kind == PHP_ARRAY) - (kind == PHP_END);
    }
    return true;
}

/* Reads an array of numbers with names. False if it is damaged. */
static bool read_php_cost(struct xhprof *x, struct str *rest, struct cost *cost)
{
    for (;;) {
        struct php_value key = php_take(rest);
        if (key.kind == PHP_END || key.kind == PHP_BAD)
            return key.kind == PHP_END;
        struct php_value value = php_take(rest);
        if (value.kind == PHP_BAD || value.kind == PHP_END ||
            (value.kind == PHP_ARRAY && !skip_array(rest)))
            return false;
        set_member(x, cost, key.text, value.kind == PHP_NUMBER, value.number);
    }
}

/* False if it is damaged before its end. */
static bool read_php(struct xhprof *x, struct str *rest)
{
    if (php_take(rest).kind != PHP_ARRAY)
        return false;
    while (!builder_failed(x->graph.b)) {
        struct cost cost = {0};
        struct php_value key = php_take(rest);
        if (key.kind == PHP_END || key.kind == PHP_BAD)
            return key.kind == PHP_END;
        struct php_value value = php_take(rest);
        if (value.kind == PHP_BAD || value.kind == PHP_END ||
            (value.kind == PHP_ARRAY && !read_php_cost(x, rest, &cost)))
            return false;
        if (key.kind == PHP_STRING && cost.valid)
            add_cost(x, key.text, &cost);
    }
    return true;
}

/* --- The file ----------------------------------------------------------------------- */

static void add_stacks(struct xhprof *x)
{
    static const char *const names[] = {"time", "cpu-time"};
    struct callgrind *c = &x->graph;
    enum unit unit = c->options->samples ? UNIT_COUNT : UNIT_NANOSECONDS;
    finish_graph(x);
    for (size_t i = 0; i < TIMES; i++) {
        if (!x->has[i])
            break; /* profiles have no CPU time without elapsed time */
        c->events[c->event_count++] = (struct callgrind_event){
            .event = builder_event(c->b, str_of(names[i]), unit), .scale = 1};
    }
    if (c->event_count && c->functions && !c->arena.failed)
        callgrind_add_stacks(c);
}

static bool is_serialized(struct str head)
{
    return str_starts(head, STR("a:"));
}

static bool skip_space(struct source *in, struct error *err)
{
    while (source_peek(in, 1, err)) {
        if (in->begin == in->end || !byte_is_space(*in->begin))
            return true;
        in->begin++;
        in->offset++;
    }
    return false;
}

static bool read_serialized(struct xhprof *x, struct source *in, struct error *err)
{
    struct str all, rest;
    if (!source_all(in, &all, err))
        return false;
    x->graph.bytes = all.len;
    rest = all;
    if (!read_php(x, &rest)) {
        builder_warn_offset(x->graph.b,
                            "the file is truncated or damaged; the rest is skipped",
                            (uint64_t)(rest.ptr - all.ptr));
        x->graph.b->profile->facts.incomplete = true;
    }
    add_stacks(x);
    return true;
}

static bool xhprof_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct xhprof x = {.graph = CALLGRIND_GRAPH(b, options)};
    struct json j;
    uint64_t before = b->profile->facts.samples;
    bool ok, serialized;
    x.graph.exact_self = true;
    if (!skip_space(in, err) || !source_peek(in, 2, err))
        return false;
    serialized = is_serialized(str_span(in->begin, in->end));
    if (serialized) {
        ok = read_serialized(&x, in, err);
    } else {
        json_init(&j, in, true, err);
        read_json(&x, &j);
        x.graph.bytes = in->offset + (uint64_t)(in->end - in->begin);
        add_stacks(&x);
        ok = json_input_end(&j, b, before);
    }
    builder_warn_times(b, "a number of calls or a time that is not valid", x.bad_values);
    builder_end_scratch(b, &x.graph.arena);
    return ok;
}

/* The text has times of an entry without a caller, or of a call. */
static int xhprof_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {90, '{', {"\"main()\"", "\"ct\"", "\"wt\""}},
        {88, '{', {"==>", "\"ct\"", "\"wt\""}},
        {0}};
    if (is_serialized(head))
        return str_has(head, STR(":{s:2:\"ct\";i:")) && str_has(head, STR("s:2:\"wt\";"))
                   ? 92
                   : 0;
    return json_probe(head, rules);
}

const struct importer import_xhprof = {
    .name = "xhprof",
    .suffixes = "xhprof",
    .summary = "XHProf and Tideways profiles of PHP programs",
    .probe = xhprof_probe,
    .counts_all = true,
    .shape = SHAPE_JSON,
    .read = xhprof_read,
};
