/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the tracks a function ran: the time of its samples, by column of the visible processes
 * and threads. */
#include "web/core/tracks.h"
#include <math.h>

#define TRACKS_MAX 1000 /* in one request */
#define COLUMNS_MAX 16384

struct marking {
    struct arena arena;
    const struct when_of *of;
    const struct axis_part *part;
    uint32_t *row_of_process, *row_of_track; /* row + 1; 0: not requested */
    uint32_t *track_of_thread;               /* index + 1 */
    float *values;                           /* by row and column: threads that run it */
};

/* Filters may have given other numbers to the threads. */
static uint64_t key_of_thread(int64_t pid, int64_t tid)
{
    return (uint64_t)pid << 32 ^ (uint64_t)tid;
}

static bool find_tracks(struct marking *m, const struct tracks *t)
{
    const struct profile *p = m->of->p;
    struct idmap known = {0};
    m->track_of_thread =
        arena_zalloc(&m->arena, p->thread_count + 1, sizeof *m->track_of_thread);
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct thread_track *thread = &t->threads[i];
        uint64_t *track =
            thread->tid == ID_NONE
                ? NULL
                : idmap_put(&known, &m->arena, key_of_thread(thread->pid, thread->tid));
        if (track)
            *track = i + 1;
    }
    for (size_t i = 1; m->track_of_thread && i < p->thread_count; i++) {
        const struct thread *thread = &p->threads[i];
        const uint64_t *track =
            idmap_find(&known, key_of_thread(thread->pid, thread->tid));
        m->track_of_thread[i] = track && thread->tid != ID_NONE ? (uint32_t)*track : 0;
    }
    return !m->arena.failed;
}

static bool find_rows(struct marking *m, const struct tracks *t, const uint32_t *tracks,
                      uint32_t count)
{
    m->row_of_process =
        arena_zalloc(&m->arena, t->process_count + 1, sizeof *m->row_of_process);
    m->row_of_track =
        arena_zalloc(&m->arena, t->thread_count + 1, sizeof *m->row_of_track);
    m->values =
        arena_zalloc(&m->arena, (size_t)count * m->part->columns + 1, sizeof *m->values);
    if (m->arena.failed)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kind = tracks[i] >> TRACK_INDEX_BITS;
        uint32_t index = tracks[i] & ((1U << TRACK_INDEX_BITS) - 1);
        if (kind == TRACK_PROCESS && index < t->process_count)
            m->row_of_process[index] = i + 1;
        else if (kind == TRACK_THREAD && index < t->thread_count)
            m->row_of_track[index] = i + 1;
    }
    return true;
}

/* Adds a time to the columns of a row, as a part of each. */
static void cover(const struct marking *m, uint32_t row, double begin, double length)
{
    const struct axis_part *part = m->part;
    double column = (part->to - part->from) / part->columns;
    double at = (begin - part->from) / column, end = at + length / column;
    float *values = m->values + (size_t)row * part->columns;
    at = at > 0 ? at : 0;
    end = end < part->columns ? end : part->columns;
    while (at < end) {
        double next = floor(at) + 1, stop = next < end ? next : end;
        values[(uint32_t)at] += (float)(stop - at);
        at = stop;
    }
}

static void add_samples(const struct marking *m, const struct tracks *t,
                        const uint8_t *is_in)
{
    const struct when_of *of = m->of;
    const struct profile *p = of->p;
    double scale = slice_scale(p, of->event);
    bool waits = p->events[of->event].kind == EVENT_WAITING;
    size_t step = p->sample_count / WHEN_SAMPLES_READ + 1;
    for (size_t i = 0; i < p->sample_count; i += step) {
        const struct sample *s = &p->samples[i];
        uint32_t track = m->track_of_thread[s->thread];
        if (s->event != of->event || !is_in[s->stack] || !track || s->time == TIME_NONE ||
            s->time < of->first)
            continue;
        double length = s->weight * scale * (double)step;
        double begin = (double)(s->time - of->first) - (waits ? length : 0);
        uint32_t rows[] = {m->row_of_track[track - 1],
                           m->row_of_process[t->threads[track - 1].process]};
        for (unsigned k = 0; k < 2; k++)
            if (rows[k])
                cover(m, rows[k] - 1, begin, length);
    }
}

bool marked_draw(const struct when_of *of, const struct tracks *t, const uint32_t *tracks,
                 uint32_t count, const struct axis_part *part, struct output *out,
                 struct error *err)
{
    struct marking m = {.of = of, .part = part};
    if (!(part->to > part->from) || part->columns == 0 || part->columns > COLUMNS_MAX ||
        count > TRACKS_MAX)
        return error_set(err, "invalid window of the tracks");
    if (isnan(slice_scale(of->p, of->event)))
        return true; /* its samples have no length */
    const uint8_t *is_in = when_stacks(of, &m.arena);
    bool ok = is_in && find_tracks(&m, t) && find_rows(&m, t, tracks, count);
    if (ok) {
        add_samples(&m, t, is_in);
        output_bytes(out, (const char *)m.values,
                     (size_t)count * part->columns * sizeof *m.values);
    }
    arena_deinit(&m.arena);
    return ok || error_memory(err);
}
