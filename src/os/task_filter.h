/* SPDX-License-Identifier: Apache-2.0 */
/* Filters samples and wake-ups of all threads in the kernel, with an eBPF program
 * (task_filter.bpf.c): only those of the targets, and of the tasks that they start, are written
 * to the rings. It needs a kernel with type information (BTF) and CAP_BPF. */
#ifndef STOKE_OS_TASK_FILTER_H
#define STOKE_OS_TASK_FILTER_H

#include "base/error.h"
#include "os/task_filter_format.h"
#include <stdbool.h>

struct os_task_filter {
    void *program;         /* the skeleton; NULL: not open */
    int handle;            /* descriptor of the program, for os_perf_attach */
    void *forks, *wakings; /* links to the kernel's tracepoints */
    uint64_t *targets;     /* a bit for each thread id */
};

/* Loads the program; nothing is a target yet. `inherit`: tasks that targets start become
 * targets. False if stoke was built without eBPF, the kernel does not support it, or the user
 * lacks permission. Call os_task_filter_close in any case. */
bool os_task_filter_open(struct os_task_filter *f, bool inherit, struct error *err);
void os_task_filter_close(struct os_task_filter *f); /* a zeroed struct is allowed */

void os_task_filter_add(struct os_task_filter *f, uint32_t tid);
void os_task_filter_add_all(struct os_task_filter *f);

/* The map of the targets, for other programs. */
int os_task_filter_targets(const struct os_task_filter *f);

/* The program that runs at the samples of targets, after the filter. 0: none. */
bool os_task_filter_chain(struct os_task_filter *f, int program);

/* Writes each wake-up of a target to an open counter of the CPU, an event of the kind
 * PERF_SOFTWARE_BPF_OUTPUT. The raw data of its samples is the id of the thread, 32 bits. Each CPU
 * has two: `brief` is the counter for those beyond TASK_FILTER_WHOLE, and has short stacks. */
bool os_task_filter_output(struct os_task_filter *f, uint32_t cpu, bool brief, int fd,
                           struct error *err);

#endif
