/* SPDX-License-Identifier: Apache-2.0 */
#include "record/bpf_sampler.h"
#include "os/machine.h"

/* Keys are large (up to 2 kB), and each map has its room from the beginning. */
#define ROOM_LEAST 512
#define RATE_UNKNOWN 1000 /* a second, where samples come by events */

bool bpf_sampler_suits(const struct perf_sampler_settings *settings, struct error *err)
{
    const struct record_event *e = &settings->events.items[0];
    if (settings->stacks != RECORD_STACKS_FP) {
        error_set(err, "the kernel follows no stacks but by frame pointers");
        return error_hint(err, "--bpf goes with -g fp");
    }
    if (settings->events.count != 1 || e->type == PERF_TYPE_TRACEPOINT || e->precise) {
        error_set(err, "stacks are counted in the kernel for one event alone, which is "
                       "neither precise nor a tracepoint");
        return error_hint(err, "-e cpu-clock");
    }
    return true;
}

/* Twice what comes between two drains, if no stack is like another. */
static uint32_t room_for(const struct perf_sampler_settings *settings, uint64_t interval)
{
    uint64_t rate = settings->rate ? settings->rate : RATE_UNKNOWN;
    uint64_t wanted = 2 * rate * os_cpus_possible() * (interval / 1000000) / 1000;
    uint32_t room = ROOM_LEAST;
    while (room < wanted && room < BPF_SAMPLER_ROOM)
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

static void put_frames(struct record_maker *m, uint64_t context, const uint64_t *frames,
                       size_t count)
{
    if (count == 0)
        return;
    record_put_u64(m, context);
    record_put(m, frames, count * sizeof *frames);
}

/* All of a sample but its time. */
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
    record_put_u64(m, kernel + user + (kernel > 0) + (user > 0));
    put_frames(m, PERF_CONTEXT_KERNEL, key->frames + user, kernel);
    put_frames(m, PERF_CONTEXT_USER, key->frames, user);
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

static void tell_lost(struct bpf_sampler *s)
{
    uint64_t lost = os_stack_counts_lost(&s->counts);
    if (lost == s->lost_told)
        return;
    record_begin(&s->maker, PERF_LOST, 0);
    record_put_u64(&s->maker, 0);
    record_put_u64(&s->maker, lost - s->lost_told);
    s->lost_told = lost;
    struct record r = record_end(&s->maker, 0, 0, os_clock_monotonic());
    record_pass(s->to, &r);
}

bool bpf_sampler_drain(struct bpf_sampler *s, const struct record_sink *to,
                       struct error *err)
{
    s->to = to;
    bool ok = os_stack_counts_read(&s->counts, give, s, err);
    tell_lost(s);
    to->round(to->context);
    return ok;
}
