/* SPDX-License-Identifier: Apache-2.0 */
/* Latency: each moment in which threads run counts once, and is distributed to them equally. So
 * the weights add up to the time in which anything runs, and what runs alone weighs more than
 * what runs in parallel.
 *
 * A sample stands for the time before it: one period (running.h), but not before the previous
 * sample of its CPU (without CPUs: of its thread), because a CPU runs one thread at a time.
 * A sweep over the ends of these spans adds up, for each span, the time divided by the number
 * of spans at that moment. */
#include "base/sort.h"
#include "transform/running.h"

#define CPUS_MOST 65536 /* samples of others are treated as those without a CPU */

struct latency {
    struct running on;
    double *weights; /* by sample, in ns */
};

/* The spans as a list of ends, in order of time. An end has the ID 2 * sample, and 1 more at the
 * end of its span: of equal times, the lower sample comes first. */
struct spans {
    struct sort_key *ends, *scratch;
    size_t count;
    uint64_t *last; /* by CPU, then by thread: the time of its last sample, plus 1 */
};

static uint64_t *last_of(const struct spans *x, const struct sample *s)
{
    return &x->last[s->cpu < CPUS_MOST ? s->cpu : CPUS_MOST + s->thread];
}

/* Samples are not in order of time: sorts them, then adds their spans. */
static bool add_spans(struct rewrite *r, const struct latency *l, struct spans *x)
{
    const struct profile *p = r->from;
    size_t count = 0, room = 2 * p->sample_count + 1;
    enum unit unit = (enum unit)p->events[l->on.event].unit;
    struct sort_key *order = arena_alloc(&r->arena, room * sizeof *order);
    x->ends = arena_alloc(&r->arena, room * sizeof *x->ends);
    x->scratch = arena_alloc(&r->arena, room * sizeof *x->scratch);
    x->last = arena_zalloc(&r->arena, CPUS_MOST + p->thread_count, sizeof *x->last);
    if (r->arena.failed)
        return false;
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == l->on.event && p->samples[i].time != TIME_NONE)
            order[count++] = (struct sort_key){p->samples[i].time, (uint32_t)i};
    sort_keys(order, count, x->scratch);
    for (size_t i = 0; i < count; i++) {
        struct sample s = p->samples[order[i].id];
        uint64_t *last = last_of(x, &s), start;
        running_weigh(&l->on, unit, &s);
        start = s.weight < (double)s.time ? s.time - (uint64_t)s.weight : 0;
        if (*last && start < *last - 1)
            start = *last - 1;
        *last = s.time + 1;
        x->ends[x->count++] = (struct sort_key){start, 2 * order[i].id};
        x->ends[x->count++] = (struct sort_key){s.time, 2 * order[i].id + 1};
    }
    return true;
}

/* A span that begins has the negative of the sum so far as its weight, until it ends. Weights
 * are whole ns. */
static void sweep(const struct latency *l, struct spans *x)
{
    double sum = 0;
    uint64_t active = 0, before = 0;
    sort_keys(x->ends, x->count, x->scratch);
    for (size_t i = 0; i < x->count; i++) {
        const struct sort_key *end = &x->ends[i];
        if (active)
            sum += (double)(end->key - before) / (double)active;
        before = end->key;
        bool ends = end->id & 1;
        double whole = (double)(uint64_t)(sum + 0.5);
        l->weights[end->id / 2] += ends ? whole : -whole;
        active += ends ? -UINT64_C(1) : 1;
    }
}

static bool latency_prepare(struct rewrite *r, struct latency *l,
                            const struct transform_options *o, struct error *err)
{
    const struct profile *p = r->from;
    struct spans spans = {0};
    if (o->wall)
        return error_set(err, "--latency cannot be combined with --wall-clock");
    if (!running_find(&l->on, r, o->wall_event, profile_find_kind(p, EVENT_WAITING), err))
        return false;
    if (p->sample_count >= UINT32_MAX / 2)
        return error_set(err, "--latency is limited to %u samples", UINT32_MAX / 2);
    l->weights = arena_zalloc(&r->arena, p->sample_count + 1, sizeof *l->weights);
    event_id *events = arena_zalloc(&r->arena, p->event_count, sizeof *events);
    if (r->arena.failed || !add_spans(r, l, &spans))
        return error_memory(err);
    if (spans.count == 0 && p->sample_count) {
        error_set(err, "the samples have no times");
        return error_hint(err,
                          "--latency needs to know which threads run at the same time");
    }
    sweep(l, &spans);
    events[l->on.event] = builder_event(r->to, STR("latency"), UNIT_NANOSECONDS);
    events[0] = 0;
    r->events = events;
    return true;
}

static bool weigh(const struct rewrite *r, struct sample *s)
{
    const struct latency *l = r->context;
    s->weight = l->weights[r->index];
    s->rest = 0;
    return s->event == l->on.event && s->time != TIME_NONE;
}

static bool latency_requested(const struct transform_options *o)
{
    return o->latency;
}

static bool latency_run(const struct profile *from, const struct transform_options *o,
                        struct builder *to, struct error *err)
{
    struct rewrite r;
    struct latency l = {0};
    bool ok = rewrite_init(&r, from, to, err) && latency_prepare(&r, &l, o, err);
    if (ok) {
        r.context = &l;
        r.row = weigh;
        ok = rewrite_run(&r, err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_latency = {
    .name = "latency",
    .summary = "weigh by time, divided by the number of threads that run at that moment",
    .requested = latency_requested,
    .run = latency_run,
};
