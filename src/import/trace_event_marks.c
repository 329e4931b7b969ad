/* SPDX-License-Identifier: Apache-2.0 */
/* Makes spans of begins and ends. */
#include "base/array.h"
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

/* The state of that name. NULL if out of memory. */
static struct named *named(struct trace *t, string_id name)
{
    size_t count = (size_t)name + 1;
    return ARRAY_RESERVE_ZEROED(&t->arena, t->named, t->named_cap, count)
               ? &t->named[name]
               : NULL;
}

static void begin(struct trace *t, const struct mark *m)
{
    if (!ARRAY_RESERVE(&t->arena, t->open_begins, t->open_begin_cap,
                       t->open_begin_count + 1))
        return;
    struct named *n = named(t, name_of(t, m->what));
    if (!n)
        return;
    t->open_begins[t->open_begin_count++] = (struct open_mark){m->time, m->what};
    n->open_begins++;
}

/* Ends the innermost begin at that time, and returns its name. */
static string_id end_innermost(struct trace *t, uint32_t track, int64_t time)
{
    const struct open_mark *m = &t->open_begins[--t->open_begin_count];
    string_id name = name_of(t, m->frame);
    t->named[name].open_begins--;
    trace_event_add_span(t, (struct span){m->time, time, m->frame, track});
    return name;
}

/* The same for a begin inside one that ends: its own end may follow. */
static string_id cut_innermost(struct trace *t, uint32_t track, int64_t time)
{
    frame_id frame = t->open_begins[t->open_begin_count - 1].frame;
    string_id name = end_innermost(t, track, time);
    t->named[name].cut_of = track;
    t->named[name].cut = (struct open_mark){time, frame};
    return name;
}

/* An end whose begin was already ended together with an enclosing one: the span
 * continues from there. */
static bool end_cut(struct trace *t, const struct mark *m)
{
    struct named *n = m->what && m->what < t->named_cap ? &t->named[m->what] : NULL;
    if (!n || n->cut_of != m->track)
        return false;
    n->cut_of = 0;
    trace_event_add_span(t, (struct span){n->cut.time, m->time, n->cut.frame, m->track});
    return true;
}

/* An end without a name ends the innermost begin. One with a name ends the innermost
 * begin of that name, with all begins inside it. */
static void end(struct trace *t, const struct mark *m)
{
    bool open_begins = m->what ? m->what < t->named_cap && t->named[m->what].open_begins
                               : t->open_begin_count > 0;
    if (!open_begins) {
        if (!end_cut(t, m))
            builder_warn(t->b, "an end without its begin", 0, 0, STR(""));
        return;
    }
    if (!m->what ||
        name_of(t, t->open_begins[t->open_begin_count - 1].frame) == m->what) {
        end_innermost(t, m->track, m->time);
        return;
    }
    builder_warn(t->b, "an event that ends before the events inside it", 0, 0, STR(""));
    while (name_of(t, t->open_begins[t->open_begin_count - 1].frame) != m->what)
        cut_innermost(t, m->track, m->time);
    end_innermost(t, m->track, m->time);
}

/* A begin that is still open after the thread's last event ends at that event's time. */
static void end_track(struct trace *t, uint32_t track)
{
    while (t->open_begin_count) {
        builder_warn(t->b, "a begin without its end", 0, 0, STR(""));
        end_innermost(t, track, t->tracks[track].last);
    }
}

/* Marks of one thread with the same time. */
struct moment {
    const uint32_t *order;
    size_t count;
};

/* Whether each end, in the order of the file, ends the innermost begin at that point.
 * `names` has room for all. */
static bool in_order(const struct trace *t, const struct moment *at, string_id *names)
{
    size_t open = t->open_begin_count, inside = 0;
    for (size_t i = 0; i < at->count; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        if (!m->end) {
            names[inside++] = name_of(t, m->what);
            continue;
        }
        if (!inside && !open)
            return false;
        string_id innermost =
            inside ? names[--inside] : name_of(t, t->open_begins[--open].frame);
        if (m->what && m->what != innermost)
            return false;
    }
    return true;
}

/* Ends innermost begins as long as there are ends for them. */
static void end_innermost_matching(struct trace *t, const struct mark *first)
{
    while (t->open_begin_count) {
        struct named *n =
            &t->named[name_of(t, t->open_begins[t->open_begin_count - 1].frame)];
        if (!n->ends)
            return;
        n->ends--;
        end_innermost(t, first->track, first->time);
    }
}

/* Tracers that round times write ends and begins of the same time in any order. So
 * ends of begins that were open before come first, in any order; then begins, with
 * their ends if they took no time. */
static void sort_ends(struct trace *t, const struct moment *at)
{
    const struct mark *first = &t->marks[at->order[0]];
    for (size_t i = 0; i < at->count; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        struct named *n = m->end && m->what ? named(t, m->what) : NULL;
        if (n)
            n->ends++;
    }
    end_innermost_matching(t, first);
    for (size_t i = 0; i < at->count && !t->arena.failed; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        if (m->end)
            continue;
        begin(t, m);
        end_innermost_matching(t, first);
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
        sort_ends(t, at);
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
