/* SPDX-License-Identifier: Apache-2.0 */
/* What the eBPF program that counts stacks and this process share. */
#ifndef STOKE_OS_STACK_COUNTS_FORMAT_H
#define STOKE_OS_STACK_COUNTS_FORMAT_H

#include <stdint.h>

#define STACK_COUNTS_FRAMES 127 /* of a kind: kernel.perf_event_max_stack */
#define STACK_COUNTS_CPUS 1024

/* Whose stack, and the stack: the user's frames and behind them the kernel's; then 0. */
struct stack_counts_key {
    uint32_t pid, tid, cpu;
    uint16_t user_count, kernel_count;
    uint64_t frames[2 * STACK_COUNTS_FRAMES];
};

/* Most stacks are short, and have keys of this size in maps of their own: what is hashed,
 * compared and copied is then a fraction. */
#define STACK_COUNTS_SHORT 62
#define STACK_COUNTS_SHORT_KEY (16 + 8 * STACK_COUNTS_SHORT)

/* How often it was seen, how much of the event that is, and when: the first and the last
 * time, in ns of CLOCK_MONOTONIC. */
struct stack_count {
    uint64_t count, period, first, last;
};

/* A CPU's own, in a cache line of its own. */
struct stack_counts_cpu {
    uint64_t counting; /* 1 while the program runs there */
    uint64_t lost;     /* stacks for which there was no room */
    uint64_t unused[6];
};

#endif
