/* SPDX-License-Identifier: Apache-2.0 */
/* When a function ran or waited: the weights of its samples by time. */
#include "web/core/core.h"

#define COLUMNS_MAX 1000

struct times {
    uint64_t first;      /* the time of 0 */
    double from, column; /* ns */
    uint32_t columns;
    double *values;
};

uint8_t *when_stacks(const struct when_of *of, struct arena *a)
{
    const struct profile *p = of->p;
    const string_id *labels = of->shown->paths.label_of_frame;
    uint8_t *is_in = arena_zalloc(a, p->stack_count, 1);
    /* a parent comes first */
    for (stack_id i = 1; is_in && i < p->stack_count; i++)
        is_in[i] = is_in[p->stacks[i].parent] || labels[p->stacks[i].frame] == of->label;
    return is_in;
}

/* Spreads the weight over the time of a wait, which ends at `end`. */
static void add_wait(const struct times *t, double end, double length, double weight)
{
    double low = (end - length - t->from) / t->column, high = (end - t->from) / t->column;
    double per_column = high > low ? weight / (high - low) : 0;
    low = low > 0 ? low : 0;
    high = high < t->columns ? high : t->columns;
    while (low < high) {
        double next = (uint32_t)low + 1;
        double stop = next < high ? next : high;
        t->values[(uint32_t)low] += (stop - low) * per_column;
        low = stop;
    }
}

static void add_times(const struct when_of *of, const uint8_t *is_in,
                      const struct times *t)
{
    const struct profile *p = of->p;
    bool waits = p->events[of->event].kind == EVENT_WAITING &&
                 p->events[of->event].unit == UNIT_NANOSECONDS;
    size_t step = p->sample_count / WHEN_SAMPLES_READ + 1;
    for (size_t i = 0; i < p->sample_count; i += step) {
        const struct sample *s = &p->samples[i];
        if (s->event != of->event || !is_in[s->stack] || s->time == TIME_NONE ||
            s->time < t->first)
            continue;
        double at = (double)(s->time - t->first), column = (at - t->from) / t->column;
        double weight = (of->count ? (double)s->count : s->weight) * (double)step;
        if (waits)
            add_wait(t, at, s->weight, weight);
        else if (column >= 0 && column < t->columns)
            t->values[(uint32_t)column] += weight;
        else if (column >= t->columns && at <= t->from + t->column * t->columns)
            t->values[t->columns - 1] += weight; /* at the end of the axis */
    }
}

bool reply_when(struct json_writer *w, const struct when_of *of, double from, double to,
                uint32_t columns, struct error *err)
{
    struct arena a = ARENA_INIT;
    if (!(to > from) || columns == 0 || columns > COLUMNS_MAX)
        return error_set(err, "invalid span");
    const uint8_t *is_in = when_stacks(of, &a);
    struct times t = {of->first, from, (to - from) / columns, columns,
                      arena_zalloc(&a, columns, sizeof *t.values)};
    bool ok = is_in && t.values;
    if (ok) {
        add_times(of, is_in, &t);
        json_begin(w, JSON_ARRAY);
        for (uint32_t i = 0; i < columns; i++)
            json_put_double(w, t.values[i]);
        json_end(w, JSON_ARRAY);
    }
    arena_deinit(&a);
    return ok || error_memory(err);
}
