/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/data.h"

/* What is left of a weight at the next look, as in perf top. */
#define LEFT 0.875
#define GONE 0.05 /* of a sample's weight: about 20 looks later */

/* What the reader may know before it begins anew. With the files go their symbols. */
#define BYTES_MOST ((size_t)192 << 20)
#define FILES_MOST ((size_t)20000)

/* --- Samples ----------------------------------------------------------------------- */

static bool take_sample(void *context, struct perf_profile *p,
                        const struct perf_sample *s, struct sample *sample)
{
    struct top_data *d = context;
    (void)sample;
    d->reader = p;
    d->taken++;
    d->last = s->time > d->last ? s->time : d->last;
    d->idle += s->tid == 0;
    return s->tid != 0 || d->wants_idle;
}

static void take_stack(void *context, struct perf_profile *p, const struct sample *sample,
                       const frame_id *places, size_t count, size_t unwound)
{
    struct top_data *d = context;
    struct sample s = *sample;
    (void)p, (void)unwound;
    if (!d->ready)
        d->ready = builder_init(&d->raw, BUILD_COUNT);
    if (!d->ready) {
        d->failed = true;
        return;
    }
    builder_path_clear(&d->raw);
    for (size_t i = 0; i < count; i++)
        builder_path_add(&d->raw, places[i]);
    s.stack = builder_path_from_leaf(&d->raw);
    builder_add(&d->raw, &s);
    d->largest = s.weight > d->largest ? s.weight : d->largest;
}

static void end(void *context, struct perf_profile *p)
{
    (void)context, (void)p;
}

struct perf_taker top_data_taker(struct top_data *d)
{
    return (struct perf_taker){
        .context = d, .sample = take_sample, .stack = take_stack, .end = end};
}

/* --- Looks ------------------------------------------------------------------------- */

/* The same stack in another builder. */
static stack_id copy_stack(struct builder *to, const struct profile *from, stack_id stack)
{
    builder_path_clear(to);
    for (; stack; stack = from->stacks[stack].parent)
        builder_path_add(to, from->stacks[stack].frame);
    return builder_path_from_leaf(to);
}

/* Lets all lose weight; what has next to none goes, with its stack. */
static void age(struct top_data *d)
{
    struct builder younger;
    const struct profile *raw = d->raw.profile;
    if (!d->ready || !builder_init(&younger, BUILD_COUNT))
        return;
    for (size_t i = 0; !d->zero && i < raw->sample_count; i++) {
        struct sample s = raw->samples[i];
        s.weight *= LEFT;
        if (s.weight < GONE * d->largest)
            continue;
        s.stack = copy_stack(&younger, raw, s.stack);
        builder_add(&younger, &s);
    }
    builder_deinit(&d->raw);
    d->raw = younger;
}

bool top_data_look(struct top_data *d, struct error *err)
{
    struct builder b;
    d->shown_taken = d->taken;
    d->shown_idle = d->idle;
    d->taken = d->idle = 0;
    if (!d->ready || !d->reader)
        return !d->failed || error_memory(err);
    if (!builder_init(&b, BUILD_COUNT))
        return error_memory(err);
    if (!perf_profile_snapshot(d->reader, d->raw.profile, &b)) {
        builder_deinit(&b);
        return error_memory(err);
    }
    struct profile *p = builder_finish(&b, err);
    if (!p)
        return false;
    profile_destroy(d->shown);
    d->shown = p;
    age(d);
    return true;
}

bool top_data_is_full(const struct top_data *d)
{
    const struct perf_profile *r = d->reader;
    if (!r)
        return false;
    size_t held = r->arena.total + r->data.arena.total + r->processes.arena.total +
                  r->processes.spaces.arena.total + r->b->profile->arena.total;
    return held > BYTES_MOST || r->keys.count > FILES_MOST;
}

void top_data_forget(struct top_data *d)
{
    if (d->ready)
        builder_deinit(&d->raw);
    d->ready = false;
    profile_destroy(d->shown);
    d->shown = NULL;
}

void top_data_clear(struct top_data *d)
{
    if (d->ready)
        builder_deinit(&d->raw);
    d->ready = false;
    d->reader = NULL;
}

void top_data_deinit(struct top_data *d)
{
    top_data_clear(d);
    profile_destroy(d->shown);
    d->shown = NULL;
}
