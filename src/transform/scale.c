/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplies weights by a factor, or scales them to a total. */
#include "transform/rewrite.h"

static bool weigh(const struct rewrite *r, struct sample *s)
{
    const double *factors = r->context; /* by event */
    s->weight *= factors[s->event];
    s->rest *= factors[s->event];
    return true;
}

static double *find_factors(struct rewrite *r, const struct transform_options *o)
{
    const struct profile *from = r->from;
    double *factors = arena_zalloc(&r->arena, from->event_count, sizeof *factors);
    if (!factors)
        return NULL;
    for (size_t i = 0; i < from->sample_count; i++)
        factors[from->samples[i].event] += from->samples[i].weight;
    for (event_id e = 0; e < from->event_count; e++) {
        double total = factors[e];
        factors[e] = o->scale != 0 ? o->scale : 1;
        if (o->scale_to != 0 && total != 0)
            factors[e] = o->scale_to / total;
    }
    return factors;
}

static bool scale_requested(const struct transform_options *o)
{
    return o->scale != 0 || o->scale_to != 0;
}

static bool scale_run(const struct profile *from, const struct transform_options *o,
                      struct builder *to, struct error *err)
{
    struct rewrite r;
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        r.context = find_factors(&r, o);
        r.row = weigh;
        ok = r.context ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_scale = {
    .name = "scale",
    .summary = "multiply the weights, or make them add up to a total",
    .requested = scale_requested,
    .run = scale_run,
};
