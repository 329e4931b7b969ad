/* SPDX-License-Identifier: Apache-2.0 */
/* What stoke top has seen: samples as they come, added up by stack, and made a profile of
 * each time something is to be shown.
 *
 * Memory does not grow with time: old samples lose weight with each look (or go at once),
 * and go when next to nothing is left; and where too much is known of programs that are
 * no more, the reader begins anew. */
#ifndef STOKE_CLI_TOP_DATA_H
#define STOKE_CLI_TOP_DATA_H

#include "import/perf_data/profile.h"
#include "model/builder.h"

struct top_data {
    struct perf_profile *reader; /* under way; NULL: no sample came yet */
    struct builder raw;          /* stacks of the reader's places */
    bool ready;                  /* raw is */
    bool zero;                   /* nothing is kept from look to look */
    bool wants_idle;             /* what CPUs do that have nothing to do */
    bool failed;                 /* memory was short */
    double largest;              /* weight of a sample */
    uint64_t taken, idle;        /* samples, since the last look */
    uint64_t last;               /* when the latest of all was taken */
    struct profile *shown;       /* of the last look; or NULL */
    uint64_t shown_taken, shown_idle;
};

/* The reader gives its samples to this one. */
struct perf_taker top_data_taker(struct top_data *d);

/* Makes d->shown of what there is now, and lets the old lose weight. False when memory is
 * short. */
bool top_data_look(struct top_data *d, struct error *err);

/* Whether the reader knows so much that it should begin anew. */
bool top_data_is_full(const struct top_data *d);

/* Forgets all that was counted. */
void top_data_forget(struct top_data *d);

/* The same, and the reader, which has come to its end. */
void top_data_clear(struct top_data *d);

void top_data_deinit(struct top_data *d); /* also of one that is all 0 */

#endif
