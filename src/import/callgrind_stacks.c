/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of a call graph: they are made by going down from the functions without callers. The
 * cost of a function that several call is shared between them as the calls say. A call of
 * what is on the stack already (recursion) stays with its caller, and so do parts that
 * are too small. */
#include "import/callgrind.h"
#include <math.h>

#define DEPTH_MAX 4096
#define PATHS_MAX 2000000 /* stacks that are made, of each event */
#define SHARE_LEAST 1e-7  /* of the whole; what is smaller is not gone into */

/* A function under way, on the way down. */
struct visit {
    uint32_t function, call; /* the call that is looked at next */
    stack_id stack;
    double cost;          /* this stack's, of the function and all that it calls */
    double whole;         /* what the file has for that */
    double passed, given; /* of both: how much is shared out */
    double kept;          /* of calls that were not gone into */
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

static frame_id frame_of(struct callgrind *c, const struct callgrind_function *f)
{
    struct profile *p = c->b->profile;
    return builder_frame(
        c->b, &(struct frame){
                  .name = f->name,
                  .file = c->options->lines ? f->file : 0,
                  .module = builder_module(c->b, profile_string(p, f->module), STR(""))});
}

/* The next part of the visit's cost, as `part` is of its whole. Parts of a cost that is a
 * whole number are whole numbers, and all of them together are the cost. */
static double share(const struct descent *d, struct visit *v, double part)
{
    v->passed += part;
    double upto = v->cost * (v->passed / v->whole);
    if (v->passed >= v->whole)
        upto = v->cost;
    else if (!d->c->fractions)
        upto = floor(upto + 0.5);
    double given = upto > v->given ? upto - v->given : 0;
    v->given += given;
    return given;
}

/* The cost of a function that is entered goes to itself and to those of its calls that
 * are gone into, as they share it in the file: what is on the stack already is in their
 * costs. */
static void enter(struct descent *d, uint32_t function, stack_id parent, double cost)
{
    struct callgrind *c = d->c;
    const struct callgrind_function *f = &c->functions[function];
    struct visit *v = &d->visits[d->depth++];
    double whole = f->self[d->event];
    d->open[function] = true;
    d->paths++;
    for (uint32_t i = f->first_call; i; i = c->calls[i].next)
        if (!d->open[c->calls[i].callee])
            whole += c->calls[i].cost[d->event];
    *v = (struct visit){.function = function,
                        .stack = builder_push(c->b, parent, frame_of(c, f)),
                        .cost = cost,
                        .whole = whole};
    if (whole > 0) {
        v->call = f->first_call;
        v->kept = share(d, v, f->self[d->event]);
    } else {
        v->kept = cost;
    }
}

static void leave(struct descent *d)
{
    struct callgrind *c = d->c;
    const struct visit *v = &d->visits[--d->depth];
    d->open[v->function] = false;
    if (v->kept > 0)
        builder_add_stack(c->b, c->events[d->event].event, v->stack,
                          c->options->samples ? 1 : v->kept);
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
        const struct callgrind_call *call = &c->calls[v->call];
        v->call = call->next;
        if (!(call->cost[d->event] > 0) || d->open[call->callee])
            continue;
        double part = share(d, v, call->cost[d->event]);
        if (part < d->least || d->depth == DEPTH_MAX || d->paths >= PATHS_MAX)
            v->kept += part;
        else if (part > 0)
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
        const struct callgrind_call *call = &c->calls[i];
        if (call->caller == call->callee)
            continue;
        d->whole[call->caller] += call->cost[d->event];
        d->called[call->callee] += call->cost[d->event];
    }
}

/* The cost of all: of what the file has no costs of, that of its calls. */
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
        d->left -= cost;
        descend(d, root, cost);
    }
}

/* With no more than is left of the cost of all. */
static void descend_within(struct descent *d, uint32_t root, double cost)
{
    descend_from(d, root, cost < d->left ? cost : d->left);
}

/* First those without callers; then those that cost more than they are called for; at
 * last, where functions call each other in circles, whatever costs most. Sums of the same
 * numbers in another order differ a little. Where calls cost more than the functions that
 * are called, the sum is what the file states, if it does. */
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
    if (largest && (d->left > d->least * 100 || !d->c->fractions))
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

void callgrind_add_stacks(struct callgrind *c)
{
    for (size_t i = 0; i < c->event_count && !c->arena.failed; i++)
        add_event(c, i);
}
