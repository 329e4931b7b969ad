/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces task_filter.c if the build dependencies for eBPF are missing. */
#include "os/task_filter.h"

bool os_task_filter_open(struct os_task_filter *f, bool inherit, struct error *err)
{
    (void)inherit;
    *f = (struct os_task_filter){.program = NULL};
    error_set(err, "this stoke was built without eBPF");
    return error_hint(err,
                      "install the dependencies with tools/deps bpf and build again");
}

void os_task_filter_close(struct os_task_filter *f)
{
    *f = (struct os_task_filter){.program = NULL};
}

void os_task_filter_add(struct os_task_filter *f, uint32_t tid)
{
    (void)f, (void)tid;
}

void os_task_filter_add_all(struct os_task_filter *f)
{
    (void)f;
}

int os_task_filter_targets(const struct os_task_filter *f)
{
    (void)f;
    return -1;
}

bool os_task_filter_chain(struct os_task_filter *f, int program)
{
    (void)f, (void)program;
    return false;
}

bool os_task_filter_output(struct os_task_filter *f, uint32_t cpu, bool brief, int fd,
                           struct error *err)
{
    (void)f, (void)cpu, (void)brief, (void)fd;
    return error_set(err, "this stoke was built without eBPF");
}
