/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the stacks of interpreted programs at each sample with an eBPF program
 * (interpreter_stacks.bpf.c), which runs before the sample is written.
 *
 * The program announces a process at its first sample. The caller recognises the runtime and
 * passes its layout to the program (os_interpreter_stacks_set).
 *
 * Needs Linux 5.17 with BTF. */
#ifndef STOKE_OS_INTERPRETER_STACKS_H
#define STOKE_OS_INTERPRETER_STACKS_H

#include "base/error.h"
#include "os/interpreter_stacks_format.h"
#include <stdbool.h>
#include <stddef.h>

/* Receives a record, whose frames follow it. Valid during the call. */
typedef void interpreter_stacks_each(void *context,
                                     const struct interpreter_stacks_record *record,
                                     const struct interpreter_walk_frame *frames);

struct os_interpreter_stacks {
    void *program; /* the skeleton; NULL: not open */
    void *ring;
    int handle;  /* descriptor of the program, for os_perf_attach */
    int records; /* readable when there are records that should be read immediately */
    interpreter_stacks_each *each;
    void *context;
};

struct os_interpreter_stacks_settings {
    uint32_t room; /* bytes for records: a power of 2, at least 64 KiB; resident */

    /* Announce a process at its second sample: many have no more than one. */
    bool announce_second;
};

/* Loads the program. False if stoke was built without eBPF, the kernel does not support it, or
 * the user lacks permission. Must not be moved. Close it in any case. */
bool os_interpreter_stacks_open(struct os_interpreter_stacks *s,
                                const struct os_interpreter_stacks_settings *settings,
                                interpreter_stacks_each *each, void *context,
                                struct error *err);
void os_interpreter_stacks_close(struct os_interpreter_stacks *s); /* or all zeros */

/* Gives all records to `each`. */
void os_interpreter_stacks_read(struct os_interpreter_stacks *s);

/* Sets what the program knows about a process. */
void os_interpreter_stacks_set(struct os_interpreter_stacks *s, uint32_t pid,
                               const struct interpreter_stacks_process *process);

/* Records for which there was no room, since the beginning. */
uint64_t os_interpreter_stacks_lost(const struct os_interpreter_stacks *s);

#endif
