/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/samples.h"

/* Memory limits of a reader. */
#define READER_BYTES_MAX ((size_t)4 << 20)
#define READER_FILES_MAX ((size_t)4000)

enum { CURRENT, LATER };

void daemon_samples_init(struct daemon_samples *s)
{
    daemon_labels_init(&s->labels);
}

static void drop(struct daemon_samples *s, size_t which)
{
    if (s->ready[which])
        builder_deinit(&s->raw[which]);
    s->ready[which] = false;
    s->latest[which] = 0;
}

void daemon_samples_deinit(struct daemon_samples *s)
{
    drop(s, CURRENT);
    drop(s, LATER);
    daemon_labels_deinit(&s->labels);
}

static bool on_sample(void *context, struct perf_profile *p, const struct perf_sample *ps,
                      struct sample *sample)
{
    struct daemon_samples *s = context;
    (void)sample;
    s->reader = p;
    s->taken += ps->tid != 0;
    return ps->tid != 0;
}

static void on_stack(void *context, struct perf_profile *p, const struct sample *sample,
                     const location_id *locations, size_t count, size_t unwound)
{
    struct daemon_samples *s = context;
    struct sample row = *sample;
    size_t which = row.time < s->until ? CURRENT : LATER;
    struct builder *b = &s->raw[which];
    (void)unwound;
    if (!s->ready[which])
        s->ready[which] = builder_init(b, BUILD_KEEP);
    if (!s->ready[which]) {
        s->failed = true;
        return;
    }
    if (row.time > s->latest[which])
        s->latest[which] = row.time;
    const struct thread *t = &perf_profile_builder(p)->profile->threads[row.thread];
    uint32_t pid = (uint32_t)t->pid;
    row.stack = count ? builder_push_run(b, 0, locations, count, NULL) : 0;
    builder_add_labelled(
        b, &row, daemon_labels_of(&s->labels, b, pid, perf_profile_comm(p, pid, pid)));
}

static void on_end(void *context, struct perf_profile *p)
{
    struct daemon_samples *s = context;
    (void)p;
    s->ended(s->context);
    s->reader = NULL;
    drop(s, CURRENT);
    drop(s, LATER);
}

struct perf_consumer daemon_samples_consumer(struct daemon_samples *s)
{
    return (struct perf_consumer){.context = s,
                                  .with_reasons = true,
                                  .sample = on_sample,
                                  .stack = on_stack,
                                  .end = on_end};
}

/* A profile with names of the current window's samples. */
static struct profile *make_profile(struct daemon_samples *s, struct error *err)
{
    struct builder b;
    struct profile *p = NULL;
    if (!builder_init(&b, BUILD_KEEP)) {
        error_memory(err);
        return NULL;
    }
    if (perf_profile_snapshot(s->reader, s->raw[CURRENT].profile, &b))
        p = builder_finish(&b, err);
    else
        error_memory(err);
    builder_deinit(&b);
    return p;
}

bool daemon_samples_cut(struct daemon_samples *s, uint64_t until, uint64_t offset,
                        struct profile **p, struct error *err)
{
    bool any = s->ready[CURRENT] && s->reader;
    *p = any ? make_profile(s, err) : NULL;
    bool ok = (*p || !any) && (!s->failed || error_memory(err));
    for (size_t i = 0; *p && i < (*p)->sample_count; i++)
        (*p)->samples[i].time += offset;
    drop(s, CURRENT);
    if (s->ready[LATER])
        s->raw[CURRENT] = s->raw[LATER];
    s->ready[CURRENT] = s->ready[LATER];
    s->latest[CURRENT] = s->latest[LATER];
    s->ready[LATER] = false;
    s->latest[LATER] = 0;
    s->until = until;
    s->failed = false;
    daemon_labels_clear(&s->labels);
    return ok;
}

bool daemon_samples_has_later(const struct daemon_samples *s)
{
    return s->ready[LATER];
}

uint64_t daemon_samples_latest(const struct daemon_samples *s)
{
    return s->latest[CURRENT];
}

struct profile *daemon_samples_recent(struct daemon_samples *s, uint64_t from,
                                      uint64_t to)
{
    struct error ignored;
    size_t count = 0;
    bool any = s->ready[CURRENT] && s->reader;
    struct profile *p = any ? make_profile(s, &ignored) : NULL;
    for (size_t i = 0; p && i < p->sample_count; i++)
        if (p->samples[i].time >= from && p->samples[i].time < to)
            p->samples[count++] = p->samples[i];
    if (p) {
        p->sample_count = count;
        p->sample_labels = NULL; /* in the order of the rows before */
    }
    return p;
}

struct profile *daemon_samples_so_far(struct daemon_samples *s, uint64_t offset)
{
    struct error ignored;
    bool any = s->ready[CURRENT] && s->reader;
    struct profile *p = any ? make_profile(s, &ignored) : NULL;
    for (size_t i = 0; p && i < p->sample_count; i++)
        p->samples[i].time += offset;
    return p;
}

void daemon_samples_name(struct daemon_samples *s, bool learned)
{
    if (!s->reader)
        return;
    s->failed |= !perf_profile_name(s->reader);
    if (learned)
        perf_profile_name_again(s->reader);
}

bool daemon_samples_full(const struct daemon_samples *s)
{
    if (!s->reader)
        return false;
    struct perf_profile_size size = perf_profile_size(s->reader);
    return size.bytes > READER_BYTES_MAX || size.files > READER_FILES_MAX;
}
