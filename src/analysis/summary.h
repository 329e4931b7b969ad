/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a profile in counts and shares, for users who received a file. */
#ifndef STOKE_ANALYSIS_SUMMARY_H
#define STOKE_ANALYSIS_SUMMARY_H

#include "model/profile.h"

/* The sum of some samples. */
struct tally {
    uint64_t samples;
    double weight;
};

struct summary {
    struct arena arena;
    struct tally *events; /* by event */

    /* All following members refer to one event, the one that views show first, because
     * samples may have values for several events. */
    event_id event;
    struct tally all;
    struct tally *threads, *modules; /* by id; of a module: the stacks that end in it */
    uint32_t *thread_order, *module_order; /* ids, the heaviest first */
    size_t thread_count, module_count;     /* those that have samples */
    struct tally *labels;                  /* by label; NULL: there are none */
    uint32_t *label_order;                 /* labels of samples, the heaviest first */
    size_t label_count;
    size_t process_count; /* of the threads whose process is known */
    size_t stacks;        /* distinct stacks */
    size_t functions;     /* distinct names in distinct modules */
    uint32_t deepest;     /* frames of the deepest stack */
    double unknown_leaf;  /* weight of stacks that end in a function without a name */
    double unknown_any;   /* weight of stacks with such a function anywhere */
};

/* False when out of memory. */
bool summary_init(struct summary *s, const struct profile *p, struct error *err);
void summary_deinit(struct summary *s);

#endif
