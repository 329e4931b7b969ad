/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler of the kernel's counters (perf_event_open): opens them for the targets, and gives
 * their records, merged from the rings of all CPUs in the order of time. Every recording has it:
 * forks, names and mappings come from it. Other event sources: event_source.h. */
#ifndef STOKE_RECORD_PERF_SAMPLER_H
#define STOKE_RECORD_PERF_SAMPLER_H

#include "os/perf_event.h"
#include "os/task_filter.h"
#include "os/wait.h"
#include "os/wait_files.h"
#include "record/event.h"
#include "record/record.h"
#include "record/ring_copier.h"

/* How stacks are recorded. */
enum record_stacks {
    RECORD_STACKS_NONE,
    RECORD_STACKS_FP,    /* frame pointers, unwound by the kernel */
    RECORD_STACKS_DWARF, /* registers and a dump of the stack */
    RECORD_STACKS_LBR,   /* the processor's own record of calls */
    RECORD_STACKS_AUTO,  /* frame pointers and a dump: the unwinder chooses */
};

/* Whether samples contain stack dumps. */
static inline bool record_stacks_dumped(enum record_stacks stacks)
{
    return stacks == RECORD_STACKS_DWARF || stacks == RECORD_STACKS_AUTO;
}

/* Which processes, threads or CPUs are recorded. */
struct record_targets {
    bool everyone; /* all threads on the CPUs */
    int cgroup;    /* only those in this control group, an open file descriptor; 0: any */
    const uint32_t *cpus; /* NULL: all online CPUs, also those that come online later */
    size_t cpu_count;
    const uint32_t *tids; /* otherwise these threads, and the tasks that they start */
    size_t tid_count;
    bool alone;     /* not the tasks that they start */
    bool from_exec; /* counting starts when they execute another program */
};

struct perf_sampler_settings {
    struct record_events events;
    struct record_targets targets;
    enum record_stacks stacks;
    uint64_t more_fields; /* further PERF_SAMPLE_* of samples: RAW */
    uint32_t dump_size;   /* of a stack: a multiple of 8 */
    uint32_t
        unrated_dump_size; /* of the kernel's events with a period of their own; 0: the same */
    uint32_t rate;         /* samples per second; 0: one every `period` events */
    uint64_t period;
    const char *command; /* of stoke, for hints; NULL: record */
    size_t ring_size;    /* of a CPU: a power of two; 0: derived from the rate */

    /* Mapping records have no build IDs: readers take them from the files. Otherwise the kernel
     * writes them, or the stage build_ids.h if the counters are of all threads. */
    bool no_build_ids;

    /* An eBPF program (bpf_sampler.h) that collects the samples of the only event: then the rings
     * contain records of tasks only. 0: none. */
    int program;

    bool of_threads; /* counters of CPUs (perf_sampler.of_cpus) are not used */
    bool regular;    /* clocks have a fixed period (jitter.h) */

    /* An eBPF program that runs before each sample is written. 0: none. */
    int observer;

    /* Keeps samples and wake-ups of other threads out of the rings, if counters of all threads take
     * them. It is open, knows the targets, and runs the observer. NULL: none. */
    struct os_task_filter *filter;

    /* Makes the samples of the event "wait-files"; NULL: there is none. */
    struct os_wait_files *files;
};

/* Whether the kernel writes build IDs into mapping records. While a counter of all threads
 * requests them, the kernel also flags the records of other profilers, which contain device
 * and inode: perf then stops, or uses wrong build IDs (seen with Linux 6.1). So only counters
 * of threads request them. */
bool perf_sampler_requests_build_ids(const struct perf_sampler_settings *set);

/* The smallest dump of the events with stacks. */
uint32_t perf_sampler_least_dump(const struct perf_sampler_settings *set);

/* An open counter. */
struct perf_counter_open {
    int fd;
    uint32_t event, cpu;
    int64_t tid;
};

/* The ring of a CPU. */
struct perf_sampler_ring {
    struct copied_ring *ring;
    uint32_t cpu;
    int owner;          /* the counter that it belongs to */
    int counter;        /* the first that writes to it; -1: none yet */
    uint64_t enabled;   /* ns that this one has counted */
    struct record next; /* to give next */
};

struct perf_sampler {
    const struct perf_sampler_settings *settings;
    struct os_wait *wait;
    struct record_layout layout;
    struct ring_copier copier;
    struct perf_attr attrs[RECORD_EVENTS_MAX];
    struct perf_counter_open *counters;
    size_t counter_count, counter_cap;
    struct perf_sampler_ring *rings;
    size_t ring_count, ring_cap;
    uint32_t *heap; /* indexes of rings with records, the oldest first */
    size_t heap_cap;
    size_t ring_size;
    uint64_t lost_by_closed; /* by counters of CPUs that went offline */
    uint32_t split; /* groups, by bits, whose events this machine cannot count at once */
    uint32_t
        refused; /* the group of the event that the kernel refused because of its group; or 0 */
    uint32_t dump_limit;  /* perf_sampler_limit_dumps; 0: none */
    bool dumps_limited;   /* there are counters that it applies to */
    bool locked_too_much; /* the rings need more locked memory than this user may have */

    /* The kernel starts the clock of each new thread with a whole period: a thread that runs for
     * less is never sampled. So counters of all threads, one per CPU, take the
     * samples where the kernel permits it; counters of the targets only report forks, names and
     * mappings. The rings then contain samples of other threads, too: descent.h removes them. */
    bool of_cpus;
    bool enabled; /* until they are disabled, the counters may write more */
    uint64_t end; /* records after this time, ns, are not given; 0: all are */
};

/* Opens the counters, disabled, and adds them to `wait`. Starts the thread that copies their
 * rings. The settings outlive the sampler.
 * False, with a hint for the user, if the kernel refuses. Close it in any case. */
bool perf_sampler_open(struct perf_sampler *s,
                       const struct perf_sampler_settings *settings, struct os_wait *wait,
                       struct error *err);
void perf_sampler_close(struct perf_sampler *s); /* also if it is all zeros */

/* Counters of all threads have this rate at most. At higher rates few threads run for less than
 * a period, and the samples of the recorder itself could take all its time. */
#define PERF_SAMPLER_OF_CPUS_RATE 5000

/* Whether the event counts CPU time or cycles: then the rate of its samples does not depend on
 * what other threads do. */
bool perf_sampler_counts_time(const struct record_event *e);

/* Whether counters of all threads take the samples of the event, though not all are targets. */
bool perf_sampler_is_of_cpus(const struct perf_sampler *s, size_t event);

/* Whether counters of all threads would replace those of the targets, if the kernel permits it. */
bool perf_sampler_prefers_cpus(const struct perf_sampler_settings *settings);

/* Whether this machine has the event. */
bool perf_sampler_has(const struct record_event *event);

/* Whether this user may sample kernel code, too. */
bool perf_sampler_sees_kernel(const struct record_event *event);

/* Enables the counters. Those that wait for an exec start by themselves. */
void perf_sampler_enable(struct perf_sampler *s);
void perf_sampler_disable(struct perf_sampler *s);

/* Gives all records that are in the rings. */
void perf_sampler_drain(struct perf_sampler *s, const struct record_sink *to);

/* Records that the kernel could not write since the start; 0 if it does not count them. Those
 * that the copier dropped are counted there. */
uint64_t perf_sampler_lost(const struct perf_sampler *s);

/* If all threads are recorded: opens counters of CPUs that came online, closes those of CPUs that
 * went offline. Returns the number of such CPUs. */
unsigned perf_sampler_follow_cpus(struct perf_sampler *s);

/* If a ring or the queues were more than half full: the counters of all threads that sample each
 * occurrence of an event, such as context switches, dump only the innermost bytes of stacks from now
 * on, so that more records fit into the rings. True if there are such counters; they were replaced
 * then. The sampler opens them so if the machine switches threads very often. */
bool perf_sampler_limit_dumps(struct perf_sampler *s);

/* How many other events are counted in the group that this one leads; 0: none. */
size_t perf_sampler_members(const struct perf_sampler *s, size_t event);

/* Writes the ids of an event's counters, as its records contain them, to `ids`, up to `room` of
 * them. Returns how many. */
size_t perf_sampler_ids(const struct perf_sampler *s, size_t event, uint64_t *ids,
                        size_t room);

#endif
