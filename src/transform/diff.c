/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/rewrite.h"

/* One of the two profiles. */
struct side {
    const struct profile *profile;
    event_id event; /* the event whose weights are used */
    double factor;
    const int64_t *processes; /* by thread; NULL: as the style says */
};

static double total_of(const struct profile *p, event_id event)
{
    double total = 0;
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == event)
            total += p->samples[i].weight;
    return total;
}

static bool weigh(const struct rewrite *r, struct sample *s)
{
    const struct side *side = r->context;
    s->weight *= side->factor;
    s->rest *= side->factor;
    return true;
}

/* Maps threads by name; `style` selects the IDs that are part of the name. */
static void map_threads(struct rewrite *r, enum thread_style style,
                        const int64_t *processes)
{
    const struct profile *from = r->from;
    for (thread_id i = 1; i < from->thread_count; i++) {
        const struct thread *t = &from->threads[i];
        int64_t pid = style == THREAD_PID || style == THREAD_TID ? t->pid : ID_NONE;
        if (processes)
            pid = processes[i];
        int64_t tid = style == THREAD_TID ? t->tid : ID_NONE;
        r->threads[i] = builder_thread(r->to, pid, tid, profile_string(from, t->name));
    }
}

static bool add_side(struct builder *b, struct side *side, event_id as,
                     const struct diff_options *o, struct error *err)
{
    struct rewrite r;
    bool ok = rewrite_init(&r, side->profile, b, err);
    if (ok) {
        event_id *events =
            arena_zalloc(&r.arena, side->profile->event_count + 1, sizeof *events);
        if (events)
            events[side->event] = as;
        r.events = events;
        r.context = side;
        r.row = weigh;
        map_threads(&r, o->threads, side->processes);
        ok = events ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

/* As requested; else the first one of `after`, and the event of `before` with its name, or
 * its first one. */
static void choose_events(struct side *before, struct side *after,
                          const struct diff_options *o)
{
    const struct profile *p = after->profile;
    after->event = o->events[1] ? o->events[1] : profile_default_event(p);
    before->event = o->events[0];
    if (before->event)
        return;
    before->event = profile_find_event(before->profile,
                                       profile_string(p, p->events[after->event].name));
    if (!before->event)
        before->event = profile_default_event(before->profile);
}

static void normalise(struct side *before, const struct side *after)
{
    double total = total_of(before->profile, before->event);
    double requested = total_of(after->profile, after->event);
    if (total > 0 && requested > 0)
        before->factor = requested / total;
}

static bool fill(struct builder *b, struct side *before, struct side *after,
                 const struct diff_options *o, struct error *err)
{
    enum unit unit = after->profile->events[after->event].unit;
    event_id first = builder_event(b, STR("before"), unit);
    event_id second = builder_event(b, STR("after"), unit);
    builder_merge_facts(b, before->profile);
    builder_merge_facts(b, after->profile);
    b->profile->facts.differential = true;
    /* a comparison of two times has no time, and its samples have none */
    b->profile->facts.time_first = b->profile->facts.time_last = TIME_NONE;
    if (before->profile->events[before->event].unit != unit)
        builder_warn(b, "the two profiles count different things", 0, 0, STR(""));
    bool filtered = b->profile->facts.filtered; /* comparing one event is not a filter */
    bool ok = add_side(b, before, first, o, err) && add_side(b, after, second, o, err);
    b->profile->facts.filtered = filtered;
    return ok;
}

struct profile *transform_diff(const struct profile *before, const struct profile *after,
                               const struct diff_options *o, struct error *err)
{
    struct builder b;
    struct profile *p = NULL;
    struct side sides[2] = {{before, 0, 1, o->processes[0]},
                            {after, 0, 1, o->processes[1]}};
    choose_events(&sides[0], &sides[1], o);
    if (o->normalise)
        normalise(&sides[0], &sides[1]);
    if (!builder_init(&b, BUILD_COUNT))
        error_memory(err);
    else if (fill(&b, &sides[0], &sides[1], o, err))
        p = builder_finish(&b, err);
    builder_deinit(&b);
    return p;
}
