/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep over the spans of each thread, which maintains the stack of open spans. */
#include "base/array.h"
#include "base/sort.h"
#include "import/trace_event_parts.h"

/* If children end later than their caller by at most this, times were rounded. */
#define ROUNDING 1000

/* For events that overlap without being nested: how often each may be split, on
 * average. */
#define RESTS_EACH 16
/* The sorted indices of `count` items; NULL if out of memory. */
uint32_t *trace_event_sorted(struct trace *t, size_t count, const void *items,
                             bool (*before)(const void *, uint32_t, uint32_t))
{
    uint32_t *order = arena_alloc(&t->arena, (count + 1) * sizeof *order);
    uint32_t *scratch = arena_alloc(&t->arena, (count + 1) * sizeof *scratch);
    if (!order || !scratch)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    sort_u32(order, count, scratch, before, items);
    arena_release(&t->arena, scratch, (count + 1) * sizeof *scratch);
    return order;
}

/* Of two spans with the same start, the caller is the longer one, or the first one in
 * the file. */
static bool span_before(const void *context, uint32_t a, uint32_t b)
{
    const struct span *x = (const struct span *)context + a;
    const struct span *y = (const struct span *)context + b;
    if (x->track != y->track)
        return x->track < y->track;
    return x->start != y->start ? x->start < y->start : x->end > y->end;
}

void trace_event_add_row(struct trace *t, int64_t from, double weight, event_id event,
                         stack_id stack)
{
    builder_add(t->b, &(struct sample){.time = from >= 0 ? (uint64_t)from : TIME_NONE,
                                       .thread = t->thread,
                                       .cpu = CPU_NONE,
                                       .event = event,
                                       .stack = stack,
                                       .count = 1,
                                       .weight = weight});
}

/* Advances the time: the innermost open span ran until then. */
static void go_on(struct trace *t, int64_t time)
{
    if (t->open_count && time > t->now)
        trace_event_add_row(t, t->now, (double)(time - t->now), t->event,
                            t->open[t->open_count - 1].stack);
    t->now = time;
}

/* Closes spans that end at or before that time. */
static void close_until(struct trace *t, int64_t time)
{
    while (t->open_count && t->open[t->open_count - 1].end <= time) {
        go_on(t, t->open[t->open_count - 1].end);
        t->open_count--;
    }
}

/* Which of two comes first in the sweep. */
static bool opens_before(const struct span *x, const struct span *y)
{
    return x->start != y->start ? x->start < y->start : x->end > y->end;
}

static void add_rest(struct trace *t, struct span rest)
{
    if (!ARRAY_RESERVE(&t->arena, t->rests, t->rest_cap, t->rest_count + 1))
        return;
    size_t at = t->rest_count++;
    for (; at && opens_before(&rest, &t->rests[(at - 1) / 2]); at = (at - 1) / 2)
        t->rests[at] = t->rests[(at - 1) / 2];
    t->rests[at] = rest;
}

static struct span take_rest(struct trace *t)
{
    struct span first = t->rests[0], last = t->rests[--t->rest_count];
    size_t at = 0, child;
    while ((child = at * 2 + 1) < t->rest_count) {
        if (child + 1 < t->rest_count &&
            opens_before(&t->rests[child + 1], &t->rests[child]))
            child++;
        if (!opens_before(&t->rests[child], &last))
            break;
        t->rests[at] = t->rests[child];
        at = child;
    }
    t->rests[at] = last;
    return first;
}

/* A nested span cannot outlast its caller. The rest of it becomes a separate span,
 * unless times were only rounded. */
static void open_span(struct trace *t, const struct span *s)
{
    const struct open_span *caller = t->open_count ? &t->open[t->open_count - 1] : NULL;
    int64_t end = caller && caller->end < s->end ? caller->end : s->end;
    if (end < s->end && s->end - end > ROUNDING) {
        builder_warn(t->b, "an event that ends later than the event that contains it", 0,
                     0, STR(""));
        if (t->rests_allowed) {
            t->rests_allowed--;
            add_rest(t, (struct span){end, s->end, s->frame, s->track});
        }
    }
    stack_id parent = caller ? caller->stack : 0;
    struct open_span *added =
        ARRAY_APPEND(&t->arena, t->open, t->open_count, t->open_cap);
    if (!added)
        return;
    *added = (struct open_span){end, builder_push(t->b, parent, s->frame)};
}

static void sweep_span(struct trace *t, const struct span *s)
{
    close_until(t, s->start);
    go_on(t, s->start);
    open_span(t, s);
}

/* Opens the rests that come before that span; all if there is none. */
static void sweep_rests(struct trace *t, const struct span *before)
{
    while (t->rest_count && !t->arena.failed &&
           (!before || opens_before(&t->rests[0], before))) {
        struct span rest = take_rest(t);
        sweep_span(t, &rest);
    }
}

void trace_event_sweep(struct trace *t)
{
    if (!t->lasting)
        return;
    uint32_t *order = trace_event_sorted(t, t->span_count, t->spans, span_before);
    uint32_t track = 0;
    t->rests_allowed = t->span_count * RESTS_EACH;
    t->event = builder_event(t->b, t->profile_count ? STR("events") : STR("time"),
                             UNIT_NANOSECONDS);
    for (size_t i = 0; order && i < t->span_count && !t->arena.failed; i++) {
        const struct span *s = &t->spans[order[i]];
        if (s->track != track) {
            sweep_rests(t, NULL);
            close_until(t, INT64_MAX);
            t->thread = trace_event_thread(t, &t->tracks[s->track]);
        }
        track = s->track;
        sweep_rests(t, s);
        sweep_span(t, s);
    }
    sweep_rests(t, NULL);
    close_until(t, INT64_MAX);
}

/* --- Events without a duration -------------------------------------------------- */

static void count_one(struct trace *t, event_id event, const struct instant *at)
{
    t->thread = trace_event_thread(t, &t->tracks[at->track]);
    trace_event_add_row(t, at->time, 1, event, builder_push(t->b, 0, at->frame));
}

void trace_event_count(struct trace *t)
{
    if (t->span_count + t->instant_count == 0)
        return;
    event_id event = builder_event(t->b, STR("events"), UNIT_COUNT);
    for (size_t i = 0; i < t->span_count; i++) {
        const struct span *s = &t->spans[i];
        count_one(t, event, &(struct instant){s->start, s->frame, s->track});
    }
    for (size_t i = 0; i < t->instant_count; i++)
        count_one(t, event, &t->instants[i]);
    builder_warn(t->b, "no event of this trace has a duration: each has weight 1", 0, 0,
                 STR(""));
}
