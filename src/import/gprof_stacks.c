/* SPDX-License-Identifier: Apache-2.0 */
/* Makes stacks of a call graph by gprof's own assumption: each call of a function takes
 * the same time, whoever calls.
 *
 * Functions that call each other in a cycle are one component. A component's time is
 * divided among the calls from outside in proportion to their counts. Such a call enters
 * a component at one function; the others of the cycle are its callees along the shortest
 * paths. So a stack never contains a function twice, and its share of a function is the
 * product of the proportions along it.
 *
 * Shares are rounded to integers so that their sums are exact. Paths with very small
 * shares are not walked: what they have is added to the largest stack of the function. */
#include "base/array.h"
#include "import/gprof.h"
#include "import/stated.h"
#include <math.h>

#define DEPTH_MAX 4096
#define PATHS_MAX 500000
#define TIME_LEAST 1e-6  /* of the total time; smaller parts are not walked, */
#define CALLS_LEAST 1e-4 /* unless they have this part of all calls */

/* A quantity that is distributed in parts. */
struct amount {
    double all, exact, added; /* added: integers, up to `exact` */
};

struct component {
    double entered;     /* sum of the calls from outside, or what the file states */
    double time, calls; /* of its functions and their callees */
    uint32_t size;
    bool walked;
};

/* What the walk knows of a function. */
struct state {
    struct amount self;
    double called; /* calls of it by functions of the graph */
    double largest;
    stack_id stack; /* the one with the largest share */
    uint32_t component;
    uint32_t order, low, next_call; /* Tarjan's algorithm; order 0: not yet visited */
    bool open;                      /* on Tarjan's stack */
    uint32_t entry_number, before;  /* in its component: the caller on the path */
};

struct visit {
    uint32_t function, call; /* the call to visit next */
    stack_id stack;
    double share;
};

struct walk {
    struct gprof *g;
    struct state *states;  /* by function */
    struct amount *counts; /* by call */
    struct component *components;
    uint32_t component_count, order;
    uint32_t *queue, *path; /* of functions */
    struct visit *visits;
    size_t depth, paths;
    uint32_t entry_number;
    uint64_t calls_read;
    double time, calls; /* of all */
    event_id time_event, calls_event;
};

/* --- Components -------------------- */

/* Closes the component whose first function is `f`. Its callees' are closed before. */
static void close_component(struct walk *w, uint32_t f, size_t *open)
{
    uint32_t id = w->component_count++, member;
    do {
        member = w->queue[--*open];
        w->states[member].open = false;
        w->states[member].component = id;
        w->components[id].size++;
    } while (member != f);
}

static void open_function(struct walk *w, uint32_t f, size_t *open)
{
    struct state *s = &w->states[f];
    s->order = s->low = ++w->order;
    s->next_call = w->g->functions[f].first_call;
    s->open = true;
    w->queue[(*open)++] = f;
}

/* Tarjan's algorithm, with its own stack (path). */
static void find_components(struct walk *w, uint32_t root)
{
    size_t depth = 0, open = 0;
    open_function(w, root, &open);
    w->path[depth++] = root;
    while (depth) {
        uint32_t f = w->path[depth - 1];
        struct state *s = &w->states[f];
        if (s->next_call) {
            const struct gprof_call *call = &w->g->calls[s->next_call];
            struct state *callee = &w->states[call->callee];
            s->next_call = call->next;
            if (!callee->order) {
                open_function(w, call->callee, &open);
                w->path[depth++] = call->callee;
            } else if (callee->open && callee->order < s->low) {
                s->low = callee->order;
            }
            continue;
        }
        if (s->low == s->order)
            close_component(w, f, &open);
        if (--depth && s->low < w->states[w->path[depth - 1]].low)
            w->states[w->path[depth - 1]].low = s->low;
    }
}

static struct component *component_of(const struct walk *w, uint32_t function)
{
    return &w->components[w->states[function].component];
}

static bool is_inner(const struct walk *w, const struct gprof_call *call)
{
    return w->states[call->caller].component == w->states[call->callee].component;
}

/* The share of the entries of the callee's component that this call makes. */
static double part_of(const struct walk *w, const struct gprof_call *call)
{
    double entered = component_of(w, call->callee)->entered;
    return entered > 0 ? call->part / entered : 0;
}

static void sum_entered(struct walk *w)
{
    const struct gprof *g = w->g;
    for (size_t i = 1; i <= g->call_count; i++) {
        const struct gprof_call *call = &g->calls[i];
        w->states[call->callee].called += call->count;
        if (!is_inner(w, call))
            component_of(w, call->callee)->entered += call->part;
    }
    for (size_t i = 1; i <= g->function_count; i++) {
        const struct gprof_function *f = &g->functions[i];
        struct component *c = component_of(w, (uint32_t)i);
        if (f->entered > c->entered)
            c->entered = f->entered;
    }
}

/* Time and calls of each component, with its callees: these have smaller numbers. */
static void sum_components(struct walk *w, uint32_t *members)
{
    const struct gprof *g = w->g;
    uint32_t *first = w->queue; /* of each component; members: the next function */
    memset(first, 0, w->component_count * sizeof *first);
    for (uint32_t i = 1; i <= g->function_count; i++) {
        members[i] = first[w->states[i].component];
        first[w->states[i].component] = i;
    }
    for (uint32_t id = 0; id < w->component_count; id++) {
        struct component *c = &w->components[id];
        for (uint32_t f = first[id]; f; f = members[f]) {
            c->time += g->functions[f].self;
            for (uint32_t i = g->functions[f].first_call; i; i = g->calls[i].next) {
                const struct component *callee = component_of(w, g->calls[i].callee);
                double part = callee == c ? 0 : part_of(w, &g->calls[i]);
                c->calls += g->calls[i].count + callee->calls * part;
                c->time += callee->time * part;
            }
        }
    }
}

/* --- Stacks -------------------- */

static frame_id frame_of(struct gprof *g, uint32_t function)
{
    const struct gprof_function *f = &g->functions[function];
    bool lines = g->options->lines;
    return builder_frame(g->b, &(struct frame){.name = import_label(g->b, f->name),
                                               .module = f->module,
                                               .file = lines ? f->file : 0,
                                               .line = lines ? f->line : 0});
}

static void add(const struct walk *w, event_id event, stack_id stack, double weight)
{
    if (weight > 0)
        builder_add_stack(w->g->b, event, stack, w->g->options->samples ? 1 : weight);
}

/* The next part of an amount; the sum of the parts is an integer at any time. */
static double take(struct amount *a, double share)
{
    a->exact += a->all * share;
    double upto = floor(a->exact + 0.5);
    if (upto > a->all)
        upto = a->all;
    double part = upto - a->added;
    if (!(part > 0))
        return 0;
    a->added = upto;
    return part;
}

/* Finds the shortest paths inside a cycle from the function where a call enters it. */
static void find_paths(struct walk *w, uint32_t entry)
{
    const struct gprof *g = w->g;
    size_t done = 0, count = 0;
    uint32_t number = ++w->entry_number;
    w->states[entry].entry_number = number;
    w->states[entry].before = 0;
    w->queue[count++] = entry;
    while (done < count) {
        uint32_t f = w->queue[done++];
        for (uint32_t i = g->functions[f].first_call; i; i = g->calls[i].next) {
            uint32_t callee = g->calls[i].callee;
            w->calls_read++;
            if (!is_inner(w, &g->calls[i]) || w->states[callee].entry_number == number)
                continue;
            w->states[callee].entry_number = number;
            w->states[callee].before = f;
            w->queue[count++] = callee;
        }
    }
}

static void enter(struct walk *w, uint32_t function, stack_id stack, double share)
{
    struct state *s = &w->states[function];
    struct visit *v = &w->visits[w->depth++];
    *v = (struct visit){.function = function,
                        .call = w->g->functions[function].first_call,
                        .stack = stack,
                        .share = share};
    w->paths++;
    component_of(w, function)->walked = true;
    if (share > s->largest) {
        s->largest = share;
        s->stack = stack;
    }
    add(w, w->time_event, stack, take(&s->self, share));
}

/* A call from outside of the callee's component. */
static void enter_component(struct walk *w, uint32_t function, stack_id stack,
                            double share)
{
    if (component_of(w, function)->size > 1)
        find_paths(w, function);
    enter(w, function, stack, share);
}

/* Whether no more calls are followed: the number of paths can be exponential. */
static bool is_full(const struct walk *w)
{
    return w->paths >= PATHS_MAX ||
           limits_expansion_exceeded(w->g->b->limits, w->g->bytes, w->calls_read / 4);
}

/* Whether a call from outside with this share of the component is worth a walk. Every
 * component is walked once, so that all functions have a caller. */
static bool is_large(const struct walk *w, const struct component *c, double share)
{
    return share > 0 && (!c->walked || c->time * share > w->time * TIME_LEAST ||
                         c->calls * share > w->calls * CALLS_LEAST);
}

static void follow(struct walk *w, const struct visit *v, uint32_t id)
{
    const struct gprof_call *call = &w->g->calls[id];
    stack_id stack = builder_push(w->g->b, v->stack, frame_of(w->g, call->callee));
    add(w, w->calls_event, stack, take(&w->counts[id], v->share));
    if (w->depth == DEPTH_MAX || is_full(w))
        return;
    if (is_inner(w, call)) {
        const struct state *s = &w->states[call->callee];
        if (s->before == call->caller && call->callee != call->caller)
            enter(w, call->callee, stack, v->share);
        return;
    }
    double share = v->share * part_of(w, call);
    if (is_large(w, component_of(w, call->callee), share))
        enter_component(w, call->callee, stack, share);
}

static void walk_from(struct walk *w, uint32_t root, double share)
{
    enter_component(w, root, builder_push(w->g->b, 0, frame_of(w->g, root)), share);
    while (w->depth && !builder_failed(w->g->b)) {
        struct visit *v = &w->visits[w->depth - 1];
        uint32_t call = v->call;
        if (!call) {
            w->depth--;
            continue;
        }
        v->call = w->g->calls[call].next;
        w->calls_read++;
        follow(w, v, call);
    }
    w->depth = 0;
}

/* By component, the function with most calls from functions that the file does not name:
 * there its walk begins. */
static void find_roots(const struct walk *w, uint32_t *roots)
{
    const struct gprof *g = w->g;
    memset(roots, 0, w->component_count * sizeof *roots);
    for (uint32_t i = 1; i <= g->function_count; i++) {
        uint32_t *root = &roots[w->states[i].component];
        if (!*root || g->functions[i].called - w->states[i].called >
                          g->functions[*root].called - w->states[*root].called)
            *root = i;
    }
}

/* The part of each component that no known call has. Callers have larger numbers. */
static void walk_all(struct walk *w, double *unknown, const uint32_t *roots)
{
    const struct gprof *g = w->g;
    for (uint32_t id = 0; id < w->component_count; id++)
        unknown[id] = 1;
    for (size_t i = 1; i <= g->call_count; i++)
        if (!is_inner(w, &g->calls[i]))
            unknown[w->states[g->calls[i].callee].component] -= part_of(w, &g->calls[i]);
    for (uint32_t id = w->component_count; id-- > 0;)
        if (unknown[id] > 1e-9 && !is_full(w))
            walk_from(w, roots[id], unknown[id]);
}

/* What the walk did not add: to the largest stack of each function. */
static void add_rest(struct walk *w)
{
    struct gprof *g = w->g;
    for (uint32_t i = 1; i <= g->function_count && !builder_failed(g->b); i++) {
        struct state *s = &w->states[i];
        frame_id frame = frame_of(g, i);
        if (!s->stack)
            s->stack = builder_push(g->b, 0, frame);
        add(w, w->time_event, s->stack, s->self.all - s->self.added);
        add(w, w->calls_event, builder_push(g->b, 0, frame),
            g->functions[i].called - s->called);
    }
    for (size_t i = 1; i <= g->call_count && !builder_failed(g->b); i++) {
        const struct gprof_call *call = &g->calls[i];
        add(w, w->calls_event,
            builder_push(g->b, w->states[call->caller].stack, frame_of(g, call->callee)),
            w->counts[i].all - w->counts[i].added);
    }
}

/* --- The graph -------------------- */

static bool allocate(struct walk *w, uint32_t **members, double **unknown)
{
    struct gprof *g = w->g;
    struct arena *a = &g->arena;
    size_t count = g->function_count + 1;
    w->states = arena_zalloc(a, count, sizeof *w->states);
    w->counts = arena_zalloc(a, g->call_count + 1, sizeof *w->counts);
    w->components = arena_zalloc(a, count, sizeof *w->components);
    w->queue = arena_zalloc(a, count, sizeof *w->queue);
    w->path = arena_zalloc(a, count, sizeof *w->path);
    w->visits = arena_zalloc(a, DEPTH_MAX, sizeof *w->visits);
    *members = arena_zalloc(a, count, sizeof **members);
    *unknown = arena_zalloc(a, count, sizeof **unknown);
    return !a->failed;
}

/* The calls as the file states them. Files without counts have parts of the time. */
static void add_calls(const struct walk *w, bool counted)
{
    struct gprof *g = w->g;
    struct stated_call call = {.event = w->time_event, .total = -1, .count = -1};
    for (uint32_t i = 1; i <= g->function_count; i++) {
        call.callee = frame_of(g, i);
        call.total = g->functions[i].share > 0 ? g->functions[i].share * w->time : -1;
        if (counted)
            call.count = g->functions[i].listed && !g->functions[i].uncounted
                             ? g->functions[i].called
                             : -1;
        builder_add_call(g->b, &call);
        if (g->functions[i].recursed > 0)
            builder_add_call(g->b,
                             &(struct stated_call){call.callee, call.callee, call.event,
                                                   g->functions[i].recursed, -1});
    }
    call.total = -1;
    for (size_t i = 1; i <= g->call_count; i++) {
        if (g->calls[i].caller == g->calls[i].callee &&
            g->functions[g->calls[i].caller].recursed > 0)
            continue; /* its own row has these calls, too */
        call.caller = frame_of(g, g->calls[i].caller);
        call.callee = frame_of(g, g->calls[i].callee);
        if (counted)
            call.count = g->calls[i].count;
        else
            call.total = g->calls[i].part > 0 ? g->calls[i].part : -1;
        builder_add_call(g->b, &call);
    }
}

static void add_events(struct walk *w)
{
    const struct gprof *g = w->g;
    double called = 0;
    for (size_t i = 1; i <= g->function_count; i++) {
        w->states[i].self.all = g->functions[i].self;
        w->time += g->functions[i].self;
        called += g->functions[i].called;
    }
    for (size_t i = 1; i <= g->call_count; i++) {
        w->counts[i].all = g->calls[i].count;
        w->calls += g->calls[i].count;
    }
    if (w->time > 0)
        w->time_event = builder_event(g->b, str_of(g->event),
                                      g->options->samples ? UNIT_COUNT : g->unit);
    if (w->calls + called > 0)
        w->calls_event = builder_event(g->b, STR("calls"), UNIT_EVENTS);
    if (!g->options->samples) /* weights of 1 do not fit the calls */
        add_calls(w, w->calls_event != 0);
}

/* Each time in the file is rounded. */
static void check_total(const struct walk *w)
{
    const struct gprof *g = w->g;
    double slack = g->precision;
    for (size_t i = 1; i <= g->function_count; i++)
        slack += g->precision / 2;
    if (g->stated >= 0)
        stated_check_about(g->b,
                           g->unit == UNIT_COUNT ? STR("samples") : STR("nanoseconds"),
                           w->time, g->stated, slack);
}

void gprof_add_stacks(struct gprof *g)
{
    struct walk w = {.g = g};
    uint32_t *members;
    double *unknown;
    if (!allocate(&w, &members, &unknown))
        return;
    add_events(&w);
    check_total(&w);
    for (uint32_t i = 1; i <= g->function_count; i++)
        if (!w.states[i].order)
            find_components(&w, i);
    sum_entered(&w);
    sum_components(&w, members);
    find_roots(&w, members);
    walk_all(&w, unknown, members);
    add_rest(&w);
    builder_warn_times(
        g->b, "more stacks than the limit: the rest is in other stacks of its functions",
        is_full(&w));
}
