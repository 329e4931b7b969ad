/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the eBPF program task_filter.bpf.c and the process that loads it share. */
#ifndef STOKE_OS_TASK_FILTER_FORMAT_H
#define STOKE_OS_TASK_FILTER_FORMAT_H

#include <stdint.h>

/* A bit for each thread id: PID_MAX_LIMIT of Linux on 64-bit machines. */
#define TASK_FILTER_TIDS ((uint32_t)1 << 22)
#define TASK_FILTER_WORDS (TASK_FILTER_TIDS / 64)

#define TASK_FILTER_CPUS 1024

/* Wake-ups with whole stacks on a CPU in a span of time: the others have short ones. A thread that
 * ends its process, or that wakes all waiters of a lock, wakes thousands in a millisecond in which
 * no other program can run: whole stacks of all would not fit into a ring. */
#define TASK_FILTER_WHOLE 32
#define TASK_FILTER_SPAN 10000000 /* ns */

/* Where the kernel's structures have their fields. */
struct task_filter_kernel {
    uint32_t task_thread, task_process; /* ids in task_struct */
    uint32_t waking_thread;             /* in the data of sched_waking: who is woken up */
};

#endif
