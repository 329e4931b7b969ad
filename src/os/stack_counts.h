/* SPDX-License-Identifier: Apache-2.0 */
/* Counts stacks in the kernel with an eBPF program (stack_counts.bpf.c), which runs at
 * each overflow of the counters it is attached to (os_perf_attach).
 *
 * The program reads no structures of the kernel, so it runs on every kernel that has
 * the helpers it calls (Linux 5.12), with or without BTF. */
#ifndef STOKE_OS_STACK_COUNTS_H
#define STOKE_OS_STACK_COUNTS_H

#include "base/error.h"
#include "os/stack_counts_format.h"
#include <stdbool.h>

struct os_stack_counts {
    void *program;              /* the skeleton; NULL: not open */
    int handle;                 /* descriptor of the program, for os_perf_attach */
    uint32_t cpus;              /* maximum number of CPUs */
    void *keys;                 /* buffers for one batch of keys, */
    struct stack_count *values; /* and their counts */
};

/* Loads the program, with room for `room` distinct stacks between two reads, or half of
 * that if all stacks are long. Returns false if stoke was built without eBPF, the
 * kernel does not support it, or the user lacks permission. Call os_stack_counts_close
 * in any case. */
bool os_stack_counts_open(struct os_stack_counts *c, uint32_t room, struct error *err);
void os_stack_counts_close(struct os_stack_counts *c); /* a zeroed struct is allowed */

/* Receives a stack. Only the frames that the key's counts cover may be read. */
typedef void stack_counts_each(void *context, const struct stack_counts_key *key,
                               const struct stack_count *count);

/* Passes on everything that was counted since the last call, and resets the counts.
 * Returns false if the kernel fails; no count is passed on twice. */
bool os_stack_counts_read(struct os_stack_counts *c, stack_counts_each *each,
                          void *context, struct error *err);

/* Number of stacks that were dropped because the maps were full, since the beginning. */
uint64_t os_stack_counts_lost(const struct os_stack_counts *c);

#endif
