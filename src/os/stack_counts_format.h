/* SPDX-License-Identifier: Apache-2.0 */
/* Data structures shared by the eBPF program that counts stacks and this process. */
#ifndef STOKE_OS_STACK_COUNTS_FORMAT_H
#define STOKE_OS_STACK_COUNTS_FORMAT_H

#include <stdint.h>

#define STACK_COUNTS_FRAMES 127 /* of each kind: kernel.perf_event_max_stack */
#define STACK_COUNTS_CPUS 1024

/* Thread, CPU and stack: the user frames, then the kernel frames; the rest is 0. */
struct stack_counts_key {
    uint32_t pid, tid, cpu;
    uint16_t user_count, kernel_count;
    uint64_t frames[2 * STACK_COUNTS_FRAMES];
};

/* Most stacks are short. They use keys of this size in separate maps, so that much less
 * is hashed, compared and copied. */
#define STACK_COUNTS_SHORT 62
#define STACK_COUNTS_SHORT_KEY (16 + 8 * STACK_COUNTS_SHORT)

/* Number of samples, the sum of their periods, and the times of the first and the last,
 * in ns of CLOCK_MONOTONIC. */
struct stack_count {
    uint64_t count, period, first, last;
};

/* Per-CPU data, each in a cache line of its own. */
struct stack_counts_cpu {
    uint64_t counting; /* 1 while the program runs on this CPU */
    uint64_t lost;     /* stacks for which there was no room */
    uint64_t unused[6];
};

#endif
