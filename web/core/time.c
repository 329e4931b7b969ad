/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include "web/core/core.h"

/* A sample is drawn from its time for as long as its weight, at most until the
 * thread's next sample. The frames that consecutive samples share from the root on are
 * one box.
 *
 * If the profile has waits, they are drawn between the samples of the other event: up
 * to their time, because that is when the thread runs again. Their callers are joined
 * with those of the samples before and after, if no sample was due in between; the
 * waiting frame is a separate box. */
struct clock {
    struct chart *chart;
    const struct shown *shown;
    struct arena scratch;
    uint32_t *order; /* samples, by thread and time */
    size_t count;
    uint32_t *depth; /* by path; the root's is 0 */
    uint8_t *waits;  /* by path: it contains a wait */
    event_id off;    /* the event of waits, or 0 */
    bool some_wait;
    bool timed;
    uint64_t origin;
    double typical; /* duration in ns of a sample whose weight is not a time */

    /* The current lane. */
    bool filling;   /* boxes are counted first */
    uint32_t *next; /* by row: the next box */
    uint32_t row;   /* of the root frames */
    uint32_t *open; /* by depth: the path */
    double *since;
    double *waited_then; /* the value of `waited` when it began */
    uint32_t open_count;
    bool waiting;  /* in the last sample */
    double waited; /* ns of the lane so far */
    double period; /* duration in ns of the last sample that does not wait */
    double last_end;
};

static bool is_wait(const struct clock *k, const struct sample *s)
{
    return (k->off && s->event == k->off) ||
           k->waits[path_of_stack(&k->shown->paths, s->stack)];
}

/* Its start; of a wait, not before the start of the profile. */
static uint64_t time_of(const struct clock *k, const struct sample *s)
{
    uint64_t first = k->shown->p->facts.time_first;
    if (s->time == TIME_NONE || s->time < first || !is_wait(k, s))
        return s->time;
    bool within = s->weight >= 0 && s->weight < (double)(s->time - first);
    return within ? s->time - (uint64_t)s->weight : first;
}

static uint64_t sample_time(const struct clock *k, size_t i)
{
    return time_of(k, &k->shown->p->samples[k->order[i]]);
}

static bool is_shown(const struct clock *k, const struct sample *s)
{
    return s->event == k->shown->event || (k->off && s->event == k->off);
}

/* Finds the event of waits, and the paths with waits. Weights that are not times
 * cannot be drawn between samples. */
static bool find_waits(struct clock *k)
{
    const struct shown *s = k->shown;
    const struct paths *paths = &s->paths;
    event_id off = profile_find_kind(s->p, EVENT_WAITING);
    if (off && s->p->events[off].unit == UNIT_NANOSECONDS && !s->base &&
        s->p->facts.time_first != TIME_NONE)
        k->off = off;
    k->waits = arena_zalloc(&k->scratch, paths->count, 1);
    k->some_wait = k->off != 0;
    for (uint32_t n = 1; k->waits && n < paths->count; n++) {
        k->waits[n] = k->waits[paths->nodes[n].parent] ||
                      s->marks_of_label[path_label(paths, n)] & DRAWN_OFF;
        k->some_wait |= k->waits[n];
    }
    return k->waits != NULL;
}

/* The samples of the event by thread and, with times, by time. */
static bool order_samples(struct clock *k)
{
    const struct profile *p = k->shown->p;
    size_t *first = arena_zalloc(&k->scratch, p->thread_count + 2, sizeof *first);
    k->order = arena_alloc(&k->scratch, (p->sample_count + 1) * sizeof *k->order);
    struct sort_key *keys =
        arena_alloc(&k->scratch, 2 * (p->sample_count + 1) * sizeof *keys);
    if (!first || !k->order || !keys)
        return false;
    for (size_t i = 0; i < p->sample_count; i++)
        if (is_shown(k, &p->samples[i]))
            first[p->samples[i].thread + 2]++;
    for (size_t t = 2; t < p->thread_count + 2; t++)
        first[t] += first[t - 1];
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (!is_shown(k, s))
            continue;
        k->timed |= s->time != TIME_NONE;
        k->order[first[s->thread + 1]++] = (uint32_t)i;
        k->count++;
    }
    for (size_t t = 0; k->timed && t < p->thread_count; t++) {
        size_t from = t ? first[t] : 0, count = first[t + 1] - from;
        for (size_t i = 0; i < count; i++)
            keys[i] = (struct sort_key){sample_time(k, from + i), k->order[from + i]};
        sort_keys(keys, count, keys + count);
        for (size_t i = 0; i < count; i++)
            k->order[from + i] = keys[i].id;
    }
    return true;
}

static bool same_thread(const struct clock *k, size_t i, size_t j)
{
    const struct sample *samples = k->shown->p->samples;
    return samples[k->order[i]].thread == samples[k->order[j]].thread;
}

/* Finds the origin, and the median time between samples of a thread. */
static bool find_scale(struct clock *k)
{
    struct sort_key *gaps = arena_alloc(&k->scratch, 2 * (k->count + 1) * sizeof *gaps);
    size_t count = 0;
    if (!gaps)
        return false;
    k->origin = k->shown->p->facts.time_first;
    for (size_t i = 0; i < k->count; i++) {
        uint64_t time = sample_time(k, i);
        if (time < k->origin)
            k->origin = time;
        if (i + 1 == k->count || !same_thread(k, i, i + 1) || time == TIME_NONE ||
            is_wait(k, &k->shown->p->samples[k->order[i]]))
            continue;
        uint64_t after = sample_time(k, i + 1);
        if (after != TIME_NONE && after > time)
            gaps[count++] = (struct sort_key){after - time, 0};
    }
    sort_keys(gaps, count, gaps + count);
    size_t middle = count / 2;
    k->typical = count ? (double)gaps[middle].key : 1e6;
    return true;
}

/* The duration of a sample, by its weight. */
static double length_of(const struct clock *k, const struct sample *s)
{
    enum unit unit = (enum unit)k->shown->p->events[s->event].unit;
    double length = unit == UNIT_NANOSECONDS    ? s->weight
                    : unit == UNIT_MILLISECONDS ? s->weight * 1e6
                                                : k->typical;
    return length > 0 ? length : 0;
}

/* The start and end of a sample. */
static void span_of(const struct clock *k, size_t i, double *begin, double *end)
{
    const struct sample *s = &k->shown->p->samples[k->order[i]];
    if (!k->timed) {
        *begin = k->last_end;
        *end = k->last_end + shown_weight(k->shown, s);
        return;
    }
    bool last = i + 1 == k->count || !same_thread(k, i, i + 1);
    double length = length_of(k, s);
    uint64_t time = time_of(k, s);
    *begin = time == TIME_NONE ? k->last_end : (double)(time - k->origin);
    *end = *begin + length;
    if (!last && sample_time(k, i + 1) != TIME_NONE) {
        double next = (double)(sample_time(k, i + 1) - k->origin);
        /* samplers are not punctual */
        if (*end > next || (next - *begin < 1.2 * length && !is_wait(k, s)))
            *end = next;
    }
}

static void close_from(struct clock *k, uint32_t depth)
{
    struct chart *c = k->chart;
    for (uint32_t d = depth; d < k->open_count; d++) {
        uint32_t box = k->next[k->row + d]++;
        if (!k->filling)
            continue;
        c->begin[box] = k->since[d];
        c->end[box] = k->last_end;
        c->node[box] = k->open[d];
        if (c->waited)
            c->waited[box] = (float)(k->waited - k->waited_then[d]);
    }
    if (k->open_count > depth)
        k->open_count = depth;
}

/* The number of frames of the path, from the root, that continue from the preceding
 * sample. Across a gap kernel frames do not: a thread leaves the kernel between two
 * waits. */
static uint32_t shared_with_last(const struct clock *k, uint32_t path, bool wait,
                                 double begin)
{
    const struct path_node *nodes = k->shown->paths.nodes;
    uint32_t shared = k->depth[path];
    bool gap = begin > k->last_end, turn = wait || k->waiting;
    if (gap && (!turn || begin - k->last_end > k->period))
        return 0;
    for (uint32_t at = path; shared > 0; at = nodes[at].parent, shared--) {
        bool kernel =
            k->shown->kind_of_label[path_label(&k->shown->paths, at)] == FRAME_KERNEL;
        if (shared <= k->open_count && k->open[shared - 1] == at && !(gap && kernel))
            break;
    }
    if (gap || wait != k->waiting) {
        bool whole =
            (wait && shared == k->depth[path]) || (k->waiting && shared == k->open_count);
        shared -= whole && shared > 0;
    }
    return shared;
}

/* Draws the next sample. */
static void step(struct clock *k, uint32_t path, bool wait, double begin, double end)
{
    const struct path_node *nodes = k->shown->paths.nodes;
    uint32_t depth = k->depth[path], at = path;
    uint32_t shared = shared_with_last(k, path, wait, begin);
    close_from(k, shared);
    k->waiting = wait;
    for (uint32_t d = depth; d > shared; d--) {
        k->open[d - 1] = at;
        k->since[d - 1] = begin;
        k->waited_then[d - 1] = k->waited;
        at = nodes[at].parent;
    }
    k->open_count = depth;
    k->waited += wait ? end - begin : 0;
    k->last_end = end;
}

static void run_lanes(struct clock *k)
{
    struct chart *c = k->chart;
    const struct profile *p = k->shown->p;
    size_t lane = 0;
    for (size_t i = 0; i < k->count; i++) {
        const struct sample *s = &p->samples[k->order[i]];
        double begin, end;
        if (i == 0 || !same_thread(k, i - 1, i)) {
            k->row = c->lanes[lane++].row + 1;
            k->open_count = 0;
            k->last_end = 0;
            k->period = k->typical;
            k->waiting = false;
        }
        span_of(k, i, &begin, &end);
        step(k, path_of_stack(&k->shown->paths, s->stack), is_wait(k, s), begin, end);
        if (!k->waiting)
            k->period = length_of(k, s);
        if (end > c->to)
            c->to = end;
        if (i + 1 == k->count || !same_thread(k, i, i + 1))
            close_from(k, 0);
    }
}

static bool heavier(const void *context, uint32_t a, uint32_t b)
{
    const struct lane *lanes = context;
    return lanes[a].weight > lanes[b].weight;
}

/* The rows of the lanes, heaviest thread first. */
static bool order_lanes(struct clock *k)
{
    struct chart *c = k->chart;
    size_t count = c->lane_count;
    uint32_t *order = arena_alloc(&k->scratch, 2 * (count + 1) * sizeof *order);
    if (!order)
        return false;
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    sort_u32(order, count, order + count, heavier, c->lanes);
    for (size_t i = 0; i < count; i++) {
        struct lane *lane = &c->lanes[order[i]];
        lane->row = c->rows;
        c->rows += lane->rows;
    }
    return true;
}

/* Sets the depth of every path, the lanes and their rows. */
static bool lay_lanes(struct clock *k)
{
    struct chart *c = k->chart;
    const struct paths *paths = &k->shown->paths;
    const struct profile *p = k->shown->p;
    uint32_t deepest = 0;
    k->depth = arena_zalloc(&k->scratch, paths->count, sizeof *k->depth);
    c->lanes = arena_zalloc(&c->arena, p->thread_count + 1, sizeof *c->lanes);
    if (!k->depth || !c->lanes)
        return false;
    for (uint32_t n = 1; n < paths->count; n++) {
        k->depth[n] = k->depth[paths->nodes[n].parent] + 1;
        deepest = k->depth[n] > deepest ? k->depth[n] : deepest;
    }
    for (size_t i = 0; i < k->count; i++) {
        const struct sample *s = &p->samples[k->order[i]];
        uint32_t depth = k->depth[path_of_stack(paths, s->stack)] + 1;
        if (i == 0 || !same_thread(k, i - 1, i))
            c->lanes[c->lane_count++] = (struct lane){.thread = s->thread};
        struct lane *lane = &c->lanes[c->lane_count - 1];
        if (s->event == k->shown->event)
            lane->weight += shown_weight(k->shown, s);
        if (depth > lane->rows)
            lane->rows = depth;
    }
    if (!order_lanes(k))
        return false;
    k->open = arena_alloc(&k->scratch, (deepest + 1) * sizeof *k->open);
    k->since = arena_alloc(&k->scratch, (deepest + 1) * sizeof *k->since);
    k->waited_then = arena_alloc(&k->scratch, (deepest + 1) * sizeof *k->waited_then);
    return k->open && k->since && k->waited_then;
}

/* Converts the counts of boxes by row to the start of each row. */
static bool make_room(struct clock *k)
{
    struct chart *c = k->chart;
    uint32_t total = 0;
    c->row_first = arena_alloc(&c->arena, ((size_t)c->rows + 1) * sizeof *c->row_first);
    if (!c->row_first)
        return false;
    for (uint32_t r = 0; r < c->rows; r++) {
        c->row_first[r] = total;
        total += k->next[r];
        k->next[r] = c->row_first[r];
    }
    c->row_first[c->rows] = total;
    c->begin = arena_alloc(&c->arena, ((size_t)total + 1) * sizeof *c->begin);
    c->end = arena_alloc(&c->arena, ((size_t)total + 1) * sizeof *c->end);
    c->node = arena_alloc(&c->arena, ((size_t)total + 1) * sizeof *c->node);
    if (k->some_wait)
        c->waited = arena_alloc(&c->arena, ((size_t)total + 1) * sizeof *c->waited);
    return c->begin && c->end && c->node && (c->waited || !k->some_wait);
}

bool chart_of_time(struct chart *c, const struct shown *s, struct error *err)
{
    struct clock k = {.chart = c, .shown = s};
    *c = (struct chart){0};
    bool ok = find_waits(&k) && order_samples(&k) && (!k.timed || find_scale(&k)) &&
              lay_lanes(&k);
    k.next = ok ? arena_zalloc(&k.scratch, (size_t)c->rows + 1, sizeof *k.next) : NULL;
    if (k.next) {
        run_lanes(&k);
        ok = make_room(&k);
        k.filling = true;
        if (ok)
            run_lanes(&k);
    }
    ok = ok && k.next;
    c->timed = k.timed;
    c->origin = k.origin;
    arena_deinit(&k.scratch);
    c->made = ok;
    return ok || error_memory(err);
}
