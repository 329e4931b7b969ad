/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a profile: counts and shares, for people who were handed a file. */
#ifndef STOKE_ANALYSIS_SUMMARY_H
#define STOKE_ANALYSIS_SUMMARY_H

#include "model/profile.h"

/* What samples add up to. */
struct tally {
    uint64_t samples;
    double weight;
};

struct summary {
    struct arena arena;
    struct tally *events; /* by event */

    /* All below is of one event, the one that views show first, as samples may have
     * values for several. */
    event_id event;
    struct tally all;
    struct tally *threads, *modules; /* by id; a module's: of the stacks ending in it */
    uint32_t *thread_order, *module_order; /* ids, the heaviest first */
    size_t thread_count, module_count;     /* of those that have samples */
    size_t process_count;                  /* of the threads whose process is known */
    size_t stacks;                         /* distinct stacks */
    size_t functions;                      /* distinct names in distinct modules */
    uint32_t deepest;                      /* frames of the deepest stack */
    double unknown_leaf; /* weight of stacks that end in a function without a name */
    double unknown_any;  /* weight of stacks with such a function anywhere */
};

/* False when memory is short. */
bool summary_init(struct summary *s, const struct profile *p, struct error *err);
void summary_deinit(struct summary *s);

#endif
