/* SPDX-License-Identifier: Apache-2.0 */
/* Wall-clock time of threads, running and waiting: the samples of an on-CPU event
 * (running.h) and the waits (perf/off_cpu.h) become one event, in ns. A wait without a known
 * reason gets a marker on top of its stack, to distinguish it from running. */
#include "base/array.h"
#include "transform/running.h"

#define NOT_COPIED UINT32_MAX

struct wall {
    struct running on;
    event_id off;     /* 0: none */
    frame_id waits;   /* new: the marker of waits without a known reason */
    stack_id *copies; /* by old stack; NOT_COPIED */
    bool *marked;     /* by old stack: it has a marker */
    stack_id *climb;
    size_t climb_cap;
};

static bool weigh(const struct rewrite *r, struct sample *s)
{
    const struct wall *w = r->context;
    if (s->event != w->on.event && s->event != w->off)
        return false;
    running_weigh(&w->on, (enum unit)r->from->events[s->event].unit, s);
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
    if (!running_find(&w->on, r, o->wall_event, w->off, err))
        return false;
    w->copies = arena_alloc(&r->arena, p->stack_count * sizeof *w->copies);
    w->marked = arena_zalloc(&r->arena, p->stack_count, sizeof *w->marked);
    event_id *events = arena_zalloc(&r->arena, p->event_count, sizeof *events);
    if (r->arena.failed)
        return error_memory(err);
    for (size_t i = 0; i < p->stack_count; i++)
        w->copies[i] = NOT_COPIED;
    event_id time = builder_event(r->to, STR("time"), UNIT_NANOSECONDS);
    events[w->on.event] = events[w->off] = time;
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
