/* SPDX-License-Identifier: Apache-2.0 */
/* Data structures shared by the eBPF program that walks interpreted stacks and this process. */
#ifndef STOKE_OS_INTERPRETER_STACKS_FORMAT_H
#define STOKE_OS_INTERPRETER_STACKS_FORMAT_H

#include "base/interpreter_walk.h"

/* The frames of one record must fit into the largest per-CPU map value (32 kB). */
#define INTERPRETER_STACKS_FRAMES 1950
#define INTERPRETER_STACKS_CPUS 1024

/* What the program knows about a process. */
enum interpreter_stacks_state {
    INTERPRETER_STACKS_UNKNOWN, /* announced; or without an interpreter until now */
    INTERPRETER_STACKS_KNOWN,
};

struct interpreter_stacks_process {
    uint64_t memory; /* identifies the address space: another one means exec;
                        0: not known yet */
    uint64_t retry;  /* UNKNOWN: announce the process again after this time, ns */
    uint64_t state;  /* enum interpreter_stacks_state */
    struct interpreter_walk walk;
};

/* The kinds of records. */
enum interpreter_stacks_kind {
    INTERPRETER_STACKS_ANNOUNCE, /* a process that the program does not know */
    INTERPRETER_STACKS_STACK,
};

enum interpreter_stacks_end {
    INTERPRETER_STACKS_WHOLE,
    INTERPRETER_STACKS_TRUNCATED,
    INTERPRETER_STACKS_TORN,      /* memory was not readable */
    INTERPRETER_STACKS_NO_THREAD, /* the runtime does not know the thread */
};

/* A record; `count` frames follow, leaf first. */
struct interpreter_stacks_record {
    uint32_t kind, cpu, pid, tid;
    uint64_t time; /* ns of CLOCK_MONOTONIC, when the stack was read */
    uint64_t ip;   /* of the sample */
    uint64_t memory;
    uint32_t count, end;
};

/* Where the kernel's task_struct has its fields. */
struct interpreter_stacks_kernel {
    uint32_t task_memory;         /* identifies the address space */
    uint32_t task_thread_pointer; /* of x86-64: fs base */
};

/* Per-CPU data, each in a cache line of its own. */
struct interpreter_stacks_cpu {
    uint64_t lost; /* records for which there was no room */
    uint64_t unused[7];
};

#endif
