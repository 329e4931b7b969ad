/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/call_costs.h"
#include "analysis/call_graph.h"
#include "base/array.h"
#include "base/idmap.h"

struct building {
    struct call_costs *c;
    const struct profile *p;
    struct calltree tree;
    struct arena scratch;
    uint32_t *function_of; /* by label of the tree: a function, or 0 */
    struct idmap ids;      /* of calls */
    enum costs_method method;
};

struct cost_call *call_costs_call(struct call_costs *c, struct idmap *ids,
                                  uint32_t caller, uint32_t callee)
{
    uint64_t *id = idmap_put(ids, &c->arena, (uint64_t)caller << 32 | callee);
    if (!id)
        return NULL;
    if (*id)
        return &c->calls[*id];
    if (!ARRAY_RESERVE(&c->arena, c->calls, c->call_cap, c->call_count + 1))
        return NULL;
    struct cost_function *f = &c->functions[caller];
    *id = c->call_count;
    c->calls[c->call_count] = (struct cost_call){.caller = caller,
                                                 .callee = callee,
                                                 .next = f->first_call,
                                                 .count = COSTS_UNKNOWN,
                                                 .total = COSTS_UNKNOWN,
                                                 .stated = COSTS_UNKNOWN};
    f->first_call = (uint32_t)c->call_count;
    return &c->calls[c->call_count++];
}

/* --- Functions -------------------------------------------------------------------- */

/* The labels end with a zero byte and the module (label_style.module). */
static void describe(struct building *b, struct cost_function *f, string_id label,
                     frame_id id)
{
    const struct profile *p = b->p;
    const struct frame *frame = &p->frames[id];
    struct str text = strings_get(&b->tree.paths.labels, label);
    struct str path = profile_string(p, p->modules[frame->module].path);
    f->name = arena_str(&b->c->arena, str_head(text, str_find(text, '\0')));
    f->path = arena_str(&b->c->arena, path);
    f->module = frame->name ? str_basename(f->path) : STR("");
    /* DTrace's names contain the module: "libc.so.1`read" */
    struct str rest = str_skip(f->name, f->module.len);
    if (f->module.len && str_starts(f->name, f->module) && rest.len > 1 &&
        rest.ptr[0] == '`')
        f->name = str_skip(rest, 1);
    f->file = arena_str(&b->c->arena, profile_string(p, frame->file));
    f->called = COSTS_UNKNOWN;
}

/* Finds or adds the function of a frame: that of its label. */
static uint32_t function_of(struct building *b, frame_id frame)
{
    string_id label = b->tree.paths.label_of_frame[frame];
    uint32_t *id = &b->function_of[label];
    if (!*id) {
        *id = (uint32_t)b->c->function_count++;
        describe(b, &b->c->functions[*id], label, frame);
    }
    return *id;
}

static bool add_functions(struct building *b, struct error *err)
{
    struct call_costs *c = b->c;
    size_t count;
    const struct function *rows = calltree_functions(&b->tree, &count, err);
    size_t labels = b->tree.paths.labels.count;
    b->function_of = arena_zalloc(&b->scratch, labels + 1, sizeof *b->function_of);
    c->functions = arena_zalloc(&c->arena, labels + 2, sizeof *c->functions);
    if (!rows || !b->function_of || !c->functions)
        return error_memory(err);
    c->function_count = c->call_count = 1;
    for (size_t i = 0; i < count; i++) {
        if (calls_is_mark(&b->tree, rows[i].label))
            continue;
        struct cost_function *f = &c->functions[function_of(b, rows[i].frame)];
        f->self = rows[i].self;
        f->total = rows[i].total;
        f->base_self = rows[i].base_self;
        f->base_total = rows[i].base_total;
    }
    return true;
}

/* A line of folded stacks, which has one row, is as many samples as its weight. */
static void count_samples(struct building *b)
{
    const struct profile *p = b->p;
    bool by_weight = b->c->unit == UNIT_COUNT;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        uint32_t f = s->event == b->tree.event && s->stack
                         ? function_of(b, p->stacks[s->stack].frame)
                         : 0;
        if (f)
            b->c->functions[f].samples += by_weight ? s->weight : (double)s->count;
    }
}

/* --- Calls ------------------------------------------------------------------------ */

/* The event of the stated calls that belong to this tree: its own, or none if the file has
 * calls but no costs. UINT32_MAX: there are no such calls. */
static event_id stated_event(const struct building *b)
{
    event_id event = UINT32_MAX;
    for (size_t i = 0; i < b->p->call_count; i++) {
        if (b->p->calls[i].event == b->tree.event)
            return b->tree.event;
        if (!b->p->calls[i].event)
            event = 0;
    }
    return event;
}

static void add_count(double *sum, double count)
{
    if (count >= 0)
        *sum = (*sum > 0 ? *sum : 0) + count;
}

/* Of a function with a stated total. */
struct rest {
    double total;        /* that, without the calls with a known total; 0: not stated */
    uint32_t open_calls; /* the other calls, which are inside a cycle */
    bool summed;         /* exact, also outside of cycles */
};

static bool is_open(const struct cost_call *call)
{
    return !(call->passed > 0) || call->total < 0;
}

/* Divides the rests of stated totals among the open calls of the function. */
static void divide_rests(struct call_costs *c, struct rest *rests)
{
    for (size_t i = 1; i < c->call_count; i++) {
        const struct cost_call *call = &c->calls[i];
        struct rest *rest = &rests[call->callee];
        if (call->caller == call->callee || !(rest->total > 0))
            continue;
        if (is_open(call))
            rest->open_calls++;
        else
            rest->total -= call->total;
    }
    for (size_t i = 1; i < c->call_count; i++) {
        struct cost_call *call = &c->calls[i];
        const struct rest *rest = &rests[call->callee];
        if (call->caller != call->callee && rest->total > 0 && rest->open_calls &&
            is_open(call))
            call->total = rest->total / rest->open_calls;
    }
}

/* A total that is distributed would be less than the stated one: each call in a cycle takes
 * the time of the calls inside it, too. In the stated one nested calls count again, so that it
 * may be more than the total of the functions. */
static void set_stated_calls(struct call_costs *c, const struct rest *rests)
{
    for (size_t i = 1; i < c->call_count; i++) {
        struct cost_call *call = &c->calls[i];
        bool recursive = c->functions[call->callee].cycle || call->caller == call->callee;
        bool exact = recursive || rests[call->callee].summed;
        double caller = c->functions[call->caller].total,
               callee = rests[call->callee].total;
        double most = caller < callee ? caller : callee;
        if (exact && callee > 0 && call->stated >= 0)
            call->total = call->stated < most ? call->stated : most;
    }
}

/* The totals of functions of a cycle, and of the calls of them, as the file states them. Others
 * are the same as the distributed ones, which have more digits; but the start of a thread is no
 * call in callgrind's sums, and its cost would be distributed to the creator. */
static bool set_stated_totals(struct building *b, event_id event)
{
    struct call_costs *c = b->c;
    struct rest *rests = arena_zalloc(&b->scratch, c->function_count, sizeof *rests);
    for (size_t i = 0; i < b->p->call_count && event && rests; i++) {
        const struct stated_call *s = &b->p->calls[i];
        uint32_t callee = s->event == event && !s->caller && s->total > 0 &&
                                  !(s->summed && b->method == COSTS_CALL_RATIOS)
                              ? function_of(b, s->callee)
                              : 0;
        if (!callee)
            continue;
        struct cost_function *f = &c->functions[callee];
        if (f->cycle || s->summed)
            f->total = s->total > f->self ? s->total : f->self;
        rests[callee].total = f->total;
        rests[callee].summed = s->summed;
    }
    if (rests) {
        set_stated_calls(c, rests);
        divide_rests(c, rests);
    }
    return rests != NULL;
}

/* Calls have a total, by which the callee's is divided, or only a count. */
static bool add_stated(struct building *b, event_id event, struct error *err)
{
    struct call_costs *c = b->c;
    c->stated = true;
    if (!event) { /* without costs: all shares are 1, as in gprof2dot */
        c->total = 0;
        for (size_t i = 1; i < c->function_count; i++)
            c->functions[i].self = c->functions[i].total = 0;
    }
    for (size_t i = 0; i < b->p->call_count; i++) {
        const struct stated_call *s = &b->p->calls[i];
        if (s->event != event)
            continue;
        uint32_t callee = function_of(b, s->callee);
        if (!s->caller) {
            add_count(&c->functions[callee].called, s->count);
            continue;
        }
        struct cost_call *call =
            call_costs_call(c, &b->ids, function_of(b, s->caller), callee);
        if (!call)
            return error_memory(err);
        add_count(&call->count, s->count);
        add_count(&call->stated, s->total);
        call->passed += s->total >= 0 ? s->total : s->count > 0 ? s->count : 0;
    }
    for (size_t i = 1; i < c->function_count; i++)
        c->functions[i].samples = COSTS_UNKNOWN;
    return call_costs_distribute(c, err) &&
           (set_stated_totals(b, event) || error_memory(err));
}

static bool add_exact(struct building *b, struct error *err)
{
    struct calls calls;
    bool ok = calls_init(&calls, &b->tree, err);
    for (size_t i = 0; ok && i < calls.count; i++) {
        const struct call *from = &calls.items[i];
        struct cost_call *call = call_costs_call(
            b->c, &b->ids, b->function_of[from->caller], b->function_of[from->callee]);
        ok = call || error_memory(err);
        if (call) {
            call->total = call->passed = from->total;
            call->base_total = from->base_total;
        }
    }
    calls_deinit(&calls);
    return ok;
}

/* The event that counts calls: a sample is that many calls of its innermost function. 0: there is
 * none, or it is the one of the costs. */
static event_id count_event(const struct building *b)
{
    for (event_id e = 1; e < b->p->event_count; e++)
        if (e != b->tree.event &&
            str_equal(profile_string(b->p, b->p->events[e].name), STR("calls")))
            return e;
    return 0;
}

/* Adds the calls of an input that has stacks with them. */
static bool add_counts(struct building *b, struct error *err)
{
    const struct profile *p = b->p;
    event_id event = count_event(b);
    for (size_t i = 0; event && i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        stack_id parent = p->stacks[s->stack].parent;
        if (s->event != event || !s->stack)
            continue;
        uint32_t callee = function_of(b, p->stacks[s->stack].frame);
        add_count(&b->c->functions[callee].called, s->weight);
        if (!parent)
            continue;
        struct cost_call *call = call_costs_call(
            b->c, &b->ids, function_of(b, p->stacks[parent].frame), callee);
        if (!call)
            return error_memory(err);
        add_count(&call->count, s->weight);
        if (call->total < 0) /* its samples have no cost */
            call->total = 0;
    }
    return true;
}

static bool build(struct building *b, struct error *err)
{
    struct call_costs *c = b->c;
    event_id stated = stated_event(b);
    const struct event *e = &b->p->events[b->tree.event];
    c->total = b->tree.nodes[0].total;
    c->base_total = b->tree.nodes[0].base_total;
    c->differs = b->tree.base != 0;
    if (!add_functions(b, err))
        return false;
    c->event = arena_str(&b->c->arena, profile_string(b->p, e->name));
    c->unit = (enum unit)e->unit;
    count_samples(b);
    bool ok = stated != UINT32_MAX && !c->differs ? add_stated(b, stated, err)
                                                  : add_exact(b, err);
    if (ok && !c->stated)
        ok = add_counts(b, err);
    if (ok && !c->stated && b->method == COSTS_CALL_RATIOS)
        ok = call_costs_distribute(c, err);
    return ok && (!c->arena.failed || error_memory(err));
}

bool call_costs_init(struct call_costs *c, const struct profile *p,
                     const struct calltree_options *options, enum costs_method method,
                     struct error *err)
{
    struct building b = {.c = c, .p = p, .method = method};
    struct calltree_options tree = *options;
    *c = (struct call_costs){0};
    tree.label.words = tree.label.module = true;
    tree.threads = THREAD_NONE;
    tree.min_share = 0;
    if (!calltree_init(&b.tree, p, &tree, err))
        return false;
    bool ok = build(&b, err);
    calltree_deinit(&b.tree);
    arena_deinit(&b.scratch);
    return ok;
}

void call_costs_deinit(struct call_costs *c)
{
    arena_deinit(&c->arena);
    *c = (struct call_costs){0};
}
