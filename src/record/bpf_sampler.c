/* SPDX-License-Identifier: Apache-2.0 */
#include "record/bpf_sampler.h"
#include "os/machine.h"
#include "record/event_source.h"

/* Keys are large (up to 2 kB), and a map allocates all of its memory at once. */
#define ROOM_LEAST 512
#define RATE_UNKNOWN 1000 /* samples per second, if samples are taken by event counts */

bool bpf_sampler_suits(const struct perf_sampler_settings *settings, struct error *err)
{
    const struct record_event *e = &settings->events.items[0];
    if (settings->stacks != RECORD_STACKS_FP) {
        error_set(err, "the kernel unwinds stacks by frame pointers only");
        return error_hint(err, "--bpf -g fp");
    }
    if (settings->events.count != 1 || e->type == PERF_TYPE_TRACEPOINT || e->precise) {
        error_set(err, "the kernel counts stacks of a single event only, and not of a "
                       "precise event or a tracepoint");
        return error_hint(err, "-e cpu-clock");
    }
    return true;
}

/* Twice the number of samples between two reads: all stacks may be different. */
static uint32_t room_for(const struct perf_sampler_settings *settings, uint64_t interval)
{
    uint64_t rate = settings->rate ? settings->rate : RATE_UNKNOWN;
    uint64_t needed = 2 * rate * os_cpus_possible() * (interval / 1000000) / 1000;
    uint32_t room = ROOM_LEAST;
    while (room < needed && room < BPF_SAMPLER_ROOM)
        room *= 2;
    return room;
}

bool bpf_sampler_open(struct bpf_sampler *s, const struct perf_sampler_settings *settings,
                      uint64_t interval, struct error *err)
{
    *s = (struct bpf_sampler){.layout = NULL};
    return bpf_sampler_suits(settings, err) &&
           os_stack_counts_open(&s->counts, room_for(settings, interval), err);
}

void bpf_sampler_close(struct bpf_sampler *s)
{
    os_stack_counts_close(&s->counts);
}

/* --- Records ----------------------------------------------------------------------- */

/* A sample without its time. */
static void make_sample(struct bpf_sampler *s, const struct stack_counts_key *key,
                        size_t kernel, size_t user, uint64_t period)
{
    struct record_maker *m = &s->maker;
    record_begin(m, PERF_SAMPLE, kernel ? PERF_MODE_KERNEL : PERF_MODE_USER);
    record_put_u64(m, kernel ? key->frames[user] : key->frames[0]);
    record_put_u32(m, key->pid);
    record_put_u32(m, key->tid);
    record_put_u64(m, 0);
    record_put_u32(m, key->cpu);
    record_put_u32(m, 0);
    record_put_u64(m, period);
    record_put_chain(m, key->frames, user, kernel);
}

static size_t at_most(size_t count)
{
    return count < STACK_COUNTS_FRAMES ? count : STACK_COUNTS_FRAMES;
}

void bpf_sampler_give(struct bpf_sampler *s, const struct stack_counts_key *key,
                      const struct stack_count *count)
{
    uint64_t n = count->count, span = count->last - count->first;
    if (n == 0)
        return;
    make_sample(s, key, at_most(key->kernel_count), at_most(key->user_count),
                count->period / n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t time = count->first + (n > 1 ? span * i / (n - 1) : 0);
        memcpy(s->maker.bytes + s->layout->time, &time, sizeof time);
        struct record r = record_end_bare(&s->maker, time);
        record_pass(s->to, &r);
    }
}

static void give(void *context, const struct stack_counts_key *key,
                 const struct stack_count *count)
{
    bpf_sampler_give(context, key, count);
}

static void report_lost(struct bpf_sampler *s)
{
    uint64_t lost = os_stack_counts_lost(&s->counts);
    if (lost == s->lost)
        return;
    record_begin(&s->maker, PERF_LOST, 0);
    record_put_u64(&s->maker, 0);
    record_put_u64(&s->maker, lost - s->lost);
    s->lost = lost;
    struct record r = record_end(&s->maker, 0, 0, os_clock_monotonic());
    record_pass(s->to, &r);
}

bool bpf_sampler_drain(struct bpf_sampler *s, const struct record_sink *to,
                       struct error *err)
{
    s->to = to;
    bool ok = os_stack_counts_read(&s->counts, give, s, err);
    report_lost(s);
    to->round(to->context);
    return ok;
}

/* --- The event source -------------------------------------------------------------- */

#define MS ((uint64_t)1000000)
#define INTERVAL_MOST \
    (900 * MS) /* the counters of the program have no ring that fills up */

/* Time after which the counts are read: before there can be more different stacks than
 * this. */
#define STACKS_MOST (BPF_SAMPLER_ROOM / 2)

static uint64_t choose_interval(const struct perf_sampler_settings *settings)
{
    uint64_t per_second = settings->rate * os_cpus_possible();
    uint64_t most = (uint64_t)STACKS_MOST * 1000 / (per_second ? per_second : 1) * MS;
    return most < INTERVAL_MOST ? most : INTERVAL_MOST;
}

static bool prepare(void *state, struct event_source_setup *setup, struct error *err)
{
    struct bpf_sampler *s = state;
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        if (setup->request->on[i] && i != EVENT_SOURCE_bpf && !event_sources[i]->beside)
            return error_set(err, "counting stacks cannot be combined with --%s",
                             event_sources[i]->name);
    uint64_t interval =
        setup->sampler->rate ? choose_interval(setup->sampler) : setup->interval;
    if (!bpf_sampler_open(s, setup->sampler, interval, err))
        return false;
    setup->interval = interval;
    setup->sampler->program = s->counts.handle;
    return true;
}

static void opened(void *state, struct perf_sampler *sampler)
{
    struct bpf_sampler *s = state;
    s->layout = s->maker.layout = &sampler->layout;
}

static bool drain(void *state, const struct record_sink *to, struct error *err)
{
    return bpf_sampler_drain(state, to, err);
}

static uint64_t lost_stacks(const void *state)
{
    const struct bpf_sampler *s = state;
    return s->lost;
}

static void close_source(void *state)
{
    bpf_sampler_close(state);
}

const struct event_source event_source_bpf = {
    .name = "bpf",
    .optional = true,
    .size = sizeof(struct bpf_sampler),
    .prepare = prepare,
    .opened = opened,
    .drain = drain,
    .lost = lost_stacks,
    .close = close_source,
};
