/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces interpreter_stacks.c if the build dependencies for eBPF are missing. */
#include "os/interpreter_stacks.h"

bool os_interpreter_stacks_open(struct os_interpreter_stacks *s,
                                const struct os_interpreter_stacks_settings *settings,
                                interpreter_stacks_each *each, void *context,
                                struct error *err)
{
    (void)settings;
    *s = (struct os_interpreter_stacks){.each = each, .context = context, .records = -1};
    error_set(err, "this stoke was built without eBPF");
    return error_hint(err,
                      "install the dependencies with tools/deps bpf and build again");
}

void os_interpreter_stacks_close(struct os_interpreter_stacks *s)
{
    *s = (struct os_interpreter_stacks){.records = -1};
}

void os_interpreter_stacks_read(struct os_interpreter_stacks *s)
{
    (void)s;
}

void os_interpreter_stacks_set(struct os_interpreter_stacks *s, uint32_t pid,
                               const struct interpreter_stacks_process *process)
{
    (void)s, (void)pid, (void)process;
}

uint64_t os_interpreter_stacks_lost(const struct os_interpreter_stacks *s)
{
    (void)s;
    return 0;
}
