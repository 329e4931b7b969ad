/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that the kernel counts (os/stack_counts.h): the event source --bpf. perf_sampler
 * opens the counters and attaches the program to them; this file turns the counts into
 * records: one sample for each time that a stack was counted.
 *
 * A stack that was counted several times between two reads gives as many samples, evenly
 * spaced between the first and the last time. Drain perf_sampler first, so that processes and
 * mappings are known by then. */
#ifndef STOKE_RECORD_BPF_SAMPLER_H
#define STOKE_RECORD_BPF_SAMPLER_H

#include "os/stack_counts.h"
#include "record/perf_sampler.h"

#define BPF_SAMPLER_ROOM 16384 /* different stacks at most, between two reads */

struct bpf_sampler {
    struct os_stack_counts counts;
    const struct record_layout *layout;
    const struct record_sink *to; /* during a drain */
    uint64_t lost;                /* reported so far */
    struct record_maker maker;
};

/* Whether the kernel can count stacks of the kind that the settings request. */
bool bpf_sampler_suits(const struct perf_sampler_settings *settings, struct error *err);

/* Loads the program, which the caller makes the settings' `program`. No stack is lost if
 * it is drained every `interval` ns. False if the program cannot be loaded; close it in any
 * case. */
bool bpf_sampler_open(struct bpf_sampler *s, const struct perf_sampler_settings *settings,
                      uint64_t interval, struct error *err);
void bpf_sampler_close(struct bpf_sampler *s); /* also if it is all zeros */

/* Gives what was counted since the last time, and ends a round. */
bool bpf_sampler_drain(struct bpf_sampler *s, const struct record_sink *to,
                       struct error *err);

/* Gives the samples of one stack; for tests. */
void bpf_sampler_give(struct bpf_sampler *s, const struct stack_counts_key *key,
                      const struct stack_count *count);

#endif
