/* SPDX-License-Identifier: Apache-2.0 */
/* Begins and ends to spans. */
#include "import/trace_event_parts.h"

static bool mark_before(const void *context, uint32_t a, uint32_t b)
{
    const struct mark *x = (const struct mark *)context + a;
    const struct mark *y = (const struct mark *)context + b;
    return x->track != y->track ? x->track < y->track : x->time < y->time;
}

static string_id name_of(const struct trace *t, frame_id frame)
{
    return t->b->profile->frames[frame].name;
}

/* What is known of that name. NULL when memory is short. */
static struct named *named(struct trace *t, string_id name)
{
    size_t before = t->named_cap;
    struct named *all =
        arena_grow(&t->arena, t->named, &t->named_cap, (size_t)name + 1, sizeof *all);
    if (!all)
        return NULL;
    if (t->named_cap > before)
        memset(all + before, 0, (t->named_cap - before) * sizeof *all);
    t->named = all;
    return &all[name];
}

static void begin(struct trace *t, const struct mark *m)
{
    struct open_mark *begun =
        arena_grow(&t->arena, t->begun, &t->begun_cap, t->begun_count + 1, sizeof *begun);
    if (!begun)
        return;
    t->begun = begun;
    struct named *n = named(t, name_of(t, m->what));
    if (!n)
        return;
    begun[t->begun_count++] = (struct open_mark){m->time, m->what};
    n->begun++;
}

/* Ends what was begun last, at that time, and gives its name. */
static string_id end_innermost(struct trace *t, uint32_t track, int64_t time)
{
    const struct open_mark *m = &t->begun[--t->begun_count];
    string_id name = name_of(t, m->frame);
    t->named[name].begun--;
    trace_event_add_span(t, (struct span){m->time, time, m->frame, track});
    return name;
}

/* The same for what is inside one that ends: its own end may follow. */
static string_id cut_innermost(struct trace *t, uint32_t track, int64_t time)
{
    frame_id frame = t->begun[t->begun_count - 1].frame;
    string_id name = end_innermost(t, track, time);
    t->named[name].cut_of = track;
    t->named[name].cut = (struct open_mark){time, frame};
    return name;
}

/* An end whose begin was ended before, with one around it: it goes on from there. */
static bool end_cut(struct trace *t, const struct mark *m)
{
    struct named *n = m->what && m->what < t->named_cap ? &t->named[m->what] : NULL;
    if (!n || n->cut_of != m->track)
        return false;
    n->cut_of = 0;
    trace_event_add_span(t, (struct span){n->cut.time, m->time, n->cut.frame, m->track});
    return true;
}

/* An end without a name ends what was begun last. One with a name ends the innermost of
 * that name, with all that was begun inside it. */
static void end(struct trace *t, const struct mark *m)
{
    bool begun =
        m->what ? m->what < t->named_cap && t->named[m->what].begun : t->begun_count > 0;
    if (!begun) {
        if (!end_cut(t, m))
            builder_warn(t->b, "an end without its begin", 0, 0, STR(""));
        return;
    }
    if (!m->what || name_of(t, t->begun[t->begun_count - 1].frame) == m->what) {
        end_innermost(t, m->track, m->time);
        return;
    }
    builder_warn(t->b, "an event ends before those inside it", 0, 0, STR(""));
    while (name_of(t, t->begun[t->begun_count - 1].frame) != m->what)
        cut_innermost(t, m->track, m->time);
    end_innermost(t, m->track, m->time);
}

/* What is still open when a thread's events end lasts as long as they do. */
static void end_track(struct trace *t, uint32_t track)
{
    while (t->begun_count) {
        builder_warn(t->b, "a begin without its end", 0, 0, STR(""));
        end_innermost(t, track, t->tracks[track].last);
    }
}

/* Marks of one thread at one time. */
struct moment {
    const uint32_t *order;
    size_t count;
};

/* Whether each end, in the order of the file, ends what is innermost then. `names` has
 * room for all. */
static bool in_order(const struct trace *t, const struct moment *at, string_id *names)
{
    size_t open = t->begun_count, inside = 0;
    for (size_t i = 0; i < at->count; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        if (!m->end) {
            names[inside++] = name_of(t, m->what);
            continue;
        }
        if (!inside && !open)
            return false;
        string_id innermost =
            inside ? names[--inside] : name_of(t, t->begun[--open].frame);
        if (m->what && m->what != innermost)
            return false;
    }
    return true;
}

/* Ends what is innermost as long as there are ends for it. */
static void end_wanted(struct trace *t, const struct mark *first)
{
    while (t->begun_count) {
        struct named *n = &t->named[name_of(t, t->begun[t->begun_count - 1].frame)];
        if (!n->ends)
            return;
        n->ends--;
        end_innermost(t, first->track, first->time);
    }
}

/* Tracers that round times give ends and begins of one time in any order: ends come
 * first, of what was open before, whatever their order; then begins, whose ends are there
 * too where they took no time. */
static void sort_out(struct trace *t, const struct moment *at)
{
    const struct mark *first = &t->marks[at->order[0]];
    for (size_t i = 0; i < at->count; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        struct named *n = m->end && m->what ? named(t, m->what) : NULL;
        if (n)
            n->ends++;
    }
    end_wanted(t, first);
    for (size_t i = 0; i < at->count && !t->arena.failed; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        if (m->end)
            continue;
        begin(t, m);
        end_wanted(t, first);
    }
    for (size_t i = 0; i < at->count && !t->arena.failed; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        struct named *n = m->what && m->end ? named(t, m->what) : NULL;
        if (m->end && (!n || n->ends))
            end(t, m);
        if (n && n->ends)
            n->ends--;
    }
}

static void pair_moment(struct trace *t, const struct moment *at, string_id *names)
{
    if (at->count > 1 && !in_order(t, at, names)) {
        sort_out(t, at);
        return;
    }
    for (size_t i = 0; i < at->count && !t->arena.failed; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        if (m->end)
            end(t, m);
        else
            begin(t, m);
    }
}

void trace_event_pair(struct trace *t)
{
    uint32_t *order = trace_event_sorted(t, t->mark_count, t->marks, mark_before),
             track = 0;
    string_id *names = arena_alloc(&t->arena, (t->mark_count + 1) * sizeof *names);
    if (!order || !names)
        return;
    for (size_t i = 0, next; i < t->mark_count && !t->arena.failed; i = next) {
        const struct mark *m = &t->marks[order[i]];
        for (next = i + 1; next < t->mark_count; next++) {
            const struct mark *other = &t->marks[order[next]];
            if (other->track != m->track || other->time != m->time)
                break;
        }
        if (m->track != track)
            end_track(t, track);
        track = m->track;
        pair_moment(t, &(struct moment){order + i, next - i}, names);
    }
    if (!t->arena.failed)
        end_track(t, track);
}
