/* SPDX-License-Identifier: Apache-2.0 */
#include "record/jitter.h"
#include "os/machine.h"
#include "os/perf_event.h"

#define SECOND ((uint64_t)1000000000) /* ns */

/* A linear congruential generator (Knuth, MMIX): good enough for periods. */
static uint32_t next_random(struct record_jitter *j)
{
    if (!j->random && !os_random(&j->random, sizeof j->random))
        j->random = os_clock_monotonic();
    j->random = j->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(j->random >> 32);
}

void record_jitter_next(struct record_jitter *j)
{
    double from_0_to_1 = next_random(j) / 4294967296.0;
    double varied = JITTER_PERCENT / 100.0 * (2 * from_0_to_1 - 1);
    j->difference = j->is_second ? -j->difference : varied;
    j->is_second = !j->is_second;
}

/* A clock whose period follows from a rate: a period that the user requested is left as it is. */
static bool is_varied(const struct perf_attr *attr)
{
    return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_SOFTWARE_CPU_CLOCK &&
           attr->flags & PERF_FLAG_FREQUENCY && attr->period;
}

/* The time of JITTER_SAMPLES of the slowest clock that is varied; 0: there is none. */
static uint64_t change_clocks(const struct record_jitter *j, const struct perf_sampler *s)
{
    uint64_t slowest = 0;
    for (size_t i = 0; i < s->counter_count; i++) {
        const struct perf_attr *attr = &s->attrs[s->counters[i].event];
        if (s->counters[i].tid != OS_ANY_THREAD || !is_varied(attr))
            continue;
        uint64_t time = SECOND * JITTER_SAMPLES / attr->period;
        slowest = time > slowest ? time : slowest;
        double rate = (double)attr->period * (1 + j->difference);
        if (j->due)
            os_perf_restart(s->counters[i].fd, (uint64_t)((double)SECOND / rate));
    }
    return slowest;
}

void record_jitter_turn(struct record_jitter *j, const struct perf_sampler *s,
                        uint64_t now)
{
    if (now < j->due || s->settings->regular)
        return;
    if (j->due)
        record_jitter_next(j);
    uint64_t slowest = change_clocks(j, s);
    j->due = now + (slowest ? slowest : SECOND);
}
