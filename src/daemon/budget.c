/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/budget.h"
#include "os/machine.h"

#define SHORT 400000000u /* ns: in a shorter time, the cost is noise */
#define SETTLED 2  /* checks: the first one after a change has the cost of the change */
#define WEIGHT 0.5 /* of the newest cost in the mean */
#define ROOM 0.7   /* of the budget: below, the rate may rise */
#define AIM 0.9    /* of the budget, when the rate is changed */
#define RISE 1.5   /* at most, at once */
#define FALL 0.25

void daemon_budget_init(struct daemon_budget *b, const struct daemon_limits *limits,
                        uint32_t rate)
{
    *b = (struct daemon_budget){.limits = *limits, .requested = rate, .rate = rate};
}

struct daemon_cost daemon_cost_now(void)
{
    return (struct daemon_cost){os_clock_monotonic(), os_own_cpu_time(), os_own_bytes()};
}

/* The part of the budget that is used. */
static double used(const struct daemon_budget *b, const struct daemon_cost *now)
{
    double cpu = b->limits.cpu > 0 ? b->cpu / b->limits.cpu : 0;
    double memory = b->limits.memory ? (double)now->memory / (double)b->limits.memory : 0;
    /* memory is released slowly: near the limit, the rate stays as it is */
    if (memory < cpu || memory <= 1)
        return memory > ROOM && cpu < ROOM ? ROOM : cpu;
    return memory;
}

static uint32_t better_rate(const struct daemon_budget *b, double part)
{
    double factor = part > AIM / RISE ? AIM / part : RISE;
    double rate = b->rate * (factor > FALL ? factor : FALL);
    if (factor > 1 && rate < b->rate + 1)
        rate = b->rate + 1;
    if (rate > b->requested)
        rate = b->requested;
    return rate > 1 ? (uint32_t)rate : 1;
}

/* The mean of the CPU time; false if there is none yet. */
static bool measure(struct daemon_budget *b, const struct daemon_cost *now)
{
    struct daemon_cost before = b->before;
    if (before.time && now->time - before.time < SHORT)
        return false;
    b->before = *now;
    b->checks++;
    if (!before.time || b->checks < SETTLED)
        return false;
    double cpu = (double)(now->cpu - before.cpu) / (double)(now->time - before.time);
    b->cpu = b->checks == SETTLED ? cpu : WEIGHT * cpu + (1 - WEIGHT) * b->cpu;
    return true;
}

bool daemon_budget_check(struct daemon_budget *b, const struct daemon_cost *now)
{
    if (!measure(b, now))
        return false;
    double part = used(b, now);
    if (part >= ROOM && part <= 1)
        return false;
    uint32_t rate = better_rate(b, part);
    if (rate == b->rate)
        return false;
    b->rate = rate;
    b->checks = 0;
    return true;
}

void daemon_budget_skip(struct daemon_budget *b)
{
    b->before.time = 0;
}

bool daemon_budget_has_room(const struct daemon_budget *b, const struct daemon_cost *now)
{
    return b->rate >= b->requested &&
           (!b->limits.memory || (double)now->memory < ROOM * (double)b->limits.memory);
}
