/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon may cost. Its cost depends on the rate of sampling, which is lowered until the
 * cost is in the budget, and raised again when there is room. */
#ifndef STOKE_DAEMON_BUDGET_H
#define STOKE_DAEMON_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct daemon_limits {
    double cpu;      /* cores: 0.005 is half a percent of one; 0: no limit */
    uint64_t memory; /* resident bytes; 0: no limit */
};

/* What it has used. */
struct daemon_cost {
    uint64_t time;   /* ns of the monotonic clock */
    uint64_t cpu;    /* ns, since it started */
    uint64_t memory; /* resident bytes now */
};

struct daemon_budget {
    struct daemon_limits limits;
    uint32_t requested; /* samples per second and CPU, when there is room */
    uint32_t rate;      /* now */
    /* Private. */
    struct daemon_cost before;
    double cpu;      /* cores, a mean of the last times */
    unsigned checks; /* since the rate was changed */
};

void daemon_budget_init(struct daemon_budget *b, const struct daemon_limits *limits,
                        uint32_t rate);

/* Checks the cost, at the end of each window. Returns whether b->rate has changed. */
bool daemon_budget_check(struct daemon_budget *b, const struct daemon_cost *now);

/* What was sampled now at another rate does not count. */
void daemon_budget_skip(struct daemon_budget *b);

/* Whether nothing is lowered, and there is memory. */
bool daemon_budget_has_room(const struct daemon_budget *b, const struct daemon_cost *now);

/* The cost of this process. */
struct daemon_cost daemon_cost_now(void);

#endif
