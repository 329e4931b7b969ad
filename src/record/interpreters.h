/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of interpreted programs in the samples: the event source "interpreters".
 *
 * An eBPF program (os/interpreter_stacks.h) reads the stack of the interpreter at each sample.
 * This stage names its frames as soon as it can, finds the sample that belongs to a stack by
 * CPU, thread and time, and merges both stacks (interpreter/merge.h). The form of the result
 * is perf/interpreted.h.
 *
 * A process that starts during the recording is announced at its first sample, which therefore
 * has no interpreted frames.
 *
 * Where eBPF is not possible, the stage reads the stack itself when it gets the sample
 * (record/stack_reading.h). Stacks that the thread changed meanwhile are discarded and counted,
 * and so are those that do not match the native frames. */
#ifndef STOKE_RECORD_INTERPRETERS_H
#define STOKE_RECORD_INTERPRETERS_H

#include "base/output.h"
#include "base/strings.h"
#include "interpreter/merge.h"
#include "os/interpreter_stacks.h"
#include "record/record.h"
#include "record/ring_copier.h"
#include "record/stack_reading.h"
#include "resolve/runtime.h"

struct interpreters_queue;
struct interpreters_process;

struct interpreters_counts {
    uint64_t merged;    /* samples with interpreted frames */
    uint64_t doubtful;  /* of them: the lists of frames did not match */
    uint64_t truncated; /* of them: more frames than the program walks */
    uint64_t torn;      /* stacks that were not consistent: not used */
    uint64_t missing;   /* samples of such processes without a stack */
    uint64_t late;      /* of them: the sample was too old to read the stack */
};

/* Processes that have ended and are described each; others are counted. */
#define INTERPRETERS_ENDED 256

struct record_interpreters {
    struct os_interpreter_stacks stacks;
    bool reads; /* this process reads the stacks, for the reason `why` */
    struct error why;
    struct record_stack_reading reading;
    size_t readable; /* processes with a runtime */
    uint64_t in_jit; /* samples in JIT code whose function is known */
    const struct record_layout *layout;
    struct record_sink next;
    struct ring_copier *copier;     /* of the samples; NULL until the counters are open */
    struct os_process_probe *probe; /* or NULL */
    struct interpreters_process **processes; /* by process id */
    uint32_t pid_limit, pid_end;             /* processes[pid_end ...] are not used */
    uint64_t created;                        /* processes so far */
    struct interpreters_queue *queues;       /* by CPU */
    uint32_t cpu_count;
    struct idmap counters;  /* by id: enum in interpreters.c; none for most */
    const char *only;       /* the interpreter that is read; NULL: all */
    bool by_frame_pointers; /* native stacks */
    bool of_cpus;           /* not all CPUs are recorded */
    struct runtimes runtimes;
    struct arena arena;
    struct strings paths; /* of functions: their ids are the numbers of the functions */
    /* of the sample being merged: */
    struct interpreter_stack stack;
    struct arena scratch;
    enum interpreter_native *roles;
    struct merged_frame *merged;
    uint64_t *addresses, *pcs;
    size_t role_cap, merged_cap, address_cap, pc_cap;
    struct record_maker maker, mapping;
    struct output ended; /* lines about processes that have ended */
    size_t ended_count;
};

/* Writes a line about each process with an interpreter: its version, the source of the offsets,
 * and what was read. */
void record_interpreters_put(const struct record_interpreters *s, struct output *out);

#endif
