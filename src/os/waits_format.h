/* SPDX-License-Identifier: Apache-2.0 */
/* Data structures shared by the eBPF program that finds long waits and this process. */
#ifndef STOKE_OS_WAITS_FORMAT_H
#define STOKE_OS_WAITS_FORMAT_H

#include <stdint.h>

#define WAITS_FRAMES 127    /* of each kind: kernel.perf_event_max_stack */
#define WAITS_CPUS 1024     /* at most */
#define WAITS_THREADS 32768 /* that are off their CPUs at the same time */

/* A wait that has ended. In the ring, only the frames that the counts cover follow the head:
 * first those of user code, then those of the kernel. */
struct waits_record {
    uint64_t time, length; /* of the end, in ns of CLOCK_MONOTONIC; ns */
    uint32_t pid, tid, cpu;
    uint16_t user_count, kernel_count;
    uint32_t is_preempted; /* the thread was runnable */
    uint64_t frames[2 * WAITS_FRAMES];
};

/* The fields of the kernel's structures that are used. */
struct waits_kernel {
    uint32_t task_thread, task_state;
};

/* Per-CPU data, each in a cache line of its own. */
struct waits_cpu {
    uint64_t count, length; /* of the waits that were written, and those that were not: */
    uint64_t lost, lost_length;
    uint64_t since; /* of the thread that this CPU switches to; 0: no long wait */
    uint64_t full;  /* threads for which there was no room */
    uint64_t unused[2];
};

#endif
