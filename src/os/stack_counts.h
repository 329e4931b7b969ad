/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that the kernel counts by itself, by an eBPF program (stack_counts.bpf.c) that
 * runs at each overflow of the counters it is attached to (os_perf_attach).
 *
 * The program reads nothing of the kernel's own structures, so it runs on every kernel
 * that has what it calls (Linux 5.12), with or without BTF. */
#ifndef STOKE_OS_STACK_COUNTS_H
#define STOKE_OS_STACK_COUNTS_H

#include "base/error.h"
#include "os/stack_counts_format.h"
#include <stdbool.h>

struct os_stack_counts {
    void *program;              /* the skeleton; NULL: not open */
    int handle;                 /* of the program, for os_perf_attach */
    uint32_t cpus;              /* there can be at most */
    void *keys;                 /* that were read, so many at a time, */
    struct stack_count *values; /* and their counts */
};

/* Loads the program, with room for so many different stacks between two reads, or half of
 * them where all are long. False
 * where stoke was built without it, the kernel has no such programs, or the user may not.
 * Close it in any case. */
bool os_stack_counts_open(struct os_stack_counts *c, uint32_t room, struct error *err);
void os_stack_counts_close(struct os_stack_counts *c); /* also of one that is all zeros */

/* Of a key only its frames, as many as there are, may be read. */
typedef void stack_counts_each(void *context, const struct stack_counts_key *key,
                               const struct stack_count *count);

/* Gives all that was counted since the last time; from then on it is counted anew. False
 * where the kernel does not give it: nothing is given twice. */
bool os_stack_counts_read(struct os_stack_counts *c, stack_counts_each *each,
                          void *context, struct error *err);

/* How many stacks there was no room for, since the beginning. */
uint64_t os_stack_counts_lost(const struct os_stack_counts *c);

#endif
