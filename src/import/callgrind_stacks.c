/* SPDX-License-Identifier: Apache-2.0 */
/* Makes stacks of a call graph by walking it down from the functions without callers.
 * The cost of a function with several callers is divided in proportion to the calls.
 * The cost of a recursive call (its callee is already on the stack) is added to the
 * caller, and so are parts that are too small. */
#include "base/array.h"
#include "base/limits.h"
#include "import/callgrind.h"
#include <math.h>

#define DEPTH_MAX 4096
#define PATHS_MAX 2000000 /* stacks per event */
#define SHARE_LEAST 1e-7  /* of the total; smaller parts are not walked */

/* A function on the current path. */
struct visit {
    uint32_t function, call; /* the call to visit next */
    stack_id stack;
    double cost;                /* of this stack: the function and its callees */
    double whole;               /* what the file has for it */
    double passed, distributed; /* of `cost` and `whole`: the part already distributed */
    double retained;            /* of calls that were not walked */
};

/* A stack for callgrind.exact_self, whose weight is not final. */
struct leaf {
    uint32_t function;
    stack_id stack;
    double weight;
};

struct descent {
    struct callgrind *c;
    size_t event;
    double *whole;  /* by function: total cost */
    double *called; /* by function: cost of calls by others */
    bool *open;     /* by function: is on the current path */
    struct visit *visits;
    size_t depth, paths;
    double undistributed; /* of the total cost: not yet distributed */
    double least;         /* smaller parts are not walked */
    struct leaf *leaves;
    size_t leaf_count, leaf_cap;
};

static frame_id frame_of(struct callgrind *c, const struct callgrind_function *f)
{
    struct profile *p = c->b->profile;
    return builder_frame(
        c->b, &(struct frame){
                  .name = import_label(c->b, f->name),
                  .file = c->options->lines ? f->file : 0,
                  .line = c->options->lines ? f->line : 0,
                  .module = builder_module(c->b, profile_string(p, f->module), STR(""))});
}

/* Whether no more calls are followed: a function with many callers and many callees costs
 * the product of both. To read a call is cheaper than to add a frame. */
static bool is_full(const struct descent *d)
{
    return d->paths >= PATHS_MAX ||
           limits_expansion_exceeded(d->c->b->limits, d->c->bytes, d->c->calls_read / 4);
}

/* The next share of the visit's cost, in proportion to `part` of its whole. The shares
 * of an integer cost are integers, and their sum is exactly the cost. */
static double share(const struct descent *d, struct visit *v, double part)
{
    v->passed += part;
    double upto = v->cost * (v->passed / v->whole);
    if (v->passed >= v->whole)
        upto = v->cost;
    else if (!d->c->fractions)
        upto = floor(upto + 0.5);
    double distributed = upto > v->distributed ? upto - v->distributed : 0;
    v->distributed += distributed;
    return distributed;
}

/* Divides the cost of a function between itself and those of its calls that are
 * walked, in the file's proportions. The costs of calls already on the stack are part
 * of them. */
static void enter(struct descent *d, uint32_t function, stack_id parent, double cost)
{
    struct callgrind *c = d->c;
    const struct callgrind_function *f = &c->functions[function];
    struct visit *v = &d->visits[d->depth++];
    double whole = f->self[d->event];
    d->open[function] = true;
    d->paths++;
    for (uint32_t i = f->first_call; i; i = c->calls[i].next) {
        c->calls_read++;
        if (!d->open[c->calls[i].callee])
            whole += c->calls[i].cost[d->event];
    }
    *v = (struct visit){.function = function,
                        .stack = builder_push(c->b, parent, frame_of(c, f)),
                        .cost = cost,
                        .whole = whole};
    if (whole > 0) {
        v->call = f->first_call;
        v->retained = share(d, v, f->self[d->event]);
    } else {
        v->retained = cost;
    }
}

static void add_weight(struct descent *d, stack_id stack, double weight)
{
    struct callgrind *c = d->c;
    if (weight > 0)
        builder_add_stack(c->b, c->events[d->event].event, stack,
                          c->options->samples ? 1 : weight);
}

static void finish_visit(struct descent *d)
{
    struct callgrind *c = d->c;
    const struct visit *v = &d->visits[--d->depth];
    d->open[v->function] = false;
    if (!c->exact_self)
        add_weight(d, v->stack, v->retained);
    else if (ARRAY_RESERVE(&c->arena, d->leaves, d->leaf_cap, d->leaf_count + 1))
        d->leaves[d->leaf_count++] = (struct leaf){v->function, v->stack, v->retained};
}

/* Walks down from a function with this cost. */
static void descend(struct descent *d, uint32_t root, double cost)
{
    struct callgrind *c = d->c;
    enter(d, root, 0, cost);
    while (d->depth && !builder_failed(c->b)) {
        struct visit *v = &d->visits[d->depth - 1];
        if (!v->call) {
            finish_visit(d);
            continue;
        }
        const struct callgrind_call *call = &c->calls[v->call];
        v->call = call->next;
        if (!(call->cost[d->event] > 0) || d->open[call->callee])
            continue;
        double part = share(d, v, call->cost[d->event]);
        if (part < d->least || d->depth == DEPTH_MAX || is_full(d))
            v->retained += part;
        else if (part > 0)
            enter(d, call->callee, v->stack, part);
    }
}

/* By function: total cost, and the cost of calls by others. Calls of itself are part
 * of its own cost. */
static void sum_calls(struct descent *d)
{
    const struct callgrind *c = d->c;
    for (size_t i = 1; i < c->function_count; i++)
        d->whole[i] = c->functions[i].self[d->event];
    for (size_t i = 1; i < c->call_count; i++) {
        const struct callgrind_call *call = &c->calls[i];
        if (call->caller == call->callee)
            continue;
        d->whole[call->caller] += call->cost[d->event];
        d->called[call->callee] += call->cost[d->event];
    }
}

/* The self cost in the file; if a callgrind file has only the calls of the function, their
 * cost. */
static double self_cost(const struct descent *d, uint32_t function)
{
    return d->whole[function] > 0 || !d->c->keeps_called
               ? d->c->functions[function].self[d->event]
               : d->called[function];
}

/* Of all functions. */
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
    if (cost > 0) {
        d->undistributed -= cost;
        descend(d, root, cost);
    }
}

/* With at most the cost that is not yet distributed. */
static void descend_within(struct descent *d, uint32_t root, double cost)
{
    descend_from(d, root, cost < d->undistributed ? cost : d->undistributed);
}

/* First the functions without callers, then those that cost more than the calls of
 * them, last, where functions call each other in cycles, whichever costs most. Sums of
 * the same numbers in another order differ slightly. If calls cost more than the
 * called functions, the total is the one that the file states, if any. */
static void descend_all(struct descent *d)
{
    const struct callgrind_event *e = &d->c->events[d->event];
    bool stated = e->stated[0] > 0 || e->stated[1] > 0;
    uint32_t largest = 0;
    for (uint32_t i = 1; i < d->c->function_count; i++) {
        if (!(d->called[i] > 0))
            (stated ? descend_within : descend_from)(d, i, d->whole[i]);
        if (d->whole[i] > d->whole[largest])
            largest = i;
    }
    for (uint32_t i = 1; i < d->c->function_count; i++)
        if (d->called[i] > 0 && d->whole[i] - d->called[i] > d->whole[i] * 1e-9)
            descend_within(d, i, d->whole[i] - d->called[i]);
    if (largest && (d->undistributed > d->least * 100 || !d->c->fractions))
        descend_within(d, largest, d->undistributed);
}

/* --- Exact self costs -------------------- */

/* By function, while its stacks get their weights. */
struct portion {
    stack_id stack;        /* its first one, or 0 */
    double sum;            /* the weights of its stacks from the walk */
    double passed, spread; /* of `sum` and of its self cost: the part already added */
};

/* Adds a stack for the function, which the walk did not visit. */
static void add_stack(struct descent *d, struct portion *portions, uint32_t function,
                      stack_id parent)
{
    struct callgrind *c = d->c;
    const struct callgrind_function *f = &c->functions[function];
    portions[function].stack = builder_push(c->b, parent, frame_of(c, f));
    add_weight(d, portions[function].stack, self_cost(d, function));
}

/* Functions that the walk did not visit are callees of those that it did, with costs that
 * are too small; `queue` has room for all functions. The others have no callers. */
static void add_unvisited(struct descent *d, struct portion *portions, uint32_t *queue)
{
    const struct callgrind *c = d->c;
    size_t count = 0, next = 0;
    for (uint32_t i = 1; i < c->function_count; i++)
        if (portions[i].stack)
            queue[count++] = i;
    for (uint32_t root = 1; root < c->function_count; root++) {
        for (; next < count; next++)
            for (uint32_t i = c->functions[queue[next]].first_call; i;
                 i = c->calls[i].next) {
                uint32_t callee = c->calls[i].callee;
                if (portions[callee].stack)
                    continue;
                add_stack(d, portions, callee, portions[queue[next]].stack);
                queue[count++] = callee;
            }
        if (!portions[root].stack) {
            add_stack(d, portions, root, 0);
            queue[count++] = root;
        }
    }
}

/* Divides each function's self cost among its stacks in proportion to their weights from
 * the walk, or gives it to the first one if all are 0. */
static void add_leaves(struct descent *d)
{
    struct callgrind *c = d->c;
    size_t count = c->function_count;
    struct portion *portions = arena_zalloc(&c->arena, count, sizeof *portions);
    uint32_t *queue = arena_zalloc(&c->arena, count, sizeof *queue);
    if (!portions || !queue)
        return;
    for (size_t i = 0; i < d->leaf_count; i++) {
        struct portion *p = &portions[d->leaves[i].function];
        p->sum += d->leaves[i].weight;
        if (!p->stack)
            p->stack = d->leaves[i].stack;
    }
    for (size_t i = 0; i < d->leaf_count; i++) {
        const struct leaf *l = &d->leaves[i];
        struct portion *p = &portions[l->function];
        double self = self_cost(d, l->function);
        p->passed += l->weight;
        double upto = p->passed >= p->sum ? self : self * (p->passed / p->sum);
        upto = c->fractions ? upto : floor(upto + 0.5);
        add_weight(d, l->stack, upto - p->spread);
        p->spread = upto;
    }
    add_unvisited(d, portions, queue);
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
    d.undistributed = sum_all(&d);
    d.least = d.undistributed * SHARE_LEAST;
    descend_all(&d);
    if (c->exact_self)
        add_leaves(&d);
    builder_warn_times(c->b,
                       "more stacks than the limit: the rest is added to their callers",
                       is_full(&d));
    arena_release(&c->arena, d.leaves, d.leaf_cap * sizeof *d.leaves);
    arena_release(&c->arena, d.visits, DEPTH_MAX * sizeof *d.visits);
}

/* --- Calls -------------------- */

/* How often each function was called. Recursive calls count, as in callgrind. */
static void add_called(struct callgrind *c, const frame_id *frames)
{
    double *called = arena_zalloc(&c->arena, c->function_count, sizeof *called);
    if (!called)
        return;
    for (size_t i = 1; i < c->call_count; i++)
        called[c->calls[i].callee] += c->calls[i].count;
    for (size_t i = 1; i < c->function_count; i++) {
        double count = c->functions[i].called > 0 ? c->functions[i].called : called[i];
        double stated = c->functions[i].total;
        builder_add_call(c->b, &(struct stated_call){.callee = frames[i],
                                                     .event = c->events[0].event,
                                                     .count = count,
                                                     .total = stated > 0 ? stated : -1,
                                                     .summed = c->functions[i].summed});
    }
}

/* Those of the first event, which a call graph shows. */
static void add_calls(struct callgrind *c)
{
    frame_id *frames = arena_zalloc(&c->arena, c->function_count, sizeof *frames);
    if (!frames)
        return;
    for (size_t i = 1; i < c->function_count; i++)
        frames[i] = frame_of(c, &c->functions[i]);
    for (size_t i = 1; i < c->call_count; i++) {
        const struct callgrind_call *call = &c->calls[i];
        builder_add_call(
            c->b, &(struct stated_call){frames[call->caller], frames[call->callee],
                                        c->events[0].event, call->count, call->cost[0]});
    }
    add_called(c, frames);
}

void callgrind_add_stacks(struct callgrind *c)
{
    if (c->function_count > 1 && c->event_count && !c->options->samples)
        add_calls(c);
    for (size_t i = 0; i < c->event_count && !c->arena.failed; i++)
        add_event(c, i);
}
