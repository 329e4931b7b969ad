/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler whose stacks the kernel counts (os/stack_counts.h): its counters are
 * perf_sampler's, which opens and attaches them; here what was counted is made records
 * of, a sample each time a stack was seen.
 *
 * A stack that was seen several times between two drains gives as many samples, at even
 * distances between the first and the last time. Whose code it is must be known by the
 * time: perf_sampler is drained first. */
#ifndef STOKE_RECORD_BPF_SAMPLER_H
#define STOKE_RECORD_BPF_SAMPLER_H

#include "os/stack_counts.h"
#include "record/perf_sampler.h"

#define BPF_SAMPLER_ROOM 16384 /* different stacks at most, between two drains */

struct bpf_sampler {
    struct os_stack_counts counts;
    const struct record_layout *layout;
    const struct record_sink *to; /* while it is drained */
    uint64_t lost_told;
    struct record_maker maker;
};

/* Whether such stacks as the settings ask for can be counted at all. */
bool bpf_sampler_suits(const struct perf_sampler_settings *settings, struct error *err);

/* Loads the program, which is then the settings' `program`. Drained every `interval` ns,
 * nothing is lost. False where it cannot be had; close it in any case. */
bool bpf_sampler_open(struct bpf_sampler *s, const struct perf_sampler_settings *settings,
                      uint64_t interval, struct error *err);
void bpf_sampler_close(struct bpf_sampler *s); /* also of one that is all zeros */

/* Gives all that was counted since the last time, and ends a round. */
bool bpf_sampler_drain(struct bpf_sampler *s, const struct record_sink *to,
                       struct error *err);

/* A stack that was counted, as samples; for tests. */
void bpf_sampler_give(struct bpf_sampler *s, const struct stack_counts_key *key,
                      const struct stack_count *count);

#endif
