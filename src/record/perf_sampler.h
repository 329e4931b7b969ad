/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler of the kernel's counters (perf_event_open): opens them on whom is to be
 * recorded, and gives what they tell, merged from the rings of all CPUs in the order of
 * time.
 *
 * To add another sampler (as bpf_sampler is one): its own files with open, drain, close,
 * the struct beside this one in record_session, and its drain behind this one's in
 * session.c. It makes records with record_begin..record_end_bare, by the session's
 * layout, and gives them to the same sink. Forks, names and maps come from this sampler,
 * which then has a dummy event that samples nothing. */
#ifndef STOKE_RECORD_PERF_SAMPLER_H
#define STOKE_RECORD_PERF_SAMPLER_H

#include "os/perf_event.h"
#include "os/wait.h"
#include "record/event.h"
#include "record/record.h"

/* How stacks are taken. */
enum record_stacks {
    RECORD_STACKS_NONE,
    RECORD_STACKS_FP,    /* frame pointers, followed by the kernel */
    RECORD_STACKS_DWARF, /* registers and a dump of the stack */
    RECORD_STACKS_LBR,   /* the processor's own record of calls */
    RECORD_STACKS_AUTO,  /* frame pointers and a dump: what is right will be seen */
};

/* Whether dumps of stacks are taken. */
static inline bool record_stacks_dumped(enum record_stacks stacks)
{
    return stacks == RECORD_STACKS_DWARF || stacks == RECORD_STACKS_AUTO;
}

/* Whom to record. */
struct record_targets {
    bool everyone;        /* all that runs on the CPUs */
    int cgroup;           /* of them, those in this control group, open; 0: any */
    const uint32_t *cpus; /* NULL: all that are online, those to come, too */
    size_t cpu_count;
    const uint32_t *tids; /* else these threads, and all that they begin */
    size_t tid_count;
    bool alone;     /* not what they begin */
    bool from_exec; /* they are counted once they execute another program */
};

struct perf_sampler_settings {
    struct record_events events;
    struct record_targets targets;
    enum record_stacks stacks;
    uint64_t more_fields; /* PERF_SAMPLE_* that samples have besides: RAW */
    uint32_t dump_size;   /* of a stack, where one is taken: a multiple of 8 */
    uint32_t rate;        /* samples a second; 0: every `period` */
    uint64_t period;
    const char *command; /* of stoke, as hints tell it; NULL: record */
    size_t ring_size;    /* of a CPU: a power of two; 0: what the rate needs */

    /* An eBPF program (bpf_sampler.h) that takes the samples of the one event: then the
     * rings tell of tasks alone. 0: there is none. */
    int program;
};

/* A counter that is open. */
struct perf_counter_open {
    int fd;
    uint32_t event, cpu;
    int64_t tid;
};

/* What a CPU's counters tell. */
struct perf_sampler_ring {
    struct os_perf_ring ring;
    uint32_t cpu;
    int fd;             /* of the counter that has it, */
    uint64_t enabled;   /* which had counted for so many ns */
    struct record next; /* of this pass */
};

struct perf_sampler {
    const struct perf_sampler_settings *settings;
    struct os_wait *wait;
    struct record_layout layout;
    struct perf_attr attrs[RECORD_EVENTS_MAX];
    struct perf_counter_open *counters;
    size_t counter_count, counter_cap;
    struct perf_sampler_ring *rings;
    size_t ring_count, ring_cap;
    uint32_t *heap; /* rings with something to give, the oldest first */
    size_t ring_size;
    uint64_t lost_by_closed; /* by counters of CPUs that have gone */
    uint32_t split;      /* groups, by bits, that this machine cannot count together */
    uint32_t refused;    /* the group of the event that was, for being in it; or 0 */
    bool locks_too_much; /* the rings are too large for this user */
    bool enabled;        /* until they are disabled, the counters may tell more */
};

/* Opens the counters, which do not count yet, and waits for what they tell. The settings
 * outlive the sampler. False, with what the user can do, where the kernel refuses. Close
 * it in any case. */
bool perf_sampler_open(struct perf_sampler *s,
                       const struct perf_sampler_settings *settings, struct os_wait *wait,
                       struct error *err);
void perf_sampler_close(struct perf_sampler *s); /* also of one that is all zeros */

/* Whether this machine has the event at all. */
bool perf_sampler_has(const struct record_event *event);

/* Whether this user may sample the kernel's code, too. */
bool perf_sampler_sees_kernel(const struct record_event *event);

/* Begins to count; what waits for an exec begins by itself. */
void perf_sampler_enable(struct perf_sampler *s);
void perf_sampler_disable(struct perf_sampler *s);

/* Gives all that was told up to now. */
void perf_sampler_drain(struct perf_sampler *s, const struct record_sink *to);

/* How many records the kernel could not write since the beginning; 0 where it cannot
 * tell. */
uint64_t perf_sampler_lost(const struct perf_sampler *s);

/* Takes in CPUs that have come, and lets those go that have gone, where all are recorded.
 * Gives how many came or went. */
unsigned perf_sampler_follow_cpus(struct perf_sampler *s);

/* How many events are counted together with this one, which leads them; 0: none. */
size_t perf_sampler_members(const struct perf_sampler *s, size_t event);

/* The ids of an event's counters, as its records have them, into `ids`, as far as there
 * is room; gives how many. */
size_t perf_sampler_ids(const struct perf_sampler *s, size_t event, uint64_t *ids,
                        size_t room);

#endif
