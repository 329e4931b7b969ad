/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that tells how long threads did not run, and where they waited.
 *
 * The kernel gives a sample with a stack whenever a thread leaves its CPU
 * (context-switches), says whether it could have gone on (SWITCH), and says when it is
 * back. Of these the stage makes one sample a wait, of an event of its own, "off-cpu":
 * the stack with which the thread left, the time at which it was back, and as period the
 * ns between. What it was made of goes no further. With the kernel's tracepoint
 * sched:sched_waking it hands on who woke it up, too: a sample of the event "waker",
 * with the waker's stack, in front of the sample of the wait.
 *
 * Records of a round are looked at when it is over: stacks come later than the rest, as
 * they are unwound many at a time. Memory grows with the threads that are away, and holds
 * a stack of each. */
#ifndef STOKE_RECORD_OFF_CPU_H
#define STOKE_RECORD_OFF_CPU_H

#include "base/idmap.h"
#include "base/output.h"
#include "base/sort.h"
#include "record/record.h"

/* A thread that is away: the sample of its wait, as far as it is known. */
struct off_cpu_away {
    uint64_t left;  /* when; 0: it has not left yet, only its sample came */
    bool preempted; /* it could have gone on */
    size_t size, room;
    char bytes[];
};

/* What happened in the round under way. */
struct off_cpu_happening {
    uint8_t what; /* enum in off_cpu.c */
    bool preempted;
    uint32_t pid, tid;
    size_t at, size; /* of a sample, in `samples` */
};

struct off_cpu_counts {
    uint64_t waits; /* samples of them */
    uint64_t nanoseconds;
    uint64_t without_stack;
    uint64_t wakers; /* samples of them */
};

struct record_off_cpu {
    const struct record_layout *layout; /* of the records that come */
    struct record_sink next;
    struct arena arena; /* of the ids */
    struct idmap ids;   /* of counters: which event theirs is, enum off_cpu_event */
    uint64_t off_cpu_id, waker_id; /* in the samples that are made */
    size_t woken_at;  /* in a tracepoint's own bytes: who is woken up; 0: not asked for */
    uint32_t limit;   /* threads' numbers are below it, */
    uint32_t highest; /* and not above it */
    struct off_cpu_away **away; /* by thread; NULL: it runs, or is not known */
    struct output samples;      /* of the round */
    struct off_cpu_happening *happened;
    struct sort_key *order;
    size_t count, cap;
    bool failed; /* memory was short, and waits are missing */
    struct record_maker maker;
    struct off_cpu_counts counts;
};

enum off_cpu_event { OFF_CPU_OTHER, OFF_CPU_SWITCHES, OFF_CPU_WAKINGS };

/* Not to be moved; deinit it in any case. */
bool record_off_cpu_init(struct record_off_cpu *o, const struct record_layout *layout,
                         struct record_sink next, struct error *err);
void record_off_cpu_deinit(struct record_off_cpu *o); /* also of one that is all 0 */

/* Says that samples with these ids are of that event. The first one's is in what is made
 * of them. */
void record_off_cpu_ids(struct record_off_cpu *o, enum off_cpu_event event,
                        const uint64_t *ids, size_t count);

struct record_sink record_off_cpu_sink(struct record_off_cpu *o);

/* Behind the last round: gives the waits of the threads that are still away, up to now.
 */
void record_off_cpu_end(struct record_off_cpu *o, uint64_t now);

/* What is said in the file of an event that samples are made of here. `attr` is what was
 * taken. */
void record_off_cpu_attr(struct perf_attr *attr);

#endif
