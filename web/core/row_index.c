/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/transform.h"
#include "web/core/core.h"

#define NARROW_MOST 2 /* a selection of more than one row in so many reads all rows */

/* Whether all samples have a time, and none is before the one before it. */
static bool are_by_time(const struct profile *p)
{
    uint64_t before = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        if (p->samples[i].time == TIME_NONE || p->samples[i].time < before)
            return false;
        before = p->samples[i].time;
    }
    return true;
}

bool row_index_init(struct row_index *x, const struct profile *p, struct error *err)
{
    *x = (struct row_index){.p = p, .by_time = are_by_time(p)};
    uint32_t *first = arena_zalloc(&x->arena, p->thread_count + 2, sizeof *first);
    x->of_thread = arena_alloc(&x->arena, (p->sample_count + 1) * sizeof *x->of_thread);
    if (!first || !x->of_thread)
        return error_memory(err);
    for (size_t i = 0; i < p->sample_count; i++)
        first[p->samples[i].thread + 2]++;
    for (size_t t = 2; t < p->thread_count + 2; t++)
        first[t] += first[t - 1];
    for (size_t i = 0; i < p->sample_count; i++)
        x->of_thread[first[p->samples[i].thread + 1]++] = (uint32_t)i;
    x->first = first;
    return true;
}

void row_index_deinit(struct row_index *x)
{
    arena_deinit(&x->arena);
    *x = (struct row_index){0};
}

size_t row_at(const struct profile *p, uint64_t time)
{
    size_t low = 0, high = p->sample_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->samples[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The rows of a span, which are adjacent. What is live in it may have begun before. */
static bool narrow_by_time(const struct row_index *x, const struct filter_options *o,
                           struct profile *view)
{
    const struct profile *p = x->p;
    size_t from = 0, to = p->sample_count;
    if (!x->by_time || profile_find_kind(p, EVENT_LIVE))
        return false;
    if (o->start.at)
        from = row_at(
            p, time_point_resolve(&o->start, p->facts.time_first, p->facts.time_last));
    if (o->end.at)
        to = row_at(p,
                    time_point_resolve(&o->end, p->facts.time_first, p->facts.time_last));
    if (from >= to)
        return false;
    *view = *p;
    view->samples += from;
    view->sample_labels = p->sample_labels ? p->sample_labels + from : NULL;
    view->sample_count = to - from;
    return true;
}

/* The thread may have samples that remain. */
static bool is_chosen(const struct filter_options *o, const struct thread *t)
{
    return (o->pids.count == 0 || number_set_has(&o->pids, (uint64_t)t->pid)) &&
           (o->tids.count == 0 || number_set_has(&o->tids, (uint64_t)t->tid));
}

/* Marks the rows of the threads; returns their number. */
static size_t mark_rows(const struct row_index *x, const struct filter_options *o,
                        uint64_t *marks)
{
    size_t count = 0;
    for (size_t t = 0; t < x->p->thread_count; t++)
        if (is_chosen(o, &x->p->threads[t])) {
            for (uint32_t i = x->first[t]; marks && i < x->first[t + 1]; i++)
                marks[x->of_thread[i] / 64] |= (uint64_t)1 << x->of_thread[i] % 64;
            count += x->first[t + 1] - x->first[t];
        }
    return count;
}

/* Copies the rows of the threads, in their order. */
static bool narrow_by_thread(const struct row_index *x, const struct filter_options *o,
                             struct arena *a, struct profile *view)
{
    const struct profile *p = x->p;
    size_t words = p->sample_count / 64 + 1, count = mark_rows(x, o, NULL), used = 0;
    if (count > p->sample_count / NARROW_MOST)
        return false;
    uint64_t *marks = arena_zalloc(a, words, sizeof *marks);
    struct sample *samples = arena_alloc(a, (count + 1) * sizeof *samples);
    label_set_id *labels =
        p->sample_labels ? arena_alloc(a, (count + 1) * sizeof *labels) : NULL;
    if (!marks || !samples || (p->sample_labels && !labels))
        return false;
    mark_rows(x, o, marks);
    for (size_t word = 0; word < words; word++)
        for (uint64_t left = marks[word]; left; left &= left - 1) {
            size_t row = word * 64 + (size_t)__builtin_ctzll(left);
            if (labels)
                labels[used] = p->sample_labels[row];
            samples[used++] = p->samples[row];
        }
    *view = *p;
    view->samples = samples;
    view->sample_labels = labels;
    view->sample_count = used;
    return true;
}

bool row_index_narrow(const struct row_index *x, const struct filter_options *o,
                      struct arena *a, struct profile *view)
{
    if (o->pids.count || o->tids.count)
        return narrow_by_thread(x, o, a, view);
    return (o->start.at || o->end.at) && narrow_by_time(x, o, view);
}
