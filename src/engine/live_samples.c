/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/live_samples.h"

/* Below this part of the largest weight a sample is dropped: after about 20 refreshes. */
#define DROPPED 0.05

/* Memory limits of a reader. Memory for symbols grows with the files. */
#define READER_BYTES_MAX ((size_t)192 << 20)
#define READER_FILES_MAX ((size_t)20000)

/* --- The consumer ------------------------------------------------------------------ */

static bool on_sample(void *context, struct perf_profile *p, const struct perf_sample *s,
                      struct sample *sample)
{
    struct live_samples *live = context;
    (void)sample;
    live->reader = p;
    live->taken++;
    live->last = s->time > live->last ? s->time : live->last;
    live->idle += s->tid == 0;
    return s->tid != 0 || live->with_idle;
}

static void on_stack(void *context, struct perf_profile *p, const struct sample *sample,
                     const location_id *locations, size_t count, size_t unwound)
{
    struct live_samples *live = context;
    struct sample s = *sample;
    (void)p, (void)unwound;
    if (!live->ready)
        live->ready = builder_init(&live->raw, BUILD_COUNT);
    if (!live->ready) {
        live->failed = true;
        return;
    }
    s.stack = count ? builder_push_run(&live->raw, 0, locations, count, NULL) : 0;
    builder_add(&live->raw, &s);
    live->largest = s.weight > live->largest ? s.weight : live->largest;
}

static void on_end(void *context, struct perf_profile *p)
{
    (void)context, (void)p;
}

struct perf_consumer live_samples_consumer(struct live_samples *s)
{
    return (struct perf_consumer){
        .context = s, .sample = on_sample, .stack = on_stack, .end = on_end};
}

/* --- Refresh ----------------------------------------------------------------------- */

static stack_id copy_stack(struct builder *to, const struct profile *from, stack_id stack)
{
    builder_path_clear(to);
    for (; stack; stack = from->stacks[stack].parent)
        builder_path_add(to, from->stacks[stack].frame);
    return builder_path_from_leaf(to);
}

/* Reduces all weights, in a new builder without the samples that are dropped. */
static void age(struct live_samples *live)
{
    struct builder aged;
    const struct profile *raw = live->raw.profile;
    if (!live->ready || !builder_init(&aged, BUILD_COUNT))
        return;
    for (size_t i = 0; !live->zero && i < raw->sample_count; i++) {
        struct sample s = raw->samples[i];
        s.weight *= LIVE_SAMPLES_DECAY;
        if (s.weight < DROPPED * live->largest)
            continue;
        s.stack = copy_stack(&aged, raw, s.stack);
        builder_add(&aged, &s);
    }
    builder_deinit(&live->raw);
    live->raw = aged;
}

bool live_samples_refresh(struct live_samples *s, struct error *err)
{
    struct builder b;
    s->shown_taken = s->taken;
    s->shown_idle = s->idle;
    s->taken = s->idle = 0;
    if (!s->ready || !s->reader)
        return !s->failed || error_memory(err);
    if (!builder_init(&b, BUILD_COUNT))
        return error_memory(err);
    if (!perf_profile_snapshot(s->reader, s->raw.profile, &b)) {
        builder_deinit(&b);
        return error_memory(err);
    }
    struct profile *p = builder_finish(&b, err);
    if (!p)
        return false;
    profile_destroy(s->shown);
    s->shown = p;
    age(s);
    return true;
}

bool live_samples_full(const struct live_samples *s)
{
    if (!s->reader)
        return false;
    struct perf_profile_size size = perf_profile_size(s->reader);
    return size.bytes > READER_BYTES_MAX || size.files > READER_FILES_MAX;
}

static void drop_samples(struct live_samples *s)
{
    if (s->ready)
        builder_deinit(&s->raw);
    s->ready = false;
}

void live_samples_clear(struct live_samples *s)
{
    drop_samples(s);
    profile_destroy(s->shown);
    s->shown = NULL;
}

void live_samples_detach(struct live_samples *s)
{
    drop_samples(s);
    s->reader = NULL;
}

void live_samples_deinit(struct live_samples *s)
{
    live_samples_detach(s);
    live_samples_clear(s);
}
