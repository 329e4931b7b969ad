/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorder reports about a recording, while it runs and at its end: numbers and
 * names for others to put into words. Texts are valid as long as the session exists. */
#ifndef STOKE_RECORD_REPORT_H
#define STOKE_RECORD_REPORT_H

#include "model/unwind_gaps.h"
#include "record/event_source.h"
#include "record/losses.h"

/* Stacks that the recorder unwound, and those that are not whole, by reason. */
struct record_stack_report {
    uint64_t unwound;
    uint64_t
        short_dumps; /* truncated: the dump was too short, or there were too many frames */
    uint64_t switched; /* truncated: the callers are on another stack, not in the dump */
    uint64_t no_unwind_information;
    struct unwind_gaps unwind_gaps; /* these, by file */
    uint64_t jit_named; /* end in a JIT's code whose perf map is in the recording */
    uint64_t
        jit_left_out; /* the same, but the recording is a stream, which has no maps */
    uint64_t unknown_code; /* end in code of no file, without a perf map */
    uint64_t java_unnamed; /* JVMs that did not name the code that they compiled, */
    const char *java_why;  /* and the reason of one */
    uint64_t deep;         /* as many frames as the kernel unwinds at most, which is */
    uint64_t frames_most;
    enum record_stacks kind;
    uint32_t dump_size;
};

/* The files of a recording that exist. */
struct record_file_report {
    const char *path;        /* the last one */
    const char *base;        /* as requested: of FILE.1, FILE.2, ...; or NULL */
    uint64_t samples, bytes; /* in all of them */
    uint32_t first, last;    /* numbers; last 0: the file has none */
    size_t retired;          /* files of an earlier recording, now FILE.N.old */
    bool rotated, snapshots;
};

struct record_report {
    const char *event;  /* the first one */
    size_t event_count; /* as requested, without those of event sources */
    bool user_only;     /* the first event excludes the kernel */
    uint64_t samples;   /* passed to the output, with those of event sources */
    uint64_t bytes;     /* written so far */
    uint64_t lost, throttled;
    struct record_losses losses; /* `lost` by cause */
    uint64_t idle;               /* samples of CPUs without work */
    uint64_t first, last;        /* times of samples, ns */
    uint64_t duration;           /* ns since the start, or of the whole recording */
    size_t cpus;                 /* that are recorded */
    bool kernel_hidden;          /* the system does not show kernel addresses */
    struct record_stack_report stacks;
    struct record_file_report files;
    struct event_source_report sources[EVENT_SOURCE_COUNT];

    const char *command; /* that the recorder started; or NULL */
    int64_t command_pid;
    int command_status;   /* as a shell reports it, once the command has ended */
    bool command_stopped; /* it still ran at the end, and was asked to end */

    /* The CPU time that the targets used, ns, of user code only if the event is; and the samples
     * per second of it. 0: not known, or the samples are not of all of it. */
    uint64_t used_time;
    uint32_t used_rate;
    bool
        undersampled; /* less of it was sampled, by more than chance and losses explain */
    bool
        of_cpus; /* by counters of CPUs (perf_sampler.h), or the machine or a group is recorded */
};

#endif
