/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces wait_files.c if the build dependencies for eBPF are missing. */
#include "os/wait_files.h"

bool os_wait_files_open(struct os_wait_files *w, const struct os_task_filter *targets,
                        struct error *err)
{
    (void)targets;
    *w = (struct os_wait_files){.program = NULL};
    error_set(err, "this stoke was built without eBPF");
    return error_hint(err,
                      "install the dependencies with tools/deps bpf and build again");
}

void os_wait_files_close(struct os_wait_files *w)
{
    *w = (struct os_wait_files){.program = NULL};
}

bool os_wait_files_output(struct os_wait_files *w, uint32_t cpu, int fd,
                          struct error *err)
{
    (void)w, (void)cpu, (void)fd;
    return error_set(err, "this stoke was built without eBPF");
}
