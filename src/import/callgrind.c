/* Callgrind's profiles, which Xdebug, gperftools and others write too: for each function
 * its own cost, and for each that it calls the cost of those calls.
 *
 *   events: Ir
 *   fl=(1) main.c
 *   fn=(1) main
 *   16 20                     a line, and what it cost
 *   cfn=(2) work
 *   calls=1 50                called once, at line 50; on the next line,
 *   16 400                    where from, and the cost of all within
 *
 * It does not tell stacks, but who calls whom. They are made by going down from those
 * that nobody calls: the cost of a function that is called by two is shared between them
 * as the calls say. A call of what is on the stack already (recursion) stays with its
 * caller, and so do parts too small to be told. */
#include "base/hash.h"
#include "base/idmap.h"
#include "base/number.h"
#include "import/importer.h"

#define EVENTS_MAX 32
#define DEPTH_MAX 4096
#define PATHS_MAX 2000000 /* stacks that are made, of each event */
#define SHARE_LEAST 1e-7  /* of the whole; what is smaller is not gone into */
#define COST_MOST ((double)1e18)

struct function {
    string_id name, file, module;
    uint32_t first_call; /* call, or 0 */
    double self[EVENTS_MAX];
};

struct call {
    uint32_t caller, callee, next; /* next call of the same caller, or 0 */
    double cost[EVENTS_MAX];
};

/* Names that the file gives numbers. */
enum name_table { FILES, FUNCTIONS, MODULES, NAME_TABLES };

struct callgrind {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    struct arena arena;
    struct idmap names[NAME_TABLES];
    struct function *functions; /* [0] is none */
    struct call *calls;
    size_t function_count, function_cap, call_count, call_cap;
    struct index function_index, call_index;
    event_id events[EVENTS_MAX];
    double scales[EVENTS_MAX];
    size_t event_count, position_count;
    string_id file, module, called_file, called_module;
    uint32_t function, called; /* the one whose lines these are; whom it calls */
    bool in_call;              /* the next line is the cost of the call */
    struct function wanted;
};

/* --- Tables -------------------- */

static bool same_function(const void *context, uint32_t id)
{
    const struct callgrind *c = context;
    const struct function *a = &c->functions[id], *f = &c->wanted;
    return a->name == f->name && a->file == f->file && a->module == f->module;
}

static uint32_t function_of(struct callgrind *c, string_id name, string_id file,
                            string_id module)
{
    c->wanted = (struct function){.name = name, .file = file, .module = module};
    uint32_t hash = (uint32_t)hash_mix(hash_pair(name, file), HASH_A ^ module);
    if (!index_reserve(&c->function_index, &c->arena, 1))
        return 0;
    struct index_slot *slot = index_find(&c->function_index, hash, same_function, c);
    if (slot->id)
        return slot->id;
    struct function *functions = arena_grow(&c->arena, c->functions, &c->function_cap,
                                            c->function_count + 1, sizeof *functions);
    if (!functions)
        return 0;
    c->functions = functions;
    functions[c->function_count] = c->wanted;
    index_fill(&c->function_index, slot, hash, (uint32_t)c->function_count);
    return (uint32_t)c->function_count++;
}

static bool same_call(const void *context, uint32_t id)
{
    const struct callgrind *c = context;
    return c->calls[id].caller == c->function && c->calls[id].callee == c->called;
}

/* The calls from c->function of c->called. NULL when memory is short. */
static struct call *call_of(struct callgrind *c)
{
    uint32_t hash = (uint32_t)hash_pair(c->function, c->called);
    if (!index_reserve(&c->call_index, &c->arena, 1))
        return NULL;
    struct index_slot *slot = index_find(&c->call_index, hash, same_call, c);
    if (slot->id)
        return &c->calls[slot->id];
    struct call *calls =
        arena_grow(&c->arena, c->calls, &c->call_cap, c->call_count + 1, sizeof *calls);
    if (!calls)
        return NULL;
    c->calls = calls;
    struct function *caller = &c->functions[c->function];
    calls[c->call_count] = (struct call){
        .caller = c->function, .callee = c->called, .next = caller->first_call};
    caller->first_call = (uint32_t)c->call_count;
    index_fill(&c->call_index, slot, hash, (uint32_t)c->call_count);
    return &calls[c->call_count++];
}

/* --- Lines -------------------- */

static void warn(struct callgrind *c, const char *what, struct str line)
{
    builder_warn(c->b, what, c->lines.number, 1, line);
}

/* "(3) name" gives the name a number, "(3)" is it, and "name" has none. */
static string_id take_name(struct callgrind *c, enum name_table table, struct str text)
{
    struct str rest = str_trim(text);
    uint64_t number;
    if (str_equal(rest, STR("???"))) /* not known */
        return 0;
    if (!str_starts(rest, STR("(")))
        return builder_string(c->b, rest);
    rest = str_skip(rest, 1);
    if (!number_parse_u64(str_cut(&rest, ')'), &number))
        return builder_string(c->b, str_trim(text));
    uint64_t *name = idmap_put(&c->names[table], &c->arena, number);
    rest = str_trim(rest);
    if (name && rest.len)
        *name = builder_string(c->b, str_equal(rest, STR("???")) ? STR("") : rest);
    return name ? (string_id)*name : 0;
}

/* "Time_(10ns)": what is counted, in tens of nanoseconds. */
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

static void read_events(struct callgrind *c, struct str rest)
{
    c->event_count = 0;
    for (struct str name; (name = str_word(&rest)).len;) {
        if (c->event_count == EVENTS_MAX) {
            warn(c, "more events than are read", name);
            return;
        }
        enum unit unit = unit_of(&name, &c->scales[c->event_count]);
        c->events[c->event_count++] =
            builder_event(c->b, name, c->options->samples ? UNIT_COUNT : unit);
    }
}

static void read_positions(struct callgrind *c, struct str rest)
{
    c->position_count = 0;
    while (str_word(&rest).len)
        c->position_count++;
}

/* What a line costs: behind its positions, a number for each event, the last ones of
 * which may be missing. */
static void read_costs(struct callgrind *c, struct str line)
{
    struct str rest = line;
    struct call *call = c->in_call ? call_of(c) : NULL;
    double *into = call ? call->cost : c->functions[c->function].self;
    if (c->in_call && !call)
        return;
    for (size_t i = 0; i < c->position_count; i++)
        str_word(&rest);
    for (size_t i = 0; i < c->event_count; i++) {
        struct str word = str_word(&rest);
        double cost;
        if (word.len == 0)
            break;
        if (number_parse_double(word, &cost) && cost >= 0 && cost < COST_MOST)
            into[i] += cost * c->scales[i];
        else
            warn(c, "a cost that is no number", line);
    }
    if (c->in_call) {
        c->called_file = c->file;
        c->called_module = c->module;
    }
    c->in_call = false;
}

/* "fn=...", "cfi=..."; false where the line is none of them. */
static bool read_name(struct callgrind *c, struct str key, struct str value)
{
    if (str_equal(key, STR("fl")) || str_equal(key, STR("fi")) ||
        str_equal(key, STR("fe"))) {
        string_id file = take_name(c, FILES, value);
        if (key.ptr[1] == 'l') /* the others are of inlined lines */
            c->file = c->called_file = file;
    } else if (str_equal(key, STR("ob"))) {
        c->module = c->called_module = take_name(c, MODULES, value);
    } else if (str_equal(key, STR("fn"))) {
        c->function = function_of(c, take_name(c, FUNCTIONS, value), c->file, c->module);
        c->called_file = c->file;
        c->called_module = c->module;
    } else if (str_equal(key, STR("cfl")) || str_equal(key, STR("cfi"))) {
        c->called_file = take_name(c, FILES, value);
    } else if (str_equal(key, STR("cob"))) {
        c->called_module = take_name(c, MODULES, value);
    } else if (str_equal(key, STR("cfn"))) {
        c->called = function_of(c, take_name(c, FUNCTIONS, value), c->called_file,
                                c->called_module);
    } else if (str_equal(key, STR("calls"))) {
        c->in_call = c->called != 0;
    } else {
        return str_equal(key, STR("jump")) || str_equal(key, STR("jcnd")) ||
               str_equal(key, STR("jfi")) || str_equal(key, STR("jfn"));
    }
    return true;
}

static void read_line(struct callgrind *c, struct str line)
{
    struct str text = str_trim(line), rest = text;
    char first = text.len ? text.ptr[0] : '#';
    if (first == '#')
        return;
    if (byte_is_digit(first) || first == '+' || first == '-' || first == '*') {
        if (c->function || c->in_call)
            read_costs(c, text);
        return;
    }
    struct str key = str_cut(&rest, '=');
    if (key.len < text.len && key.len <= 5 && read_name(c, key, rest))
        return;
    rest = text;
    key = str_cut(&rest, ':');
    if (str_equal(key, STR("events")))
        read_events(c, rest);
    else if (str_equal(key, STR("positions")))
        read_positions(c, rest);
    else if (str_equal(key, STR("cmd")))
        c->b->profile->facts.command = builder_string(c->b, str_trim(rest));
    else if (key.len == text.len)
        warn(c, "not a line of a callgrind profile", line);
}

/* --- Stacks -------------------- */

/* A function under way, on the way down. */
struct visit {
    uint32_t function, call; /* the call that is looked at next */
    stack_id stack;
    double share; /* of what the file tells that is this stack's */
    double kept;  /* of calls that were not gone into */
};

struct descent {
    struct callgrind *c;
    size_t event;
    double *whole;  /* by function: with all that it calls */
    double *called; /* by function: what others call it for */
    bool *open;     /* by function */
    struct visit *visits;
    size_t depth, paths;
    double left;  /* of the cost of all */
    double least; /* what is smaller is not gone into */
};

static frame_id frame_of(struct callgrind *c, const struct function *f)
{
    struct profile *p = c->b->profile;
    return builder_frame(
        c->b, &(struct frame){
                  .name = f->name,
                  .file = c->options->lines ? f->file : 0,
                  .module = builder_module(c->b, profile_string(p, f->module), STR(""))});
}

/* The cost of a function that is entered goes to itself and to those of its calls that
 * are gone into, as they share it in the file: what is on the stack already is in their
 * costs. */
static void enter(struct descent *d, uint32_t function, stack_id parent, double cost)
{
    struct callgrind *c = d->c;
    const struct function *f = &c->functions[function];
    struct visit *v = &d->visits[d->depth++];
    double whole = f->self[d->event];
    d->open[function] = true;
    d->paths++;
    for (uint32_t i = f->first_call; i; i = c->calls[i].next)
        if (!d->open[c->calls[i].callee])
            whole += c->calls[i].cost[d->event];
    *v = (struct visit){.function = function,
                        .stack = builder_push(c->b, parent, frame_of(c, f))};
    if (whole > 0) {
        v->call = f->first_call;
        v->share = cost / whole;
    } else {
        v->kept = cost;
    }
}

static void leave(struct descent *d)
{
    struct callgrind *c = d->c;
    const struct visit *v = &d->visits[--d->depth];
    double cost = c->functions[v->function].self[d->event] * v->share + v->kept;
    d->open[v->function] = false;
    if (cost > 0)
        builder_add_stack(c->b, c->events[d->event], v->stack,
                          c->options->samples ? 1 : cost);
}

/* Goes down from a function that so much of the cost is of. */
static void descend(struct descent *d, uint32_t root, double cost)
{
    struct callgrind *c = d->c;
    enter(d, root, 0, cost);
    while (d->depth && !builder_failed(c->b)) {
        struct visit *v = &d->visits[d->depth - 1];
        if (!v->call) {
            leave(d);
            continue;
        }
        const struct call *call = &c->calls[v->call];
        double part = call->cost[d->event] * v->share;
        v->call = call->next;
        if (!(part > 0) || d->open[call->callee])
            continue;
        if (part < d->least || d->depth == DEPTH_MAX || d->paths >= PATHS_MAX)
            v->kept += part;
        else
            enter(d, call->callee, v->stack, part);
    }
}

/* By function: what it costs with all that it calls, and what others call it for. Calls
 * of itself are in its cost. */
static void sum_calls(struct descent *d)
{
    const struct callgrind *c = d->c;
    for (size_t i = 1; i < c->function_count; i++)
        d->whole[i] = c->functions[i].self[d->event];
    for (size_t i = 1; i < c->call_count; i++) {
        const struct call *call = &c->calls[i];
        if (call->caller == call->callee)
            continue;
        d->whole[call->caller] += call->cost[d->event];
        d->called[call->callee] += call->cost[d->event];
    }
}

/* The cost of all: of what the file tells nothing about, that of its calls. */
static double sum_all(const struct descent *d)
{
    const struct callgrind *c = d->c;
    double all = 0;
    for (size_t i = 1; i < c->function_count; i++)
        all += d->whole[i] > 0 ? c->functions[i].self[d->event] : d->called[i];
    return all;
}

static void descend_from(struct descent *d, uint32_t root, double cost)
{
    if (cost > d->least) {
        d->left -= cost;
        descend(d, root, cost);
    }
}

/* With no more than is left of the cost of all. */
static void descend_within(struct descent *d, uint32_t root, double cost)
{
    descend_from(d, root, cost < d->left ? cost : d->left);
}

/* First those that nobody calls; then those that cost more than they are called for; at
 * last, where functions call each other in circles, whatever costs most. Sums of the same
 * numbers in another order differ a little. */
static void descend_all(struct descent *d)
{
    uint32_t largest = 0;
    for (uint32_t i = 1; i < d->c->function_count; i++) {
        if (!(d->called[i] > 0))
            descend_from(d, i, d->whole[i]);
        if (d->whole[i] > d->whole[largest])
            largest = i;
    }
    for (uint32_t i = 1; i < d->c->function_count; i++)
        if (d->called[i] > 0 && d->whole[i] - d->called[i] > d->whole[i] * 1e-9)
            descend_within(d, i, d->whole[i] - d->called[i]);
    if (largest && d->left > d->least * 100)
        descend_within(d, largest, d->left);
}

static void add_event(struct callgrind *c, size_t event)
{
    size_t count = c->function_count;
    struct descent d = {.c = c, .event = event};
    d.whole = arena_zalloc(&c->arena, count, sizeof *d.whole);
    d.called = arena_zalloc(&c->arena, count, sizeof *d.called);
    d.open = arena_zalloc(&c->arena, count, sizeof *d.open);
    d.visits = arena_zalloc(&c->arena, DEPTH_MAX, sizeof *d.visits);
    if (!d.whole || !d.called || !d.open || !d.visits)
        return;
    sum_calls(&d);
    d.left = sum_all(&d);
    d.least = d.left * SHARE_LEAST;
    descend_all(&d);
    builder_warn_times(c->b, "more stacks than are made: the rest is with their callers",
                       d.paths >= PATHS_MAX);
    arena_release(&c->arena, d.visits, DEPTH_MAX * sizeof *d.visits);
}

static bool callgrind_read(struct source *in, const struct import_options *options,
                           struct builder *b, struct error *err)
{
    struct callgrind c = {.b = b,
                          .options = options,
                          .lines = lines_of(in, err),
                          .function_count = 1,
                          .call_count = 1,
                          .position_count = 1};
    struct str line;
    while (!builder_failed(b) && !c.arena.failed && lines_next(&c.lines, &line))
        read_line(&c, line);
    for (size_t i = 0; i < c.event_count && !c.arena.failed && c.functions; i++)
        add_event(&c, i);
    b->profile->arena.failed |= c.arena.failed;
    arena_deinit(&c.arena);
    return !c.lines.failed;
}

static int callgrind_probe(struct str head)
{
    bool events = false, function = false;
    if (str_starts(head, STR("# callgrind format")))
        return 98;
    for (int i = 0; i < 200 && head.len && !(events && function); i++) {
        struct str line = str_cut(&head, '\n');
        events |= str_starts(line, STR("events:"));
        function |= str_starts(line, STR("fn="));
    }
    return events && function ? 90 : 0;
}

const struct importer import_callgrind = {
    .name = "callgrind",
    .suffixes = "callgrind,cachegrind",
    .summary = "Callgrind profiles (Valgrind, Xdebug)",
    .probe = callgrind_probe,
    .read = callgrind_read,
};
