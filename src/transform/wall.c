/* SPDX-License-Identifier: Apache-2.0 */
/* Wall-clock time of threads, running and waiting: the samples of an on-CPU event and the
 * waits (perf/off_cpu.h) become one event, in ns.
 *
 * A sample on a CPU has the time of its event, or else one period of the sampling: from
 * the rate of the recording, or the median time between two samples of a thread. A wait
 * without a known reason gets a marker on top of its stack, to distinguish it from
 * running. */
#include "base/array.h"
#include "base/sort.h"
#include "transform/rewrite.h"

#define NOT_COPIED UINT32_MAX

struct wall {
    event_id on, off; /* 0: none */
    double period;    /* ns per sample if its weight is not a time */
    frame_id waits;   /* new: the marker of waits without a known reason */
    stack_id *copies; /* by old stack; NOT_COPIED */
    bool *marked;     /* by old stack: it has a marker */
    stack_id *climb;
    size_t climb_cap;
};

static event_id find_on(const struct profile *p, const char *requested, event_id off)
{
    event_id named = requested ? profile_find_event(p, str_of(requested)) : 0;
    if (named && named != off)
        return named;
    for (event_id e = 1; e < p->event_count; e++)
        if (e != off)
            return e;
    return 0;
}

/* The median time between two samples of a thread; 0 without times. */
static double middle_gap(struct rewrite *r, event_id event)
{
    const struct profile *p = r->from;
    uint64_t *last = arena_zalloc(&r->arena, p->thread_count, sizeof *last);
    struct sort_key *gaps =
        arena_alloc(&r->arena, 2 * (p->sample_count + 1) * sizeof *gaps);
    size_t count = 0;
    if (!last || !gaps)
        return 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (s->event != event || s->time == TIME_NONE)
            continue;
        if (last[s->thread] && s->time > last[s->thread])
            gaps[count++] = (struct sort_key){s->time - last[s->thread], 0};
        last[s->thread] = s->time;
    }
    sort_keys(gaps, count, gaps + count);
    size_t middle = count / 2;
    return count ? (double)gaps[middle].key : 0;
}

static double period_of(struct rewrite *r, event_id event)
{
    double rate = r->from->facts.rate;
    return rate > 0 ? 1e9 / rate : middle_gap(r, event);
}

static bool weigh(const struct rewrite *r, struct sample *s)
{
    const struct wall *w = r->context;
    enum unit unit = (enum unit)r->from->events[s->event].unit;
    if (s->event != w->on && s->event != w->off)
        return false;
    if (unit == UNIT_MILLISECONDS)
        s->weight *= 1e6;
    else if (unit != UNIT_NANOSECONDS)
        s->weight = (double)s->count * w->period;
    if (unit != UNIT_NANOSECONDS)
        s->rest = 0;
    return true;
}

/* The new stack for an old one; makes the frames that are missing. */
static stack_id copy_stack(struct rewrite *r, stack_id old)
{
    struct wall *w = r->context;
    size_t count = 0;
    stack_id at = old;
    for (; at && w->copies[at] == NOT_COPIED; at = r->from->stacks[at].parent) {
        stack_id *next = ARRAY_APPEND(&r->arena, w->climb, count, w->climb_cap);
        if (!next)
            return 0;
        *next = at;
    }
    stack_id made = at ? w->copies[at] : 0;
    while (count-- > 0) {
        const struct stack *s = &r->from->stacks[w->climb[count]];
        made = builder_push(r->to, made, rewrite_frame(r, s->frame));
        w->copies[w->climb[count]] = made;
        w->marked[w->climb[count]] =
            w->marked[s->parent] || r->from->frames[s->frame].kind == FRAME_MARKER;
    }
    return made;
}

static stack_id wall_stack(struct rewrite *r, struct sample *s)
{
    struct wall *w = r->context;
    stack_id stack = copy_stack(r, s->stack);
    if (s->event != w->off || w->marked[s->stack])
        return stack;
    if (!w->waits) {
        struct frame mark = {.name = builder_string(r->to, STR("[off-cpu]")),
                             .kind = FRAME_MARKER};
        w->waits = builder_frame(r->to, &mark);
    }
    return builder_push(r->to, stack, w->waits);
}

static bool wall_prepare(struct rewrite *r, struct wall *w,
                         const struct transform_options *o, struct error *err)
{
    const struct profile *p = r->from;
    w->off = profile_find_kind(p, EVENT_WAITING);
    w->on = find_on(p, o->wall_event, w->off);
    enum unit unit = (enum unit)p->events[w->on].unit;
    if (w->on && unit != UNIT_NANOSECONDS && unit != UNIT_MILLISECONDS)
        w->period = period_of(r, w->on);
    w->copies = arena_alloc(&r->arena, p->stack_count * sizeof *w->copies);
    w->marked = arena_zalloc(&r->arena, p->stack_count, sizeof *w->marked);
    event_id *events = arena_zalloc(&r->arena, p->event_count, sizeof *events);
    if (r->arena.failed)
        return error_memory(err);
    if (w->on && w->period <= 0 && unit != UNIT_NANOSECONDS &&
        unit != UNIT_MILLISECONDS) {
        error_set(err, "the time per sample is unknown");
        return error_hint(err, "this needs samples with times, or an event that counts "
                               "time (-e cpu-clock)");
    }
    for (size_t i = 0; i < p->stack_count; i++)
        w->copies[i] = NOT_COPIED;
    event_id time = builder_event(r->to, STR("time"), UNIT_NANOSECONDS);
    events[w->on] = events[w->off] = time;
    events[0] = 0;
    r->events = events;
    return true;
}

static bool wall_requested(const struct transform_options *o)
{
    return o->wall;
}

static bool wall_run(const struct profile *from, const struct transform_options *o,
                     struct builder *to, struct error *err)
{
    struct rewrite r;
    struct wall w = {0};
    bool ok = rewrite_init(&r, from, to, err) && wall_prepare(&r, &w, o, err);
    if (ok) {
        r.context = &w;
        r.row = weigh;
        r.make_stack = wall_stack;
        ok = rewrite_run(&r, err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_wall = {
    .name = "wall-clock",
    .summary = "weigh by time, waits included",
    .requested = wall_requested,
    .run = wall_run,
};
