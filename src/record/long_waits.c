/* SPDX-License-Identifier: Apache-2.0 */
/* The event source of long waits: the kernel finds those that last at least a threshold
 * (os/waits.h); this file makes samples of the event "off-cpu" of them, in the form of
 * perf/off_cpu.h. Its cost is bounded: if there are more than a limit per second, the threshold
 * rises, and falls again later. */
#include "os/machine.h"
#include "os/waits.h"
#include "perf/off_cpu.h"
#include "record/event_source.h"
#include "record/off_cpu.h"
#include <stdlib.h>

#define PER_SECOND_MOST 250
#define NS ((uint64_t)1000000000)
#define THRESHOLD_MOST (10 * NS)

struct long_waits {
    struct os_waits waits;
    const struct record_layout *layout;
    const struct record_sink *to; /* during a drain */
    struct record_maker *maker;
    size_t event; /* its index */
    uint64_t id;  /* of its first counter */
    uint64_t least, threshold;
    uint64_t checked,
        before; /* when the threshold was checked, and the waits until then */
    uint64_t items, sum, lost;
};

static bool prepare(void *state, struct event_source_setup *setup, struct error *err)
{
    struct long_waits *w = state;
    struct record_events *events = &setup->sampler->events;
    if (events->count == RECORD_EVENTS_MAX)
        return error_set(err, "there are more than %d events", RECORD_EVENTS_MAX);
    w->maker = calloc(1, sizeof *w->maker);
    if (!w->maker)
        return error_memory(err);
    w->least = w->threshold = setup->request->least_wait;
    if (!os_waits_open(&w->waits, w->threshold, err))
        return false;
    w->event = events->count;
    events->items[events->count++] = (struct record_event){.name = PERF_OFF_CPU_EVENT,
                                                           .type = PERF_TYPE_SOFTWARE,
                                                           .config = PERF_SOFTWARE_DUMMY,
                                                           .period = 1};
    setup->sampler->more_fields |= PERF_SAMPLE_RAW;
    return true;
}

static void opened(void *state, struct perf_sampler *sampler)
{
    struct long_waits *w = state;
    w->layout = w->maker->layout = &sampler->layout;
    if (w->id == 0)
        perf_sampler_ids(sampler, w->event, &w->id, 1);
}

static void describe(const void *state, size_t index, struct perf_file_event *e)
{
    const struct long_waits *w = state;
    if (index == w->event)
        record_off_cpu_describe(e, PERF_OFF_CPU_EVENT);
}

static void give(void *context, const struct waits_record *r)
{
    struct long_waits *w = context;
    struct record_maker *m = w->maker;
    size_t user = r->user_count, kernel = r->kernel_count;
    uint32_t word = r->is_preempted ? PERF_OFF_CPU_PREEMPTED : 0;
    record_begin(m, PERF_SAMPLE, kernel ? PERF_MODE_KERNEL : PERF_MODE_USER);
    memset(m->bytes + m->used, 0, w->layout->fixed_size - m->used);
    memcpy(m->bytes + w->layout->id, &w->id, sizeof w->id);
    memcpy(m->bytes + w->layout->tid, &r->pid, sizeof r->pid);
    memcpy(m->bytes + w->layout->tid + 4, &r->tid, sizeof r->tid);
    memcpy(m->bytes + w->layout->time, &r->time, sizeof r->time);
    memcpy(m->bytes + w->layout->cpu, &r->cpu, sizeof r->cpu);
    memcpy(m->bytes + w->layout->period, &r->length, sizeof r->length);
    m->used = w->layout->fixed_size;
    record_put_chain(m, r->frames, user, kernel);
    record_put_u32(m, sizeof word);
    record_put_u32(m, word);
    struct record out = record_end_bare(m, r->time);
    record_pass(w->to, &out);
    w->items++;
    w->sum += r->length;
}

/* Doubles the threshold if there are too many waits, and halves it if there are few. */
static void adapt(struct long_waits *w)
{
    struct os_waits_counts n = os_waits_count(&w->waits);
    uint64_t now = os_clock_monotonic(), waits = n.waits + n.lost;
    if (w->checked && now - w->checked >= NS / 2) {
        uint64_t rate = (waits - w->before) * NS / (now - w->checked);
        if (rate > PER_SECOND_MOST && w->threshold < THRESHOLD_MOST)
            w->threshold *= 2;
        else if (rate < PER_SECOND_MOST / 4 && w->threshold > w->least)
            w->threshold /= 2;
        os_waits_set_threshold(&w->waits, w->threshold);
    }
    if (!w->checked || now - w->checked >= NS / 2) {
        w->checked = now;
        w->before = waits;
    }
}

static void report_lost(struct long_waits *w)
{
    uint64_t lost = os_waits_count(&w->waits).lost;
    if (lost == w->lost)
        return;
    record_begin(w->maker, PERF_LOST, 0);
    record_put_u64(w->maker, 0);
    record_put_u64(w->maker, lost - w->lost);
    w->lost = lost;
    struct record r = record_end(w->maker, 0, 0, os_clock_monotonic());
    record_pass(w->to, &r);
}

static bool drain(void *state, const struct record_sink *to, struct error *err)
{
    struct long_waits *w = state;
    w->to = to;
    bool ok = os_waits_read(&w->waits, give, w, err);
    report_lost(w);
    adapt(w);
    to->round(to->context);
    return ok;
}

static uint64_t lost_waits(const void *state)
{
    const struct long_waits *w = state;
    return w->lost;
}

static void report(const void *state, struct event_source_report *r)
{
    const struct long_waits *w = state;
    r->items = r->samples = w->items;
    r->sum = w->sum;
    r->threshold = w->threshold;
}

static void close_source(void *state)
{
    struct long_waits *w = state;
    os_waits_close(&w->waits);
    free(w->maker);
    w->maker = NULL;
}

const struct event_source event_source_long_waits = {
    .name = "long-waits",
    .event = PERF_OFF_CPU_EVENT,
    .items = "waits",
    .timed = true,
    .optional = true,
    .size = sizeof(struct long_waits),
    .prepare = prepare,
    .opened = opened,
    .describe = describe,
    .drain = drain,
    .lost = lost_waits,
    .report = report,
    .close = close_source,
};
