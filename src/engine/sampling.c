/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/sampling.h"
#include "os/cgroup.h"
#include "record/clock_rate.h"
#include "record/refusal.h"
#include <errno.h>

/* The default size of a dump: the more samples per second, the smaller. The kernel writes only
 * the bytes that a stack has, but each dump takes that much room in a ring. */
#define DUMP_BYTES_PER_SECOND 40000000
#define DUMP_DEFAULT_LEAST 8192

/* Of events without a rate: busy threads switch ten thousand times per second. */
#define DUMP_UNRATED_MOST 32768

static uint32_t dump_size(const struct sampling_settings *s, uint32_t rate)
{
    int64_t size = DUMP_BYTES_PER_SECOND / rate;
    if (s->stacks.dump_size)
        return s->stacks.dump_size;
    if (size > SAMPLING_DUMP_MOST)
        return SAMPLING_DUMP_MOST;
    return size < DUMP_DEFAULT_LEAST ? DUMP_DEFAULT_LEAST : (uint32_t)size & ~7u;
}

static uint32_t unrated_dump_size(const struct sampling_settings *s, uint32_t size)
{
    return s->stacks.dump_size || size < DUMP_UNRATED_MOST ? size : DUMP_UNRATED_MOST;
}

bool sampling_choose_rate(struct sampling_settings *s, int64_t usual)
{
    if (!s->rate && !s->period && !s->events.count)
        s->rate = usual;
    if (s->rate != SAMPLING_RATE_AUTO)
        return false;
    s->rate = record_cheap_rate(s->stacks.kind);
    return true;
}

struct perf_sampler_settings sampling_sampler(const struct sampling_settings *s)
{
    uint32_t rate = s->rate ? (uint32_t)s->rate : SAMPLING_RATE_DEFAULT;
    uint32_t dumped = dump_size(s, rate);
    return (struct perf_sampler_settings){.stacks = s->stacks.kind,
                                          .dump_size = dumped,
                                          .unrated_dump_size =
                                              unrated_dump_size(s, dumped),
                                          .ring_size = (size_t)s->ring_size,
                                          .rate = s->period ? 0 : rate,
                                          .regular = s->regular,
                                          .period = (uint64_t)s->period};
}

bool sampling_names_some(const struct sampling_targets *w)
{
    return w->pids.count || w->tids.count || w->user;
}

bool sampling_find(const struct sampling_targets *w, bool command,
                   struct record_targets *targets, struct record_threads *threads,
                   struct error *err)
{
    bool some = sampling_names_some(w), all = w->everyone || w->cgroup;
    if (all && some) {
        error_set(err, "the whole machine (-a) and control groups (--cgroup, --service, "
                       "--container) cannot be combined with single processes (-p, -t, "
                       "-u)");
        return error_hint(err, "sample all and show some: stoke flamegraph --only-pid N; "
                               "/ in stoke top");
    }
    /* as in perf record, a command beside -C only sets the duration */
    targets->everyone = all || (!some && (!command || w->cpus.count));
    targets->alone = w->alone;
    targets->cpus = w->cpus.count ? w->cpus.items : NULL;
    targets->cpu_count = w->cpus.count;
    if (w->cgroup && (targets->cgroup = os_cgroup_open(w->cgroup, err)) < 0)
        return false;
    if (!some)
        return true;
    if ((w->user && !record_threads_of_user(threads, w->user, err)) ||
        !record_threads_find(threads, w->pids.items, w->pids.count, w->tids.items,
                             w->tids.count, err) ||
        (!w->alone &&
         !record_threads_of_descendants(threads, w->pids.items, w->pids.count, err)))
        return false;
    targets->tids = threads->items;
    targets->tid_count = threads->count;
    return true;
}

bool sampling_check(const struct sampling_settings *s, struct error *err)
{
    if (s->rate && s->period) {
        error_set(err, "samples are taken by time (-F) or by a count of events (-c), not "
                       "by both");
        return error_hint(err, "-F alone, or -c alone");
    }
    if (!s->all_user || !s->all_kernel)
        return true;
    error_set(err, "--all-user with --all-kernel leaves nothing to sample");
    return error_hint(err, "leave out both: then user and kernel code are sampled");
}

bool sampling_events(const struct sampling_settings *s,
                     struct perf_sampler_settings *sampler,
                     struct sampling_events_found *found, struct error *err)
{
    struct record_events *events = &sampler->events;
    *found = (struct sampling_events_found){0};
    *events = s->events;
    record_events_pace(events, (uint32_t)s->rate, (uint64_t)s->period);
    if (events->count == 0) {
        events->items[events->count++] = record_event_cycles();
        found->clock = !perf_sampler_has(&events->items[0]);
        if (found->clock)
            events->items[0] = record_event_clock();
    }
    for (size_t i = 0; i < events->count; i++) {
        struct record_event *e = &events->items[i];
        if (s->all_user)
            record_event_only_user(e);
        if (s->all_kernel)
            record_event_only_kernel(e);
        if (e->tracepoint[0] || perf_sampler_sees_kernel(e))
            continue;
        if (e->needs_kernel)
            return record_refusal(sampler, i, EACCES, err);
        record_event_only_user(e);
        found->hidden++;
    }
    found->clock_rate = record_limit_clocks(sampler);
    return true;
}
