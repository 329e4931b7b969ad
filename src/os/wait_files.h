/* SPDX-License-Identifier: Apache-2.0 */
/* Writes which open file a thread waits for to a counter, with an eBPF program
 * (wait_files.bpf.c). It needs Linux 5.15 with type information (BTF), CAP_BPF and
 * CAP_PERFMON. */
#ifndef STOKE_OS_WAIT_FILES_H
#define STOKE_OS_WAIT_FILES_H

#include "os/task_filter.h"
#include "os/wait_files_format.h"

struct os_wait_files {
    void *program; /* the skeleton; NULL: not open */
    void *link;    /* to the kernel's tracepoint */
};

/* Loads the program. `targets`: only of the targets of this filter, which is open; NULL: of all
 * threads. Call os_wait_files_close in any case. */
bool os_wait_files_open(struct os_wait_files *w, const struct os_task_filter *targets,
                        struct error *err);
void os_wait_files_close(struct os_wait_files *w); /* a zeroed struct is allowed */

/* Writes the files of waits that begin on the CPU to this open counter, an event of the kind
 * PERF_SOFTWARE_BPF_OUTPUT. The raw data of its samples is a struct wait_file. */
bool os_wait_files_output(struct os_wait_files *w, uint32_t cpu, int fd,
                          struct error *err);

#endif
