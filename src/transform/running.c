/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/running.h"
#include "base/sort.h"

static event_id find_event(const struct profile *p, const char *requested, event_id waits)
{
    event_id named = requested ? profile_find_event(p, str_of(requested)) : 0;
    if (named && named != waits)
        return named;
    for (event_id e = 1; e < p->event_count; e++)
        if (e != waits)
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

static bool is_time(enum unit unit)
{
    return unit == UNIT_NANOSECONDS || unit == UNIT_MILLISECONDS;
}

bool running_find(struct running *x, struct rewrite *r, const char *requested,
                  event_id waits, struct error *err)
{
    const struct profile *p = r->from;
    x->event = find_event(p, requested, waits);
    if (!x->event || is_time((enum unit)p->events[x->event].unit))
        return true;
    x->period = p->facts.rate > 0 ? 1e9 / p->facts.rate : middle_gap(r, x->event);
    if (r->arena.failed)
        return error_memory(err);
    if (x->period > 0)
        return true;
    error_set(err, "the time per sample is unknown");
    return error_hint(err, "this needs samples with times, or an event that counts "
                           "time (-e cpu-clock)");
}

void running_weigh(const struct running *x, enum unit unit, struct sample *s)
{
    if (unit == UNIT_MILLISECONDS)
        s->weight *= 1e6;
    else if (unit != UNIT_NANOSECONDS)
        s->weight = (double)s->count * x->period;
    if (unit != UNIT_NANOSECONDS)
        s->rest = 0;
}
