/* SPDX-License-Identifier: Apache-2.0 */
#include "record/clock_rate.h"
#include "base/number.h"
#include "os/machine.h"
#include "record/refusal.h"
#include <unistd.h>

#define SECOND ((uint64_t)1000000000) /* ns */
#define RATE_HARMLESS 5000u /* takes a quarter of the time if an interrupt takes 50 us */
#define PERIOD_MEASURED 10000 /* ns: the shortest of the kernel */
#define ROUNDS 3
#define PERCENT_USUAL 25

/* How exactly a sample is measured: the number of samples, and the work, in ns without the
 * samples. All samples are taken before the work ends. */
struct effort {
    int samples;
    uint64_t work;
};

static const struct effort exact = {100, 3000000}, quick = {20, 600000};

/* The rates of record_cheap_rate, highest first: no round numbers, so that few programs are in step
 * with them. The last is taken whatever it costs. */
static const uint32_t cheap_rates[] = {997, 499, 199, 99};

#define CHEAP_TIME 5000000 /* ns per second: 0.5 % of a CPU */
#define HANDLING \
    4000 /* ns of the recorder per sample: unwinding and writing (measured) */

static bool is_clock(const struct record_event *e)
{
    return e->type == PERF_TYPE_SOFTWARE && perf_sampler_counts_time(e);
}

/* The share of the CPU time that interrupts may take: 1 to 99 %; 0: no limit. */
static uint32_t percent_allowed(void)
{
    char room[32];
    uint64_t value;
    struct str text = str_trim(
        os_read_text("/proc/sys/kernel/perf_cpu_time_max_percent", room, sizeof room));
    if (!number_parse_u64(text, &value))
        return PERCENT_USUAL;
    return value < 100 ? (uint32_t)value : 0;
}

static void work_a_little(void)
{
    for (volatile unsigned i = 0; i < 2000; i++)
        ;
}

/* The CPU time of the work, in ns, in which the counter takes `samples` samples; -1: no
 * counter. 0 if the counter cannot be enabled. */
static uint64_t time_of(size_t amount, int counter, int samples)
{
    uint64_t begun = os_clock_of_thread();
    if (counter >= 0 && !os_perf_enable_for(counter, samples))
        return 0;
    for (size_t i = 0; i < amount; i++)
        work_a_little();
    return os_clock_of_thread() - begun;
}

/* The amount of work that takes that time. */
static size_t amount_of_work(uint64_t time)
{
    size_t amount = 0;
    for (uint64_t begun = os_clock_of_thread(); os_clock_of_thread() - begun < time;
         amount++)
        work_a_little();
    return amount;
}

static int open_clock(enum record_stacks stacks)
{
    bool chains = stacks == RECORD_STACKS_FP || stacks == RECORD_STACKS_AUTO;
    struct perf_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = PERF_ATTR_SIZE,
        .config = PERF_SOFTWARE_CPU_CLOCK,
        .period = PERIOD_MEASURED,
        .sample_type = PERF_SAMPLE_IP | (chains ? PERF_SAMPLE_CALLCHAIN : 0),
        .flags = PERF_FLAG_DISABLED | PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV,
    };
    return os_perf_open(&attr, 0, OS_ANY_CPU);
}

/* What a sample takes, in ns: the least of some rounds, because another program may take the CPU
 * meanwhile; 0 if it is unknown. */
static uint64_t time_of_sample(enum record_stacks stacks, struct effort effort)
{
    int counter = open_clock(stacks);
    if (counter < 0)
        return 0;
    size_t amount = amount_of_work(effort.work);
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t without = time_of(amount, -1, 0);
        uint64_t with = time_of(amount, counter, effort.samples);
        uint64_t each = with > without ? (with - without) / (uint64_t)effort.samples : 0;
        least = each < least ? each : least;
    }
    close(counter);
    return least;
}

/* The kernel refuses higher rates than record_rate_most. */
static bool is_fast(uint32_t rate, uint64_t period, uint32_t limit)
{
    return rate ? rate > limit && rate <= record_rate_most()
                : period && period < SECOND / limit;
}

static void limit_to(uint32_t *rate, uint64_t *period, uint32_t limit)
{
    if (*rate)
        *rate = limit;
    else
        *period = SECOND / limit;
}

/* Whether the event is a clock that is faster than the limit, by its own pace or that of all. */
static bool event_is_fast(const struct perf_sampler_settings *set,
                          const struct record_event *e, uint32_t limit)
{
    bool own = e->rate || e->period;
    return is_clock(e) &&
           is_fast(own ? e->rate : set->rate, own ? e->period : set->period, limit);
}

static bool some_are_fast(const struct perf_sampler_settings *set, uint32_t limit)
{
    for (size_t i = 0; i < set->events.count; i++)
        if (event_is_fast(set, &set->events.items[i], limit))
            return true;
    return false;
}

uint32_t record_limit_clocks(struct perf_sampler_settings *set)
{
    uint32_t percent = percent_allowed();
    if (!percent || !some_are_fast(set, RATE_HARMLESS))
        return 0;
    uint64_t each = time_of_sample(set->stacks, exact);
    uint64_t most = each ? SECOND / 100 * percent / each : UINT32_MAX;
    uint32_t limit = most < RATE_HARMLESS ? RATE_HARMLESS
                     : most > UINT32_MAX  ? UINT32_MAX
                                          : (uint32_t)most;
    if (!some_are_fast(set, limit))
        return 0;
    for (size_t i = 0; i < set->events.count; i++) {
        struct record_event *e = &set->events.items[i];
        if (!event_is_fast(set, e, limit))
            continue;
        if (!e->rate && !e->period)
            e->rate = set->rate, e->period = set->period;
        limit_to(&e->rate, &e->period, limit);
    }
    return limit;
}

uint32_t record_cheap_rate(enum record_stacks stacks)
{
    uint64_t each = time_of_sample(stacks, quick);
    uint32_t most = record_rate_most();
    const uint32_t *rate = cheap_rates;
    const uint32_t *last = rate + sizeof cheap_rates / sizeof *cheap_rates - 1;
    while (rate < last &&
           (!each || *rate > most || *rate * (each + HANDLING) > CHEAP_TIME))
        rate++;
    return *rate;
}
