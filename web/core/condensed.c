/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/index.h"
#include "web/core/core.h"

#define SAMPLES_LEAST ((size_t)1 << 16) /* fewer are fast as they are */
#define ROWS_SHARE 4 /* of the samples: more rows cost more than they save */
#define SPACING_LEAST ((size_t)1 << 18) /* samples from one sum to the next */
#define EVENTS_MOST 8                   /* with more, there are no sums by event */
#define EXACT_MOST 9007199254740992.0   /* integers up to this are exact: 2^53 */

/* State of making the rows. */
struct condenser {
    struct condensed *c;
    struct arena scratch;
    struct index index; /* of rows; the ids are row + 1 */
    size_t row_cap, longest_cap;
    double total; /* of the weights without their signs */
    uint64_t count;
    uint32_t last; /* row + 1 of the sample before */
};

/* What a span has of a row. */
struct row_part {
    double weight;
    int64_t count;
};

struct key {
    const struct sample *rows, *sample;
};

static bool is_same(const struct sample *a, const struct sample *b)
{
    return a->stack == b->stack && a->thread == b->thread && a->event == b->event;
}

static bool same_row(const void *context, uint32_t id)
{
    const struct key *k = context;
    return is_same(&k->rows[id - 1], k->sample);
}

/* Sums of integers do not depend on their order, and parts of them can be subtracted. */
static bool is_exact(struct condenser *k, const struct sample *s)
{
    double size = s->weight < 0 ? -s->weight : s->weight;
    k->total += size;
    k->count += s->count;
    return s->rest == 0 && s->count <= UINT32_MAX && k->count <= UINT32_MAX &&
           k->total <= EXACT_MOST && size == (double)(uint64_t)size;
}

/* The number of the sample's row, plus one; 0 if out of memory. */
static uint32_t row_of(struct condenser *k, const struct sample *s)
{
    struct condensed *c = k->c;
    if (k->last && is_same(&c->rows.samples[k->last - 1], s))
        return k->last;
    if (!index_reserve(&k->index, &k->scratch, 1) ||
        !ARRAY_RESERVE(&c->arena, c->longest, k->longest_cap, c->rows.sample_count + 1) ||
        !ARRAY_RESERVE(&c->arena, c->rows.samples, k->row_cap, c->rows.sample_count + 1))
        return 0;
    struct key key = {c->rows.samples, s};
    uint32_t hash = (uint32_t)hash_mix(hash_pair(s->stack, s->thread), HASH_C ^ s->event);
    struct index_slot *slot = index_find(&k->index, hash, same_row, &key);
    if (!slot->id) {
        uint32_t row = (uint32_t)c->rows.sample_count++;
        c->longest[row] = (uint32_t)(s - c->p->samples);
        c->rows.samples[row] = (struct sample){.time = TIME_NONE,
                                               .thread = s->thread,
                                               .cpu = row,
                                               .event = s->event,
                                               .stack = s->stack};
        index_fill(&k->index, slot, hash, row + 1);
    }
    return slot->id;
}

/* Notes the sums of all rows so far. */
static bool add_sums(struct condensed *c)
{
    struct row_sums *sums = &c->sums[c->sum_count];
    sums->rows = c->rows.sample_count;
    sums->weight = arena_alloc(&c->arena, (sums->rows + 1) * sizeof *sums->weight);
    sums->count = arena_alloc(&c->arena, (sums->rows + 1) * sizeof *sums->count);
    if (!sums->weight || !sums->count)
        return false;
    for (size_t i = 0; i < sums->rows; i++) {
        sums->weight[i] = c->rows.samples[i].weight;
        sums->count[i] = (uint32_t)c->rows.samples[i].count;
    }
    c->sum_count++;
    return true;
}

/* Notes the sums of each event at the next step. */
static void add_step(struct condensed *c, size_t at, const struct event_sums *sums)
{
    size_t events = c->p->event_count;
    if (c->by_event)
        memcpy(c->by_event + at / CONDENSED_STEP * events, sums, events * sizeof *sums);
}

/* Also false if the rows would not save time. */
static bool add_samples(struct condenser *k)
{
    struct condensed *c = k->c;
    const struct profile *p = c->p;
    uint64_t before = 0;
    struct event_sums events[EVENTS_MOST] = {{0}}, unused;
    c->by_time = true;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (i % c->spacing == 0 && !add_sums(c))
            return false;
        if (i % CONDENSED_STEP == 0)
            add_step(c, i, events);
        struct event_sums *of_event = c->by_event ? &events[s->event] : &unused;
        of_event->weight += s->weight;
        of_event->count += (double)s->count;
        k->last = is_exact(k, s) ? row_of(k, s) : 0;
        if (!k->last || c->rows.sample_count > p->sample_count / ROWS_SHARE)
            return false;
        uint32_t row = k->last - 1;
        c->row_of[i] = row;
        c->rows.samples[row].weight += s->weight;
        c->rows.samples[row].count += s->count;
        if (s->weight > p->samples[c->longest[row]].weight)
            c->longest[row] = (uint32_t)i;
        c->by_time &= s->time != TIME_NONE && s->time >= before;
        before = s->time;
    }
    return add_sums(c);
}

static bool can_be_condensed(const struct profile *p)
{
    return p->sample_count >= SAMPLES_LEAST && p->all_samples && !p->sample_labels &&
           !p->facts.differential && !profile_find_kind(p, EVENT_LIVE);
}

void condensed_init(struct condensed *c, const struct profile *p)
{
    struct condenser k = {.c = c};
    *c = (struct condensed){.p = p, .rows = *p};
    if (!can_be_condensed(p))
        return;
    c->rows.samples = NULL;
    c->rows.sample_count = 0;
    c->spacing = p->sample_count / ROWS_SHARE / 4;
    c->spacing = c->spacing < SPACING_LEAST ? SPACING_LEAST : c->spacing / 4;
    c->row_of = arena_alloc(&c->arena, p->sample_count * sizeof *c->row_of);
    c->sums = arena_zalloc(&c->arena, p->sample_count / c->spacing + 2, sizeof *c->sums);
    size_t steps = p->sample_count / CONDENSED_STEP + 1;
    if (p->event_count <= EVENTS_MOST)
        c->by_event =
            arena_zalloc(&c->arena, steps * p->event_count, sizeof *c->by_event);
    c->made = c->row_of && c->sums && add_samples(&k);
    arena_deinit(&k.scratch);
    if (!c->made)
        arena_deinit(&c->arena);
}

void condensed_deinit(struct condensed *c)
{
    arena_deinit(&c->arena);
    *c = (struct condensed){0};
}

/* The sums of all samples before `at`: those of the nearest note, with the samples from
 * `from` up to `to` added, or subtracted. */
struct sums_before {
    const struct row_sums *near;
    size_t from, to;
    int sign;
};

static struct sums_before sums_before(const struct condensed *c, size_t at)
{
    size_t count = c->p->sample_count, near = (at + c->spacing / 2) / c->spacing;
    if (near >= c->sum_count || at == count)
        near = at == count ? c->sum_count - 1 : c->sum_count - 2;
    size_t from = near == c->sum_count - 1 ? count : near * c->spacing;
    return (struct sums_before){&c->sums[near], from < at ? from : at,
                                from < at ? at : from, from < at ? 1 : -1};
}

/* Adds the samples between the note and the time, times `sign`. */
static void add_rest(const struct condensed *c, const struct sums_before *before,
                     int sign, struct row_part *parts)
{
    sign *= before->sign;
    for (size_t i = before->from; i < before->to; i++) {
        struct row_part *part = &parts[c->row_of[i]];
        part->weight += sign * c->p->samples[i].weight;
        part->count += sign * (int64_t)c->p->samples[i].count;
    }
}

/* Sets the parts to the differences of the notes. */
static void subtract_notes(const struct row_sums *to, const struct row_sums *from,
                           size_t rows, struct row_part *parts)
{
    memset(parts, 0, rows * sizeof *parts);
    for (size_t i = 0; i < to->rows; i++)
        parts[i] = (struct row_part){to->weight[i], to->count[i]};
    for (size_t i = 0; i < from->rows; i++) {
        parts[i].weight -= from->weight[i];
        parts[i].count -= from->count[i];
    }
}

bool condensed_span(const struct condensed *c, size_t from, size_t to, struct arena *a,
                    struct profile *view)
{
    size_t count = c->rows.sample_count, used = 0;
    struct row_part *parts = arena_alloc(a, (count + 1) * sizeof *parts);
    if (!parts)
        return false;
    struct sums_before last = sums_before(c, to), first = sums_before(c, from);
    subtract_notes(last.near, first.near, count, parts);
    add_rest(c, &last, 1, parts);
    add_rest(c, &first, -1, parts);
    struct sample *rows = arena_alloc(a, (count + 1) * sizeof *rows);
    for (size_t i = 0; rows && i < count; i++) {
        if (!parts[i].count)
            continue;
        rows[used] = c->rows.samples[i];
        rows[used].weight = parts[i].weight;
        rows[used++].count = (uint64_t)parts[i].count;
    }
    arena_release(a, parts, (count + 1) * sizeof *parts);
    *view = c->rows;
    view->samples = rows;
    view->sample_count = used;
    return rows != NULL;
}

bool condensed_has_span(const struct condensed *c, const struct profile *p)
{
    return c && c->made && p != &c->rows && p->stacks == c->rows.stacks;
}

struct event_sums condensed_before(const struct condensed *c, event_id event, size_t at)
{
    size_t step = at / CONDENSED_STEP;
    if (step && step * CONDENSED_STEP == c->p->sample_count)
        step--; /* nothing is noted at the end */
    struct event_sums sums = c->by_event[step * c->p->event_count + event];
    for (size_t i = step * CONDENSED_STEP; i < at; i++)
        if (c->p->samples[i].event == event) {
            sums.weight += c->p->samples[i].weight;
            sums.count += (double)c->p->samples[i].count;
        }
    return sums;
}

bool condensed_expand(const struct condensed *c, const struct profile *rows, size_t from,
                      size_t to, struct profile *full, struct arena *a, struct error *err)
{
    size_t used = 0;
    uint32_t *found = arena_zalloc(a, c->rows.sample_count + 1, sizeof *found);
    for (size_t i = 0; found && i < rows->sample_count; i++)
        found[rows->samples[i].cpu] = (uint32_t)i + 1;
    for (size_t i = from; found && i < to; i++)
        used += found[c->row_of[i]] != 0;
    struct sample *samples = found ? arena_alloc(a, (used + 1) * sizeof *samples) : NULL;
    if (!samples)
        return error_memory(err);
    *full = *rows;
    full->samples = samples;
    full->sample_count = used;
    for (size_t i = from; i < to; i++) {
        uint32_t row = found[c->row_of[i]];
        if (!row)
            continue;
        *samples = c->p->samples[i];
        samples->thread = rows->samples[row - 1].thread;
        samples->event = rows->samples[row - 1].event;
        samples++->stack = rows->samples[row - 1].stack;
    }
    return true;
}
