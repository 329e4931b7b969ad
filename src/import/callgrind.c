/* SPDX-License-Identifier: Apache-2.0 */
/* Callgrind profiles, which Xdebug, gperftools and others also write: for each
 * function its self cost, and for each callee the total cost of the calls.
 *
 *   events: Ir
 *   fl=(1) main.c
 *   fn=(1) main
 *   16 20                     a line and its cost
 *   cfn=(2) work
 *   calls=1 50                called once, at line 50; on the next line,
 *   16 400                    the line of the call, and its total cost
 *
 * A callee without its own cfi= or cfl= is in the file of the caller's current lines,
 * which fi= and fe= change. If it is not defined there, it is looked up in the
 * caller's own file, then by name only.
 *
 * The format has no stacks, only a call graph. Stacks are made by walking the graph
 * down from the functions without callers. The cost of a function with several callers
 * is divided in proportion to the calls. The cost of a recursive call (its callee is
 * already on the stack) is added to the caller, and so are parts that are too small to
 * represent.
 *
 * valgrind's --xtree-memory=full and --xtree-leak describe their events before they list
 * them; the description has the unit:
 *
 *   event: curB : currently allocated Bytes
 *   events: curB */
#include "import/callgrind.h"
#include "base/number.h"
#include "import/stated.h"
#include "model/xtree_events.h"
#include <math.h>

#define COST_MOST ((double)1e18)

/* Names that the file numbers. */
enum name_table { FILES, FUNCTIONS, MODULES, NAME_TABLES };

/* What the next cost line belongs to. */
enum cost_kind { COST_SELF, COST_CALL, COST_JUMP };

/* "event: curB : currently allocated Bytes" */
struct described {
    struct str name, description; /* of the builder's strings */
};

struct reader {
    struct callgrind graph;
    struct described described[CALLGRIND_EVENTS_MAX];
    size_t described_count;
    struct lines lines;
    struct idmap names[NAME_TABLES];
    size_t columns[CALLGRIND_EVENTS_MAX]; /* event of each column */
    size_t column_count, position_count;
    string_id own_file;     /* fl= */
    string_id file, module; /* fl=, fi= or fe=; ob= */
    string_id called_name, called_file, called_module;
    bool has_called_name, has_called_file, has_called_module;
    enum cost_kind next;
    double count; /* of calls=, for the next cost line */
};

/* --- Names -------------------- */

static void warn(struct reader *r, const char *what, struct str line)
{
    builder_warn(r->graph.b, what, r->lines.number, 1, line);
}

static string_id name_of(struct reader *r, enum name_table table, struct str text)
{
    bool is_unknown = str_equal(text, STR("???")) ||
                      (table == FILES && str_equal(text, STR("UnknownFile???")));
    return builder_string(r->graph.b, is_unknown ? STR("") : text);
}

/* "(3) name" defines number 3, "(3)" refers to it, "name" has no number. */
static string_id take_name(struct reader *r, enum name_table table, struct str text)
{
    struct str rest = str_trim(text);
    uint64_t number;
    if (!str_starts(rest, STR("(")))
        return name_of(r, table, rest);
    rest = str_skip(rest, 1);
    if (!number_parse_u64(str_cut(&rest, ')'), &number))
        return name_of(r, table, str_trim(text));
    rest = str_trim(rest);
    uint64_t *name = idmap_put(&r->names[table], &r->graph.arena, number);
    if (name && rest.len)
        *name = name_of(r, table, rest);
    return name ? (string_id)*name : 0;
}

/* "Time_(10ns)": the quantity, in units of ten nanoseconds. */
static enum unit unit_of(struct str *name, double *scale)
{
    static const struct {
        const char *name;
        enum unit unit;
        double scale;
    } units[] = {{"ns", UNIT_NANOSECONDS, 1},
                 {"us", UNIT_NANOSECONDS, 1e3},
                 {"\xc2\xb5s", UNIT_NANOSECONDS, 1e3},
                 {"ms", UNIT_NANOSECONDS, 1e6},
                 {"s", UNIT_NANOSECONDS, 1e9},
                 {"bytes", UNIT_BYTES, 1},
                 {"cycles", UNIT_CYCLES, 1}};
    size_t at = str_search(*name, STR("_("));
    struct str unit = str_skip(*name, at + 2);
    double v = 1;
    *scale = 1;
    if (at == name->len || !str_ends(unit, STR(")")))
        return UNIT_EVENTS;
    unit.len--;
    size_t digits = 0;
    while (digits < unit.len && byte_is_digit(unit.ptr[digits]))
        digits++;
    if (digits && !number_parse_double(str_head(unit, digits), &v))
        return UNIT_EVENTS;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!str_equal(str_skip(unit, digits), str_of(units[i].name)))
            continue;
        *scale = v * units[i].scale;
        name->len = at;
        return units[i].unit;
    }
    return UNIT_EVENTS;
}

/* A description with a formula is that of a derived event, which has no column. */
static void read_description(struct reader *r, struct str rest)
{
    struct profile *p = r->graph.b->profile;
    struct str name = str_cut(&rest, ':');
    if (r->described_count == CALLGRIND_EVENTS_MAX || str_has(name, STR("=")))
        return;
    string_id ids[] = {builder_string(r->graph.b, str_trim(name)),
                       builder_string(r->graph.b, str_trim(rest))};
    r->described[r->described_count++] =
        (struct described){profile_string(p, ids[0]), profile_string(p, ids[1])};
}

/* The unit of a described event, and the name that the events of heap profiles have
 * elsewhere. */
static enum unit unit_described(const struct reader *r, struct str *name)
{
    struct str description = STR("");
    for (size_t i = 0; i < r->described_count; i++)
        if (str_equal(r->described[i].name, *name))
            description = r->described[i].description;
    for (size_t i = 0; i < XTREE_EVENTS; i++)
        if (str_equal(*name, str_of(xtree_events[i].theirs)) &&
            str_equal(description, str_of(xtree_events[i].description))) {
            *name = str_of(xtree_events[i].ours);
            return xtree_events[i].unit;
        }
    return str_has(description, STR(" Bytes"))    ? UNIT_BYTES
           : str_has(description, STR(" Blocks")) ? UNIT_COUNT
                                                  : UNIT_EVENTS;
}

/* The index of the event with that name, which several parts of a file may list. */
static size_t event_of(struct reader *r, struct str text)
{
    struct callgrind *c = &r->graph;
    struct str name = text;
    double scale;
    enum unit unit = unit_of(&name, &scale);
    if (unit == UNIT_EVENTS)
        unit = unit_described(r, &name);
    string_id id = builder_string(c->b, text);
    size_t i = 0;
    while (i < c->event_count && c->events[i].name != id)
        i++;
    if (i == c->event_count && i < CALLGRIND_EVENTS_MAX) {
        c->events[i] = (struct callgrind_event){.name = id, .scale = scale};
        c->events[i].event =
            builder_event(c->b, name, c->options->samples ? UNIT_COUNT : unit);
        c->event_count++;
    }
    return i;
}

static void read_events(struct reader *r, struct str rest)
{
    r->column_count = 0;
    for (struct str name; (name = str_word(&rest)).len;) {
        size_t event = event_of(r, name);
        if (r->column_count == CALLGRIND_EVENTS_MAX || event == CALLGRIND_EVENTS_MAX) {
            warn(r, "more events than stoke reads", name);
            return;
        }
        r->columns[r->column_count++] = event;
    }
}

static void read_positions(struct reader *r, struct str rest)
{
    r->position_count = 0;
    while (str_word(&rest).len)
        r->position_count++;
}

/* --- Costs -------------------- */

static bool parse_cost(struct str word, double *cost)
{
    uint64_t hex;
    if (!str_starts(word, STR("0x")))
        return number_parse_double(word, cost) && *cost > -COST_MOST && *cost < COST_MOST;
    bool ok = number_parse_hex(word, &hex);
    *cost = ok ? (double)hex : 0;
    return ok && *cost < COST_MOST;
}

/* One number per event; the last ones may be missing. */
static void add_costs(struct reader *r, struct str line, struct str rest, double *into)
{
    struct callgrind *c = &r->graph;
    for (size_t i = 0; i < r->column_count; i++) {
        struct str word = str_word(&rest);
        const struct callgrind_event *e = &c->events[r->columns[i]];
        double cost;
        if (word.len == 0)
            return;
        if (!parse_cost(word, &cost)) {
            warn(r, "a cost that is not a number", line);
        } else if (cost < 0) {
            warn(r, "a negative cost, skipped", line);
        } else {
            cost *= e->scale;
            c->fractions |= cost != floor(cost);
            into[r->columns[i]] += cost;
        }
    }
}

/* The function of the current lines; a function without a name if there was no fn=. */
static uint32_t current_function(struct reader *r)
{
    struct callgrind *c = &r->graph;
    if (!c->function)
        c->function = callgrind_function_of(c, 0, r->file, r->module);
    if (c->function)
        c->functions[c->function].defined = true;
    return c->function;
}

/* The callee of the current call, which may be defined later in the file. */
static uint32_t called_function(struct reader *r)
{
    struct callgrind *c = &r->graph;
    uint32_t id = callgrind_function_of(
        c, r->called_name, r->has_called_file ? r->called_file : r->file,
        r->has_called_module ? r->called_module : r->module);
    if (id && !c->functions[id].other_file && !r->has_called_file)
        c->functions[id].other_file = r->own_file;
    return id;
}

static void forget_called(struct reader *r)
{
    r->has_called_name = r->has_called_file = r->has_called_module = false;
}

static void read_call_costs(struct reader *r, struct str line, struct str rest)
{
    struct callgrind *c = &r->graph;
    if (!r->has_called_name) {
        warn(r, "a call without the name of its callee", line);
        forget_called(r);
        return;
    }
    c->called = called_function(r);
    struct callgrind_call *call = c->called ? callgrind_call_of(c) : NULL;
    if (call) {
        call->count += r->count;
        add_costs(r, line, rest, call->cost);
    }
    forget_called(r);
}

static void read_costs(struct reader *r, struct str line)
{
    struct callgrind *c = &r->graph;
    struct str rest = line;
    enum cost_kind kind = r->next;
    r->next = COST_SELF;
    if (kind == COST_JUMP || !current_function(r))
        return;
    for (size_t i = 0; i < r->position_count; i++)
        str_word(&rest);
    if (kind == COST_CALL)
        read_call_costs(r, line, rest);
    else
        add_costs(r, line, rest, c->functions[c->function].self);
}

/* --- Lines -------------------- */

static void read_called(struct reader *r, struct str key, struct str value)
{
    if (str_equal(key, STR("cfn"))) {
        r->called_name = take_name(r, FUNCTIONS, value);
        r->has_called_name = true;
    } else if (str_equal(key, STR("cob"))) {
        r->called_module = take_name(r, MODULES, value);
        r->has_called_module = true;
    } else {
        r->called_file = take_name(r, FILES, value);
        r->has_called_file = true;
    }
}

/* "fn=..."; the function is in the file of fl=, whatever fi= or fe= came after it. */
static void read_function(struct reader *r, struct str value)
{
    struct callgrind *c = &r->graph;
    r->file = r->own_file;
    c->function =
        callgrind_function_of(c, take_name(r, FUNCTIONS, value), r->file, r->module);
    current_function(r);
    forget_called(r);
    r->next = COST_SELF;
}

/* "calls=3 16": the number of calls, and the line of the callee */
static void read_calls(struct reader *r, struct str value)
{
    struct str rest = value;
    r->next = COST_CALL;
    if (!parse_cost(str_word(&rest), &r->count) || r->count < 0) {
        warn(r, "a number of calls that is not valid", value);
        r->count = 0;
    }
}

/* "fn=...", "cfi=..."; false if the line is none of them. */
static bool read_name(struct reader *r, struct str key, struct str value)
{
    if (str_equal(key, STR("fl"))) {
        r->own_file = r->file = take_name(r, FILES, value);
    } else if (str_equal(key, STR("fi")) || str_equal(key, STR("fe"))) {
        r->file = take_name(r, FILES, value);
    } else if (str_equal(key, STR("ob"))) {
        r->module = take_name(r, MODULES, value);
    } else if (str_equal(key, STR("fn"))) {
        read_function(r, value);
    } else if (str_equal(key, STR("cfl")) || str_equal(key, STR("cfi")) ||
               str_equal(key, STR("cob")) || str_equal(key, STR("cfn"))) {
        read_called(r, key, value);
    } else if (str_equal(key, STR("calls"))) {
        read_calls(r, value);
    } else if (str_equal(key, STR("jump")) || str_equal(key, STR("jcnd"))) {
        r->next = COST_JUMP;
    } else if (str_equal(key, STR("jfi"))) {
        take_name(r, FILES, value);
    } else if (str_equal(key, STR("jfn"))) {
        take_name(r, FUNCTIONS, value);
    } else {
        return false;
    }
    return true;
}

/* "totals: 12 34": one number per event; each part of a file has its own. */
static void read_stated(struct reader *r, struct str rest, int which)
{
    for (size_t i = 0; i < r->column_count; i++) {
        struct callgrind_event *e = &r->graph.events[r->columns[i]];
        double cost;
        if (parse_cost(str_word(&rest), &cost) && cost > 0)
            e->stated[which] += cost * e->scale;
    }
}

static void read_header(struct reader *r, struct str line)
{
    struct str rest = line, key = str_cut(&rest, ':');
    struct builder *b = r->graph.b;
    if (str_equal(key, STR("events")))
        read_events(r, rest);
    else if (str_equal(key, STR("event")))
        read_description(r, rest);
    else if (str_equal(key, STR("positions")))
        read_positions(r, rest);
    else if (str_equal(key, STR("totals")))
        read_stated(r, rest, 0);
    else if (str_equal(key, STR("summary")))
        read_stated(r, rest, 1);
    else if (str_equal(key, STR("cmd")))
        b->profile->facts.command = builder_string(b, str_trim(rest));
    else if (key.len == line.len)
        warn(r, "not a line of a callgrind profile", line);
}

static void read_line(struct reader *r, struct str line)
{
    struct str text = str_trim(line), rest = text;
    char first = text.len ? text.ptr[0] : '#';
    if (first == '#')
        return;
    if (byte_is_digit(first) || first == '+' || first == '-' || first == '*') {
        read_costs(r, text);
        return;
    }
    struct str key = str_cut(&rest, '=');
    if (key.len == text.len || key.len > 5 || !read_name(r, key, rest))
        read_header(r, text);
}

/* --- Calls of functions that are not defined under that name and file -------------- */

/* The number of defined functions with one name, and the first of them. */
struct named {
    uint32_t count, first;
};

static struct named *find_named(struct callgrind *c)
{
    struct named *named =
        arena_zalloc(&c->arena, c->b->profile->strings.count + 1, sizeof *named);
    for (uint32_t i = 1; named && i < c->function_count; i++) {
        struct named *n = &named[c->functions[i].name];
        if (c->functions[i].defined && n->count++ == 0)
            n->first = i;
    }
    return named;
}

/* The defined function that a call of this one refers to; the function itself if there
 * is none. */
static uint32_t defined_for(struct callgrind *c, const struct named *named, uint32_t id)
{
    const struct callgrind_function *f = &c->functions[id];
    if (f->defined || !f->name || named[f->name].count == 0)
        return id;
    if (named[f->name].count == 1)
        return named[f->name].first;
    uint32_t other = callgrind_function_of(c, f->name, f->other_file, f->module);
    return other && c->functions[other].defined ? other : id;
}

static void resolve_calls(struct callgrind *c)
{
    const struct named *named = find_named(c);
    size_t count = c->function_count;
    uint32_t *targets = arena_alloc(&c->arena, (count + 1) * sizeof *targets);
    if (!named || !targets)
        return;
    for (uint32_t i = 1; i < count; i++)
        targets[i] = defined_for(c, named, i);
    for (size_t i = 1; i < c->call_count; i++)
        c->calls[i].callee = targets[c->calls[i].callee];
}

static void check_totals(const struct reader *r)
{
    const struct callgrind *c = &r->graph;
    for (size_t e = 0; e < c->event_count; e++) {
        const struct callgrind_event *event = &c->events[e];
        double stated = event->stated[0] > 0 ? event->stated[0] : event->stated[1];
        double sum = 0;
        for (size_t i = 1; i < c->function_count; i++)
            sum += c->functions[i].self[e];
        if (stated > 0)
            stated_check(c->b, profile_string(c->b->profile, event->name),
                         sum / event->scale, stated / event->scale);
    }
}

static bool callgrind_read(struct source *in, const struct import_options *options,
                           struct builder *b, struct error *err)
{
    struct reader r = {.graph = CALLGRIND_GRAPH(b, options),
                       .lines = lines_of(in, err),
                       .position_count = 1};
    struct callgrind *c = &r.graph;
    struct str line;
    c->exact_self = c->keeps_called = true;
    while (!builder_failed(b) && !c->arena.failed && lines_next(&r.lines, &line))
        read_line(&r, line);
    if (!c->arena.failed && c->functions) {
        c->bytes = r.lines.source->offset;
        check_totals(&r);
        resolve_calls(c);
        callgrind_state_totals(c);
        callgrind_add_stacks(c);
    }
    builder_end_scratch(b, &c->arena);
    return !r.lines.failed;
}

static int callgrind_probe(struct str head)
{
    bool events = false, function = false, valgrind = false;
    if (str_starts(head, STR("# callgrind format")))
        return 98;
    for (int i = 0; i < 200 && head.len && !(events && function); i++) {
        struct str line = str_cut(&head, '\n');
        events |= str_starts(line, STR("events:"));
        function |= str_starts(line, STR("fn="));
        valgrind |= str_starts(line, STR("creator: callgrind"));
    }
    return events && (function || valgrind) ? 90 : 0;
}

const struct importer import_callgrind = {
    .name = "callgrind",
    .suffixes = "callgrind,cachegrind,kcg",
    .summary = "Callgrind profiles (Valgrind, Xdebug)",
    .counts_all = true,
    .probe = callgrind_probe,
    .read = callgrind_read,
};
