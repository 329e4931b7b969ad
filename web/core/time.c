/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include "web/core/core.h"
#include <math.h>
#include <stdlib.h>

#define GAPS_MAX ((size_t)1 << 16) /* gaps between samples of which the median is taken */

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
    struct shown named;  /* its labels and paths, of which lanes are made */
    struct arena *arena; /* of the chart */
    struct arena scratch;
    struct row_index
        index; /* of the samples; the arena of the chart, or the caller, owns it */
    struct row_index own; /* then `index` is it */
    bool *shown_thread;   /* by thread: it has samples that are shown */
    double *weight;       /* by thread, of the event */
    uint32_t *rows;       /* by thread, with the header */
    uint32_t *depth;      /* by path; the root's is 0 */
    uint8_t *waits;       /* by path: it contains a wait */
    event_id off;         /* the event of waits, or 0 */
    double scale;         /* of the event (slice_scale); the other one is in ns */
    bool some_wait;
    bool timed;
    uint64_t origin;
    double typical; /* duration in ns of a sample whose weight is not a time */

    /* The current lane. */
    struct slice *slices; /* by time; the ids are paths */
    size_t count, cap;
    bool filling;   /* boxes are counted first */
    uint32_t *next; /* by row below the header: the next box */
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
    if (!k->some_wait)
        return false;
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
    k->waits = arena_zalloc(k->arena, paths->count, 1);
    k->some_wait = k->off != 0;
    for (uint32_t n = 1; k->waits && n < paths->count; n++) {
        k->waits[n] = k->waits[paths->nodes[n].parent] ||
                      s->marks_of_label[path_label(paths, n)] & DRAWN_OFF;
        k->some_wait |= k->waits[n];
    }
    return k->waits != NULL;
}

/* The duration of a sample, by its weight; NAN if that is not a time. */
static double length_of(const struct clock *k, const struct sample *s)
{
    double length = s->weight * (s->event == k->off ? 1 : k->scale);
    return length < 0 ? 0 : length;
}

/* Sets the depth of every path, and makes what is needed by depth. */
static bool measure_paths(struct clock *k)
{
    const struct paths *paths = &k->shown->paths;
    uint32_t deepest = 0;
    k->depth = arena_zalloc(k->arena, paths->count, sizeof *k->depth);
    for (uint32_t n = 1; k->depth && n < paths->count; n++) {
        k->depth[n] = k->depth[paths->nodes[n].parent] + 1;
        deepest = k->depth[n] > deepest ? k->depth[n] : deepest;
    }
    k->open = arena_alloc(k->arena, (deepest + 1) * sizeof *k->open);
    k->since = arena_alloc(k->arena, (deepest + 1) * sizeof *k->since);
    k->waited_then = arena_alloc(k->arena, (deepest + 1) * sizeof *k->waited_then);
    k->next = arena_alloc(k->arena, (deepest + 1) * sizeof *k->next);
    return k->depth && k->open && k->since && k->waited_then && k->next;
}

/* `rows` has the weights of the samples by thread and stack. */
static bool count_rows(struct clock *k, const struct profile *rows)
{
    size_t threads = rows->thread_count;
    k->weight = arena_zalloc(&k->scratch, threads + 1, sizeof *k->weight);
    k->rows = arena_zalloc(&k->scratch, threads + 1, sizeof *k->rows);
    k->shown_thread = arena_zalloc(&k->scratch, threads + 1, sizeof *k->shown_thread);
    if (k->scratch.failed)
        return false;
    for (size_t i = 0; i < rows->sample_count; i++) {
        const struct sample *s = &rows->samples[i];
        if (!is_shown(k, s))
            continue;
        uint32_t depth = k->depth[path_of_stack(&k->shown->paths, s->stack)];
        if (depth >= k->rows[s->thread])
            k->rows[s->thread] = depth + 1;
        if (s->event == k->shown->event)
            k->weight[s->thread] += shown_weight(k->shown, s);
        k->shown_thread[s->thread] = true;
    }
    return true;
}

/* Finds out whether there are times, and the first one. No sample begins before the start of
 * the profile because of its length: in the order of their times, the first one is enough. */
static void find_origin(struct clock *k)
{
    const struct profile *p = k->shown->p;
    uint64_t origin = p->facts.time_first;
    for (size_t i = 0; i < p->sample_count && !(k->timed && k->index.by_time); i++) {
        const struct sample *s = &p->samples[i];
        if (!is_shown(k, s))
            continue;
        uint64_t time = time_of(k, s);
        origin = time < origin ? time : origin;
        k->timed |= s->time != TIME_NONE;
    }
    k->origin = k->timed ? origin : 0;
}

/* The time from a sample to the next one of its thread; 0: it does not count. */
static uint64_t gap_between(const struct clock *k, const struct sample *a,
                            const struct sample *b)
{
    bool count = is_shown(k, a) && is_shown(k, b) && !is_wait(k, a) && !is_wait(k, b) &&
                 a->time != TIME_NONE && b->time != TIME_NONE && b->time > a->time;
    return count ? b->time - a->time : 0;
}

/* Finds the median time between samples of a thread: the length of those whose weight is not a
 * time. */
static bool find_typical(struct clock *k)
{
    const struct profile *p = k->shown->p;
    const struct row_index *x = &k->index;
    struct sort_key *gaps = arena_alloc(&k->scratch, 2 * GAPS_MAX * sizeof *gaps);
    size_t count = 0, every = p->sample_count / GAPS_MAX + 1;
    if (!gaps)
        return false;
    for (size_t t = 0; t < p->thread_count; t++)
        for (size_t i = x->first[t]; i + 1 < x->first[t + 1]; i += every) {
            const struct sample *a = &p->samples[x->of_thread[i]];
            uint64_t gap = gap_between(k, a, &p->samples[x->of_thread[i + 1]]);
            if (gap && count < GAPS_MAX)
                gaps[count++] = (struct sort_key){gap, 0};
        }
    sort_keys(gaps, count, gaps + count);
    k->typical = count ? (double)gaps[count / 2].key : 1e6;
    return true;
}

/* An array with room for `cap`; the old one is freed. False if out of memory. */
static bool enlarge(void *array, size_t size, size_t cap)
{
    void **items = array, *grown = realloc(*items, cap * size);
    if (grown)
        *items = grown;
    return grown != NULL;
}

static struct slice slice_of(const struct clock *k, const struct sample *s)
{
    uint64_t time = time_of(k, s);
    double length = k->timed ? length_of(k, s) : shown_weight(k->shown, s);
    return (struct slice){time == TIME_NONE ? INFINITY : (double)(time - k->origin),
                          isnan(length) ? k->typical : length,
                          path_of_stack(&k->shown->paths, s->stack), is_wait(k, s)};
}

/* The samples of the thread that are shown; with times, by their start. */
static bool slice_thread(struct clock *k, thread_id thread)
{
    const struct row_index *x = &k->index;
    size_t most = x->first[thread + 1] - x->first[thread];
    k->count = 0;
    if (most > k->cap && !enlarge(&k->slices, sizeof *k->slices, most))
        return false;
    k->cap = most > k->cap ? most : k->cap;
    for (uint32_t i = x->first[thread]; i < x->first[thread + 1]; i++) {
        const struct sample *s = &k->shown->p->samples[x->of_thread[i]];
        if (is_shown(k, s))
            k->slices[k->count++] = slice_of(k, s);
    }
    return !k->timed || slices_sort(k->slices, k->count);
}

/* The start and end of a slice; `last`: of its thread. */
static void span_of(const struct clock *k, const struct slice *s, bool last,
                    double *begin, double *end)
{
    *begin = k->timed && isfinite(s->begin) ? s->begin : k->last_end;
    *end = *begin + s->length;
    if (!k->timed || last || !isfinite(s[1].begin))
        return;
    /* samplers are not punctual */
    double next = s[1].begin;
    if (*end > next || (next - *begin < 1.2 * s->length && !s->waits))
        *end = next;
}

static void close_from(struct clock *k, uint32_t depth)
{
    struct chart *c = k->chart;
    for (uint32_t d = depth; d < k->open_count; d++) {
        uint32_t box = k->next[d]++;
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

/* Resets the state of the current lane. */
static void begin_lane(struct clock *k)
{
    k->open_count = 0;
    k->last_end = 0;
    k->period = k->typical;
    k->waiting = false;
    k->waited = 0;
}

static void run_lane(struct clock *k)
{
    begin_lane(k);
    for (size_t i = 0; i < k->count; i++) {
        const struct slice *s = &k->slices[i];
        double begin, end;
        span_of(k, s, i + 1 == k->count, &begin, &end);
        step(k, s->id, s->waits, begin, end);
        if (!k->waiting)
            k->period = s->length;
    }
    close_from(k, 0);
}

/* The last end of the thread's boxes: without times, of all its slices. */
static bool end_of_slices(struct clock *k, thread_id thread, double *end)
{
    if (!slice_thread(k, thread))
        return false;
    begin_lane(k);
    *end = 0;
    for (size_t i = 0; i < k->count; i++) {
        double begin;
        span_of(k, &k->slices[i], i + 1 == k->count, &begin, &k->last_end);
        *end = k->last_end > *end ? k->last_end : *end;
    }
    return true;
}

/* The same for samples in the order of their times. No box ends after the one that begins
 * last: that is one of the samples from the last one back to one that does not wait. */
static double end_of_last(const struct clock *k, thread_id thread)
{
    const struct row_index *x = &k->index;
    struct slice last = {.begin = -1};
    for (uint32_t i = x->first[thread + 1]; i-- > x->first[thread];) {
        const struct sample *s = &k->shown->p->samples[x->of_thread[i]];
        if (!is_shown(k, s))
            continue;
        struct slice slice = slice_of(k, s);
        if (slice.begin > last.begin)
            last = slice;
        if (!slice.waits || (double)(s->time - k->origin) <= last.begin)
            break;
    }
    return last.begin + last.length;
}

/* Extends the axis to the last end of the thread's boxes. */
static bool extend_axis(struct clock *k, thread_id thread)
{
    double end;
    if (k->timed && k->index.by_time)
        end = end_of_last(k, thread);
    else if (!end_of_slices(k, thread, &end))
        return false;
    if (end > k->chart->to)
        k->chart->to = end;
    return true;
}

/* Equal ones by the IDs of their threads: their order in the profile depends on its filters. */
static bool heavier(const void *context, uint32_t x, uint32_t y)
{
    const struct clock *k = context;
    const struct lane *a = &k->chart->lanes[x], *b = &k->chart->lanes[y];
    if (a->weight > b->weight || a->weight < b->weight)
        return a->weight > b->weight;
    const struct thread *left = &k->shown->p->threads[a->thread];
    const struct thread *right = &k->shown->p->threads[b->thread];
    return left->pid != right->pid ? left->pid < right->pid : left->tid < right->tid;
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
    sort_u32(order, count, order + count, heavier, k);
    for (size_t i = 0; i < count; i++) {
        struct lane *lane = &c->lanes[order[i]];
        lane->row = c->rows;
        c->rows += lane->rows;
    }
    c->thread_of_row =
        arena_alloc(&c->arena, ((size_t)c->rows + 1) * sizeof *c->thread_of_row);
    for (size_t i = 0; c->thread_of_row && i < count; i++)
        for (uint32_t row = 0; row < c->lanes[i].rows; row++)
            c->thread_of_row[c->lanes[i].row + row] = c->lanes[i].thread;
    return c->thread_of_row != NULL;
}

/* The lanes, their rows, and the end of the axis. */
static bool lay_lanes(struct clock *k)
{
    struct chart *c = k->chart;
    const struct profile *p = k->shown->p;
    size_t most = 0;
    c->lanes = arena_zalloc(&c->arena, p->thread_count + 1, sizeof *c->lanes);
    if (!c->lanes)
        return false;
    for (thread_id t = 0; t < p->thread_count; t++) {
        size_t count = k->index.first[t + 1] - k->index.first[t];
        if (!k->shown_thread[t])
            continue;
        struct lane *lane = &c->lanes[c->lane_count++];
        *lane = (struct lane){.thread = t, .weight = k->weight[t], .rows = k->rows[t]};
        if (!extend_axis(k, t))
            return false;
        most = count > most ? count : most;
    }
    if (!order_lanes(k))
        return false;
    c->row_first = arena_zalloc(&c->arena, 2 * (size_t)c->rows + 1, sizeof *c->row_first);
    if (!c->row_first)
        return false;
    c->row_stop = c->row_first + c->rows;
    levels_init(c, most < UINT32_MAX ? (uint32_t)most : UINT32_MAX);
    return true;
}

static bool prepare(struct clock *k, const struct profile *rows)
{
    if (!find_waits(k) || !measure_paths(k) || !count_rows(k, rows))
        return false;
    find_origin(k);
    return (!k->timed || find_typical(k)) && lay_lanes(k);
}

bool chart_of_time(struct chart *c, const struct shown *s, const struct profile *rows,
                   const struct row_index *index, struct error *err)
{
    *c = (struct chart){0};
    struct clock *k = arena_zalloc(&c->arena, 1, sizeof *k);
    if (!k)
        return error_memory(err);
    k->chart = c;
    k->shown = s;
    k->scale = slice_scale(s->p, s->event);
    k->arena = &c->arena;
    c->clock = k;
    if (!index && !row_index_init(&k->own, s->p, err))
        return false;
    k->index = index ? *index : k->own;
    c->made = prepare(k, rows);
    c->timed = k->timed;
    c->origin = k->origin;
    c->waits = k->some_wait;
    arena_deinit(&k->scratch);
    k->named = *s;
    k->shown = &k->named;
    return c->made || error_memory(err);
}

void chart_of_time_deinit(struct chart *c)
{
    if (c->clock) {
        free(c->clock->slices);
        row_index_deinit(&c->clock->own);
    }
    free(c->begin);
    free(c->end);
    free(c->node);
    free(c->waited);
}

/* Room for `more` boxes. It grows by a quarter: boxes of all lanes may be a good part of
 * the memory. */
static bool reserve_boxes(struct clock *k, size_t more)
{
    struct chart *c = k->chart;
    size_t want = c->count + more, cap = c->cap + c->cap / 4;
    if (want <= c->cap)
        return true;
    cap = cap < want ? want : cap;
    if (want >= NONE || cap > SIZE_MAX / sizeof *c->begin ||
        !enlarge(&c->begin, sizeof *c->begin, cap) ||
        !enlarge(&c->end, sizeof *c->end, cap) ||
        !enlarge(&c->node, sizeof *c->node, cap) ||
        (k->some_wait && !enlarge(&c->waited, sizeof *c->waited, cap)))
        return false;
    c->cap = cap;
    return true;
}

/* Counts the boxes of the lane by row, and then makes them. */
static bool make_lane(struct clock *k, struct lane *lane)
{
    struct chart *c = k->chart;
    uint32_t rows = lane->rows - 1;
    size_t total = 0;
    memset(k->next, 0, rows * sizeof *k->next);
    k->filling = false;
    if (!slice_thread(k, lane->thread))
        return false;
    run_lane(k);
    for (uint32_t r = 0; r < rows; r++)
        total += k->next[r];
    if (!reserve_boxes(k, total))
        return false;
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t row = lane->row + 1 + r;
        c->row_first[row] = c->count;
        c->row_stop[row] = c->count += k->next[r];
        k->next[r] = c->row_first[row];
    }
    k->filling = true;
    run_lane(k);
    lane->made = true;
    return true;
}

bool chart_need(struct chart *c, uint32_t first, uint32_t last, struct error *err)
{
    if (c->clock)
        c->clock->chart = c; /* the chart may have been moved */
    for (size_t i = 0; i < c->lane_count; i++) {
        struct lane *lane = &c->lanes[i];
        if (!lane->made && lane->row < last && lane->row + lane->rows > first &&
            !make_lane(c->clock, lane))
            return error_memory(err);
    }
    return true;
}
