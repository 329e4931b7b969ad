/* SPDX-License-Identifier: Apache-2.0 */
/* What allocated the bytes of a heap's event, function by function, and how the bytes of
 * one function grew. A function that only allocates for its caller does not count: its
 * caller does. */
#include "base/sort.h"
#include "model/allocator.h"
#include "web/core/memory.h"
#include <math.h>

#define TWO_SIDED_95 1.96 /* standard deviations */

/* By stack: the label of the innermost frame that does not allocate for its caller. A parent comes
 * first. NULL if out of memory. */
static string_id *site_of_stacks(const struct shown *s, const struct profile *p,
                                 struct arena *a)
{
    uint8_t *allocates = arena_zalloc(a, p->frame_count, 1);
    string_id *sites = arena_zalloc(a, p->stack_count, sizeof *sites);
    if (!allocates || !sites)
        return NULL;
    for (frame_id f = 1; f < p->frame_count; f++)
        allocates[f] = is_allocating(profile_string(p, p->frames[f].name));
    for (stack_id i = 1; i < p->stack_count; i++) {
        struct stack at = p->stacks[i];
        sites[i] = allocates[at.frame] && at.parent ? sites[at.parent]
                                                    : s->paths.label_of_frame[at.frame];
    }
    return sites;
}

/* --- The list ------------------------------------------------------------------------------ */

struct site {
    double weight, beside; /* of the event, and of the one beside it */
    uint64_t samples, beside_samples;
    double variance; /* of the weight, if it was sampled */
};

static bool is_heavier(const void *context, uint32_t a, uint32_t b)
{
    const struct site *all = context;
    return all[a].weight > all[b].weight;
}

/* The size of a block whose sample weighs that many bytes: it was sampled with the probability
 * size / weight = 1 - exp(-size / mean). */
static double size_of_weight(double weight, double mean)
{
    double size = weight;
    for (int i = 0; i < 20; i++)
        size = weight * -expm1(-size / mean);
    return size;
}

/* Of the estimate that one sample of a block makes: 1 / p blocks, with the probability p. */
static double variance_of(const struct sample *s, uint64_t sample_bytes)
{
    if (!sample_bytes || !s->count || !(s->weight > 0))
        return 0;
    double weight = s->weight / (double)s->count;
    double rest = weight - size_of_weight(weight, (double)sample_bytes);
    return rest > 0 ? (double)s->count * weight * rest : 0;
}

static void add_sites(const struct profile *p, const struct event_pair *events,
                      const string_id *site_of, struct site *all)
{
    bool bytes = p->events[events->event].unit == UNIT_BYTES;
    uint64_t sample_bytes = bytes ? p->facts.sample_bytes : 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        struct site *site = &all[site_of[s->stack]];
        if (events->event && s->event == events->event) {
            site->weight += s->weight;
            site->samples += s->count;
            site->variance += variance_of(s, sample_bytes);
        } else if (events->beside && s->event == events->beside) {
            site->beside += s->weight;
            site->beside_samples += s->count;
        }
    }
}

/* Half of the 95 % confidence interval; nothing if the weight is exact. */
static void put_error(struct json_writer *w, double variance)
{
    if (variance > 0)
        json_member_double(w, "error", TWO_SIDED_95 * sqrt(variance));
}

static void put_site(struct json_writer *w, const struct shown *s,
                     const struct functions *f, const struct site *site, string_id label)
{
    json_begin(w, JSON_OBJECT);
    json_member_double(w, "weight", site->weight);
    json_member_double(w, "beside", site->beside);
    json_member_u64(w, "samples", site->samples);
    put_error(w, site->variance);
    json_put_key(w, "complete"); /* each allocation is a sample */
    json_put_bool(w, site->beside < (double)site->beside_samples + 0.5);
    json_put_key(w, "function");
    reply_function(w, s, f, 0, label);
    json_end(w, JSON_OBJECT);
}

static double sum_of_variances(const struct site *all, size_t labels)
{
    double sum = 0;
    for (size_t label = 1; label < labels; label++)
        sum += all[label].variance;
    return sum;
}

bool reply_sites(struct json_writer *w, const struct shown *s, const struct functions *f,
                 const struct event_pair *events, uint32_t most, struct error *err)
{
    struct arena a = ARENA_INIT;
    size_t labels = s->paths.labels.count, count = 0;
    const string_id *site_of = site_of_stacks(s, s->p, &a);
    struct site *all = arena_zalloc(&a, labels + 1, sizeof *all);
    uint32_t *order = arena_alloc(&a, 2 * (labels + 1) * sizeof *order);
    if (!site_of || !all || !order) {
        arena_deinit(&a);
        return error_memory(err);
    }
    add_sites(s->p, events, site_of, all);
    for (uint32_t label = 1; label < labels; label++)
        if (all[label].weight > 0)
            order[count++] = label;
    sort_u32(order, count, order + labels + 1, is_heavier, all);
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "count", count);
    put_error(w, sum_of_variances(all, labels));
    json_put_key(w, "rows");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < count && i < most; i++)
        put_site(w, s, f, &all[order[i]], order[i]);
    json_end(w, JSON_ARRAY);
    json_end(w, JSON_OBJECT);
    arena_deinit(&a);
    return true;
}

/* --- The growth ---------------------------------------------------------------------------- */

/* The bytes of one function at the ends of the columns of an axis of time. */
struct growth {
    uint64_t origin;
    double to; /* ns: the axis begins at 0 */
    uint32_t columns;
    double *bytes; /* by column */
    double first;  /* ns: of the first bytes; below 0: there are none */
};

static void add_growth(struct growth *g, const struct sample *s)
{
    double at = (double)(s->time - g->origin);
    double column = at / g->to * g->columns;
    uint32_t last = g->columns - 1;
    g->bytes[column < last ? (uint32_t)column : last] += s->weight;
    if (s->weight > 0 && (g->first < 0 || at < g->first))
        g->first = at;
}

static void put_growth(struct json_writer *w, struct growth *g, struct str event)
{
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "event", event);
    json_member_double(w, "first", g->first);
    json_member_double(w, "to", g->to);
    json_put_key(w, "bytes");
    json_begin(w, JSON_ARRAY);
    for (uint32_t i = 0; i < g->columns; i++) {
        g->bytes[i] += i ? g->bytes[i - 1] : 0;
        json_put_double(w, g->bytes[i]);
    }
    json_end(w, JSON_ARRAY);
    json_end(w, JSON_OBJECT);
}

bool reply_growth(struct json_writer *w, const struct growth_of *of, uint32_t columns,
                  struct error *err)
{
    const struct profile *p = of->samples;
    const struct facts *facts = &of->whole->facts;
    struct arena a = ARENA_INIT;
    const string_id *site_of = site_of_stacks(of->shown, p, &a);
    struct growth g = {.origin = facts->time_first, .columns = columns, .first = -1};
    g.bytes = arena_zalloc(&a, columns, sizeof *g.bytes);
    bool ok = (site_of && g.bytes) || error_memory(err);
    bool timed =
        facts->time_first != TIME_NONE && facts->time_last > facts->time_first && columns;
    g.to = timed ? (double)(facts->time_last - facts->time_first) : 0;
    for (size_t i = 0; ok && timed && i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (s->event == of->event && s->time != TIME_NONE && s->time >= g.origin &&
            site_of[s->stack] == of->site)
            add_growth(&g, s);
    }
    if (ok && g.first >= 0)
        put_growth(w, &g, profile_string(p, p->events[of->event].name));
    else if (ok)
        json_put_null(w);
    arena_deinit(&a);
    return ok;
}
