/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that passes only the samples of the targets and of what they start, if
 * counters of all threads take the samples (perf_sampler.h, of_cpus). It comes before
 * all other stages.
 *
 * Counters of the targets report forks, names and exits of targets only, in the order of time.
 * So each thread that is forked or named in a record is a target, until it has exited. */
#ifndef STOKE_RECORD_DESCENT_H
#define STOKE_RECORD_DESCENT_H

#include "record/perf_sampler.h"

struct record_descent {
    const struct record_layout *layout;
    struct record_sink next;
    uint64_t *is_target; /* a bit for each thread id that Linux can give */
    uint64_t
        *has_exited; /* the same: they remain targets until the end of the round, since */
    uint32_t *exited; /* the kernel still works for a thread after its EXIT record */
    size_t exited_count, exited_cap;
    uint64_t *ids; /* of counters whose samples all pass, ascending */
    size_t id_count;
    uint64_t removed; /* samples of other threads */
};

/* The sampler is open; neither it nor the stage may be moved. False if out of memory. */
bool record_descent_init(struct record_descent *d, const struct perf_sampler *sampler,
                         struct record_sink next, struct error *err);
void record_descent_deinit(struct record_descent *d); /* also if it is all zeros */

struct record_sink record_descent_sink(struct record_descent *d);

#endif
