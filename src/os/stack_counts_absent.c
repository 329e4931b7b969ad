/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces stack_counts.c if the build dependencies for eBPF are missing. */
#include "os/stack_counts.h"

bool os_stack_counts_open(struct os_stack_counts *c, uint32_t room, struct error *err)
{
    (void)room;
    *c = (struct os_stack_counts){0};
    error_set(err, "this stoke was built without eBPF");
    return error_hint(err,
                      "install the dependencies with tools/deps bpf and build again");
}

void os_stack_counts_close(struct os_stack_counts *c)
{
    *c = (struct os_stack_counts){0};
}

bool os_stack_counts_read(struct os_stack_counts *c, stack_counts_each *each,
                          void *context, struct error *err)
{
    (void)c, (void)each, (void)context;
    return error_set(err, "this stoke was built without eBPF");
}

uint64_t os_stack_counts_lost(const struct os_stack_counts *c)
{
    (void)c;
    return 0;
}
