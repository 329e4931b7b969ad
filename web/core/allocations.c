/* SPDX-License-Identifier: Apache-2.0 */
/* The track of the allocation rate: how many allocations there were by time. In a sampled heap
 * each sample counts for several. */
#include "base/sort.h"
#include "web/core/memory.h"

static bool is_allocation(const struct memory *m, const struct sample *s)
{
    return s->event == m->allocations && s->time != TIME_NONE &&
           s->time >= m->p->facts.time_first;
}

/* The samples of one time are one tally. */
static void add_tallies(struct memory *m, const struct sort_key *order, size_t count)
{
    const struct profile *p = m->p;
    double sum = 0;
    uint64_t samples = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sample *s = &p->samples[order[i].id];
        bool is_first = i == 0 || order[i].key != order[i - 1].key;
        sum += s->weight;
        samples += s->count;
        m->tally_count += is_first;
        m->tallies[m->tally_count - 1] =
            (struct tally){(double)(s->time - p->facts.time_first), sum, (double)samples};
    }
}

bool allocations_init(struct memory *m)
{
    const struct profile *p = m->p;
    struct arena scratch = ARENA_INIT;
    size_t count = 0, used = 0;
    for (size_t i = 0; m->allocations && i < p->sample_count; i++)
        count += is_allocation(m, &p->samples[i]);
    if (!count)
        return true;
    struct sort_key *order = arena_alloc(&scratch, 2 * count * sizeof *order);
    m->tallies = arena_alloc(&m->arena, count * sizeof *m->tallies);
    bool ok = order && m->tallies;
    for (size_t i = 0; ok && i < p->sample_count; i++)
        if (is_allocation(m, &p->samples[i]))
            order[used++] = (struct sort_key){p->samples[i].time, (uint32_t)i};
    if (ok) {
        sort_keys(order, count, order + count);
        add_tallies(m, order, count);
    }
    arena_deinit(&scratch);
    return ok;
}

/* The number of tallies before x. */
static size_t tallies_before(const struct memory *m, size_t low, double x)
{
    size_t high = m->tally_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->tallies[middle].at < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct tally tally_at(const struct memory *m, size_t count)
{
    return count ? m->tallies[count - 1] : (struct tally){0};
}

void allocations_draw(const struct memory *m, const struct axis_part *w, float *values,
                      double *sums)
{
    double column = (w->to - w->from) / w->columns;
    size_t at = tallies_before(m, 0, w->from);
    struct tally first = tally_at(m, at), last = first;
    for (uint32_t c = 0; c < w->columns; c++) {
        bool is_end =
            c + 1 == w->columns; /* the last sample may be at the end of the axis */
        at = tallies_before(m, at, is_end ? w->to + 1 : w->from + (c + 1) * column);
        struct tally now = tally_at(m, at);
        values[c] = (float)(now.sum - last.sum);
        last = now;
    }
    sums[0] = last.sum - first.sum;
    sums[1] = last.samples - first.samples;
}
