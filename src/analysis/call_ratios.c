/* SPDX-License-Identifier: Apache-2.0 */
/* Totals by the ratios of calls, as gprof2dot computes them.
 *
 * A call's ratio is its part of all calls of the callee: of a cycle, that is of functions
 * that call each other, its part of all calls from outside. The total of a function is its
 * self cost and the callees' totals times the ratios. A cycle is one function for its
 * callers. Inside, each function where calls enter it has their part of the cycle's cost;
 * it passes the costs of the others on along the calls that lead away from it, so that no
 * cost is counted in circles. Other calls inside a cycle have no total.
 *
 * Components are numbered so that callees come before callers. */
#include "analysis/call_costs.h"
#include "base/array.h"

/* Steps of entering cycles, beside once for each: a cycle may have as many entries as
 * functions. */
#define WORK_MOST 20000000

/* What Tarjan's algorithm knows of a function. */
struct visited {
    uint32_t order, low, next_call; /* order 0: not yet visited */
    bool open;
};

struct distribution {
    struct call_costs *c;
    struct arena arena;
    struct visited *visited;    /* by function */
    uint32_t *component;        /* by function, from 0 */
    uint32_t *members, *starts; /* functions by component; starts has one more */
    double *cost;               /* by component: with its callees */
    double *entered;            /* by function: ratios of calls into its cycle */
    double *ratio;              /* by call */
    double *reached, *partial;  /* by function of the current cycle */
    uint32_t *rank, *queue;     /* rank: calls from the entry, from 1; 0: not reached */
    uint32_t *path;
    uint32_t order, component_count, member_count;
    uint64_t work; /* left, of WORK_MOST */
};

/* --- Components -------------------------------------------------------------------- */

static void open_function(struct distribution *d, uint32_t f, uint32_t *open)
{
    d->visited[f] = (struct visited){.order = ++d->order,
                                     .low = d->order,
                                     .next_call = d->c->functions[f].first_call,
                                     .open = true};
    d->queue[(*open)++] = f;
}

static void close_component(struct distribution *d, uint32_t f, uint32_t *open)
{
    uint32_t member;
    do {
        member = d->queue[--*open];
        d->visited[member].open = false;
        d->component[member] = d->component_count;
        d->members[d->member_count++] = member;
    } while (member != f);
    d->starts[++d->component_count] = d->member_count;
}

static void follow_calls(struct distribution *d, uint32_t root)
{
    uint32_t depth = 0, open = 0;
    open_function(d, root, &open);
    d->path[depth++] = root;
    while (depth) {
        uint32_t f = d->path[depth - 1];
        struct visited *v = &d->visited[f];
        if (v->next_call) {
            const struct cost_call *call = &d->c->calls[v->next_call];
            const struct visited *callee = &d->visited[call->callee];
            v->next_call = call->next;
            if (!callee->order) {
                open_function(d, call->callee, &open);
                d->path[depth++] = call->callee;
            } else if (callee->open && callee->order < v->low) {
                v->low = callee->order;
            }
            continue;
        }
        if (v->low == v->order)
            close_component(d, f, &open);
        if (--depth && v->low < d->visited[d->path[depth - 1]].low)
            d->visited[d->path[depth - 1]].low = v->low;
    }
}

static void find_cycles(struct distribution *d)
{
    struct call_costs *c = d->c;
    for (uint32_t f = 1; f < c->function_count; f++)
        if (!d->visited[f].order)
            follow_calls(d, f);
    for (uint32_t i = 0; i < d->component_count; i++) {
        bool cycle = d->starts[i + 1] - d->starts[i] > 1;
        c->cycle_count += cycle;
        for (uint32_t m = d->starts[i]; m < d->starts[i + 1]; m++)
            c->functions[d->members[m]].cycle = cycle ? c->cycle_count : 0;
    }
}

static bool is_inner(const struct distribution *d, const struct cost_call *call)
{
    return d->component[call->caller] == d->component[call->callee];
}

/* --- Ratios ------------------------------------------------------------------------ */

static bool find_ratios(struct distribution *d)
{
    const struct call_costs *c = d->c;
    double *calls = arena_zalloc(&d->arena, c->function_count, sizeof *calls);
    double *cycles = arena_zalloc(&d->arena, c->function_count, sizeof *cycles);
    if (!calls || !cycles)
        return false;
    for (size_t i = 1; i < c->call_count; i++) {
        const struct cost_call *call = &c->calls[i];
        if (call->caller == call->callee)
            continue;
        calls[call->callee] += call->passed;
        if (!is_inner(d, call))
            cycles[d->component[call->callee]] += call->passed;
    }
    for (size_t i = 1; i < c->call_count; i++) {
        const struct cost_call *call = &c->calls[i];
        bool enters = c->functions[call->callee].cycle && !is_inner(d, call);
        double all = enters ? cycles[d->component[call->callee]] : calls[call->callee];
        if (call->caller == call->callee)
            continue;
        d->ratio[i] = cost_share(call->passed, all);
        if (enters)
            d->entered[call->callee] += d->ratio[i];
    }
    return true;
}

/* --- Totals ------------------------------------------------------------------------ */

/* The cost of a function with the callees outside of its component, whose totals are
 * known. */
static double outer_cost(struct distribution *d, uint32_t f)
{
    struct call_costs *c = d->c;
    double sum = c->functions[f].self;
    for (uint32_t i = c->functions[f].first_call; i; i = c->calls[i].next) {
        struct cost_call *call = &c->calls[i];
        if (is_inner(d, call))
            continue;
        call->total = d->ratio[i] * d->cost[d->component[call->callee]];
        sum += call->total;
    }
    return sum;
}

/* Ranks the functions of a cycle by the number of calls from the entry; queue has them in
 * this order. */
static uint32_t rank_functions(struct distribution *d, uint32_t entry)
{
    const struct call_costs *c = d->c;
    uint32_t count = 0;
    d->rank[entry] = 1;
    d->queue[count++] = entry;
    for (uint32_t next = 0; next < count; next++) {
        uint32_t f = d->queue[next];
        for (uint32_t i = c->functions[f].first_call; i; i = c->calls[i].next) {
            uint32_t callee = c->calls[i].callee;
            if (!is_inner(d, &c->calls[i]) || d->rank[callee])
                continue;
            d->rank[callee] = d->rank[f] + 1;
            d->queue[count++] = callee;
        }
    }
    return count;
}

static bool leads_away(const struct distribution *d, const struct cost_call *call)
{
    return is_inner(d, call) && d->rank[call->callee] > d->rank[call->caller];
}

/* Adds the part of the cycle's cost that calls from outside request at this function. */
static void enter_cycle(struct distribution *d, uint32_t entry, double ratio,
                        const double *outer)
{
    struct call_costs *c = d->c;
    uint32_t count = rank_functions(d, entry);
    for (uint32_t n = 0; n < count; n++)
        d->reached[d->queue[n]] = 0;
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t i = c->functions[d->queue[n]].first_call; i; i = c->calls[i].next)
            if (leads_away(d, &c->calls[i]))
                d->reached[c->calls[i].callee] += d->ratio[i];
    for (uint32_t n = count; n-- > 0;) {
        uint32_t f = d->queue[n];
        double partial = ratio * outer[f];
        for (uint32_t i = c->functions[f].first_call; i; i = c->calls[i].next) {
            struct cost_call *call = &c->calls[i];
            if (!leads_away(d, call))
                continue;
            double part = cost_share(d->ratio[i], d->reached[call->callee]) *
                          d->partial[call->callee];
            call->total = (call->total > 0 ? call->total : 0) + part;
            partial += part;
        }
        d->partial[f] = partial;
        c->functions[f].total += partial;
    }
    for (uint32_t n = 0; n < count; n++)
        d->rank[d->queue[n]] = 0;
}

/* What it takes to enter a cycle: its functions and their calls. */
static uint64_t work_of(const struct distribution *d, uint32_t id)
{
    uint64_t work = 0;
    for (uint32_t m = d->starts[id]; m < d->starts[id + 1]; m++) {
        work++;
        for (uint32_t i = d->c->functions[d->members[m]].first_call; i;
             i = d->c->calls[i].next)
            work++;
    }
    return work;
}

/* Enters a cycle at each function where calls enter it; the one with most calls is the
 * last, and gets the parts of those for which no work is left. */
static void enter_at_all(struct distribution *d, uint32_t id, const double *outer)
{
    const uint32_t *members = d->members + d->starts[id];
    uint32_t count = d->starts[id + 1] - d->starts[id], most = members[0];
    uint64_t work = work_of(d, id);
    double rest = 0;
    for (uint32_t m = 1; m < count; m++)
        if (d->entered[members[m]] > d->entered[most])
            most = members[m];
    for (uint32_t m = 0; m < count; m++) {
        double ratio = d->entered[members[m]];
        if (!(ratio > 0) || members[m] == most)
            continue;
        if (d->work < work) {
            rest += ratio;
            continue;
        }
        d->work -= work;
        enter_cycle(d, members[m], ratio, outer);
    }
    enter_cycle(d, most, d->entered[most] + rest, outer);
}

static void integrate_cycle(struct distribution *d, uint32_t id, double *outer)
{
    struct call_costs *c = d->c;
    const uint32_t *members = d->members + d->starts[id];
    uint32_t count = d->starts[id + 1] - d->starts[id], heaviest = members[0];
    bool entered = false;
    for (uint32_t m = 0; m < count; m++) {
        uint32_t f = members[m];
        outer[f] = outer_cost(d, f);
        d->cost[id] += outer[f];
        c->functions[f].total = 0;
        entered |= d->entered[f] > 0;
        if (outer[f] > outer[heaviest])
            heaviest = f;
    }
    if (!entered) /* no known caller */
        d->entered[heaviest] = 1;
    enter_at_all(d, id, outer);
}

static bool integrate(struct distribution *d)
{
    struct call_costs *c = d->c;
    double *outer = arena_zalloc(&d->arena, c->function_count, sizeof *outer);
    for (size_t i = 1; i < c->call_count; i++)
        c->calls[i].total = COSTS_UNKNOWN;
    for (uint32_t id = 0; outer && id < d->component_count; id++) {
        uint32_t f = d->members[d->starts[id]];
        if (d->starts[id + 1] - d->starts[id] > 1)
            integrate_cycle(d, id, outer);
        else
            d->cost[id] = c->functions[f].total = outer_cost(d, f);
    }
    return outer != NULL;
}

bool call_costs_distribute(struct call_costs *c, struct error *err)
{
    struct distribution d = {.c = c, .work = WORK_MOST};
    struct arena *a = &d.arena;
    size_t count = c->function_count + 1;
    d.visited = arena_zalloc(a, count, sizeof *d.visited);
    d.component = arena_zalloc(a, count, sizeof *d.component);
    d.members = arena_zalloc(a, count, sizeof *d.members);
    d.starts = arena_zalloc(a, count, sizeof *d.starts);
    d.cost = arena_zalloc(a, count, sizeof *d.cost);
    d.entered = arena_zalloc(a, count, sizeof *d.entered);
    d.ratio = arena_zalloc(a, c->call_count + 1, sizeof *d.ratio);
    d.reached = arena_zalloc(a, count, sizeof *d.reached);
    d.partial = arena_zalloc(a, count, sizeof *d.partial);
    d.rank = arena_zalloc(a, count, sizeof *d.rank);
    d.queue = arena_zalloc(a, count, sizeof *d.queue);
    d.path = arena_zalloc(a, count, sizeof *d.path);
    bool ok = !a->failed;
    if (ok)
        find_cycles(&d);
    ok = ok && find_ratios(&d) && integrate(&d);
    arena_deinit(a);
    return ok || error_memory(err);
}
