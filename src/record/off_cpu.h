/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that records where threads wait, and for how long: the event source --off-cpu.
 *
 * The kernel writes a sample with a stack whenever a thread leaves its CPU
 * (context-switches), and a SWITCH record when it leaves and when it returns; the first of
 * them says whether the thread was preempted. From these the stage makes one sample per
 * wait, of an event of its own, "off-cpu": the stack with which the thread left, the time
 * of its return, and the ns between as period. It consumes the records that it makes them
 * from. With the kernel's tracepoint sched:sched_waking (--wakers) it also passes on who
 * woke the thread up: a sample of the event "waker", with the waker's stack, before the
 * sample of the wait. With the tracepoints of futex(2) (--locks), waits for locks have the address
 * and the name of the lock, and a sample of the event "lock-holder" has the stack of the
 * thread that released it (locks.h). With the program os/wait_files.h (--io), waits for files have
 * the names of the file and of its device (wait_files.h).
 *
 * It processes the records of a round when the round ends: stacks come later than other
 * records, because they are unwound in batches. Memory grows with the number of threads
 * that wait; the stage holds one stack for each. */
#ifndef STOKE_RECORD_OFF_CPU_H
#define STOKE_RECORD_OFF_CPU_H

#include "base/idmap.h"
#include "base/output.h"
#include "base/sort.h"
#include "record/locks.h"
#include "record/perf_features.h"
#include "record/record.h"
#include "record/wait_files.h"

/* A thread that waits: the sample of its wait, as far as it is known. */
struct off_cpu_wait {
    uint64_t since; /* ns; 0: only its sample came, it has not left its CPU yet */
    bool preempted; /* it was runnable */
    uint32_t file;  /* that it waits for (wait_files.h); or 0 */
    uint64_t file_time;
    size_t size, room;
    char bytes[];
};

/* A change of a thread's state in the current round. */
struct off_cpu_change {
    uint8_t kind; /* enum in off_cpu.c */
    bool preempted;
    uint32_t pid, tid;
    union {
        struct {
            size_t offset, size; /* of a sample, in `samples` */
        };
        struct {
            uint64_t address; /* arguments of futex */
            uint32_t operation;
        };
        uint32_t file; /* that it will wait for */
    };
};

struct off_cpu_counts {
    uint64_t waits; /* samples of waits */
    uint64_t nanoseconds;
    uint64_t without_stack;
    uint64_t wakers;  /* samples of wakers */
    uint64_t holders; /* of those that released a lock */
    uint64_t files;   /* of the waits: for a file */
};

/* Where the data of tracepoints have their fields. */
struct off_cpu_fields {
    size_t woken;              /* of sched_waking: the woken thread's id */
    size_t address, operation; /* of sys_enter_futex */
};

enum off_cpu_event {
    OFF_CPU_OTHER,
    OFF_CPU_SWITCHES,
    OFF_CPU_WAKINGS,
    OFF_CPU_BRIEF_WAKINGS, /* the same, with short stacks */
    OFF_CPU_CALLS,         /* of futex; its samples are those of holders */
    OFF_CPU_RETURNS,       /* from futex */
    OFF_CPU_FILES,         /* that threads wait for; it has no samples in the output */
    OFF_CPU_EVENTS
};

struct record_off_cpu {
    const struct record_layout *layout; /* of the input */
    struct record_sink next;
    struct arena arena;                 /* of the ids */
    struct idmap ids;                   /* ids of counters to enum off_cpu_event */
    uint64_t first_ids[OFF_CPU_EVENTS]; /* in the samples that the stage makes */
    struct off_cpu_fields fields;
    struct record_locks locks;
    struct record_wait_files files;
    uint32_t limit;                /* thread ids are below it */
    uint32_t highest;              /* and at most this */
    struct off_cpu_wait **waiting; /* by thread id; NULL: it runs, or is not known */
    struct output samples;         /* of the round */
    struct off_cpu_change *changes;
    struct sort_key *order;
    size_t count, cap, order_cap;
    bool failed; /* out of memory, and waits are missing */
    struct record_maker maker;
    struct off_cpu_counts counts;
};

/* Do not move it afterwards; deinit it in any case. */
bool record_off_cpu_init(struct record_off_cpu *o, const struct record_layout *layout,
                         struct record_sink next, struct error *err);
void record_off_cpu_deinit(struct record_off_cpu *o); /* accepts a zeroed struct */

/* Samples with these ids are of that event. The samples that the stage makes have the
 * first id of each event. */
void record_off_cpu_ids(struct record_off_cpu *o, enum off_cpu_event event,
                        const uint64_t *ids, size_t count);

struct record_sink record_off_cpu_sink(struct record_off_cpu *o);

/* Describes an event whose samples a source makes: it has one id and no counter. */
void record_off_cpu_describe(struct perf_file_event *e, const char *name);

/* After the last round: gives the waits of the threads that still wait, up to now. */
void record_off_cpu_end(struct record_off_cpu *o, uint64_t now);

#endif
