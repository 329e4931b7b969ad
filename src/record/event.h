/* SPDX-License-Identifier: Apache-2.0 */
/* The events that a user can sample, in perf's notation:
 *   cycles:u  L1-dcache-load-misses  page-faults      names that all machines have
 *   r1a8                                              a raw number of the processor
 *   cpu/event=0x3c,umask=0x1/u  msr/tsc/              of a unit (sysfs, event_source)
 *   sched:sched_switch  sched:*                       tracepoints of the kernel (tracefs)
 *   mem:0x7f00/8:rw                                   accesses to that memory
 *   cycles/period=100000,name=mine/                   any of them, with terms of its own
 *   {cycles,instructions}:u  name{cs,page-faults}     a group: counted at once or not
 *                                                     at all
 * Sources: perf-list(1), perf-record(1); Documentation/ABI/testing/
 * sysfs-bus-event_source-devices-{format,events} of Linux.
 * To add a kind of name: a function like those of event_kind.h that event.c calls, and its part
 * of event_list.c. */
#ifndef STOKE_RECORD_EVENT_H
#define STOKE_RECORD_EVENT_H

#include "base/error.h"
#include "base/output.h"
#include "base/perf_attr.h"

#define RECORD_EVENTS_MAX 32
#define RECORD_EVENT_NAME_MAX 128

/* What makes the samples of an event. */
enum event_maker {
    EVENT_MAKER_KERNEL,
    EVENT_MAKER_FILTER,       /* os/task_filter.h */
    EVENT_MAKER_FILTER_BRIEF, /* the same, for short stacks */
    EVENT_MAKER_WAIT_FILES,   /* os/wait_files.h */
};

struct record_event {
    char name[RECORD_EVENT_NAME_MAX];       /* as it is shown */
    char tracepoint[RECORD_EVENT_NAME_MAX]; /* "sched:sched_switch"; or empty */
    uint32_t type;
    uint32_t breakpoint; /* kinds of access, by the kernel's numbers; or 0 */
    uint64_t config, config1, config2;
    uint64_t exclude; /* PERF_FLAG_EXCLUDE_* of its modifiers */
    bool
        needs_kernel; /* the modifiers include k: without kernel code the event is useless */
    bool guests;      /* code in virtual machines is counted, too */
    bool most_precise;  /* with the highest precision of the machine */
    unsigned precise;   /* number of p's */
    uint64_t period;    /* its own, instead of the recording's; or 0 */
    uint32_t rate;      /* the same, in samples per second */
    bool usual;         /* period or rate are defaults of its kind */
    uint64_t flags;     /* further PERF_FLAG_* */
    uint32_t group;     /* index of its group + 1; 0: none */
    bool of_everyone;   /* counted for all threads, independent of the targets */
    bool no_stacks;     /* its samples have none */
    uint32_t dump_most; /* bytes of a stack that are dumped at most; 0: as of others */
    enum event_maker maker;
    const char *filter; /* of a tracepoint; or NULL */
    double scale;       /* the units of a count of 1; 0: 1 */
    char unit[16];      /* "Joules"; or empty */
};

/* Events that are counted at the same time, so that their counts can be compared: the first one leads,
 * the others follow it. */
struct record_event_group {
    char name[RECORD_EVENT_NAME_MAX]; /* or empty */
    bool weak; /* if the machine cannot count them at once, each is counted alone */
};

struct record_events {
    struct record_event items[RECORD_EVENTS_MAX];
    size_t count;
    struct record_event_group
        groups[RECORD_EVENTS_MAX / 2]; /* each has two events or more */
    size_t group_count;
    bool listed; /* the user requests the list of events */
};

/* Adds the events of a comma-separated list. False, with the nearest name, if an event does not
 * exist, or this machine does not have it. */
bool record_events_parse(const char *text, struct record_events *events,
                         struct error *err);

/* The index of the event that leads the group of event `i`: `i` itself if it leads or is in no
 * group. */
size_t record_events_leader(const struct record_events *events, size_t i);

/* Applies the rate or period that the user requested (0: not requested) to events with a
 * default of their kind. Events with a period or rate of their own keep it. */
void record_events_pace(struct record_events *events, uint32_t rate, uint64_t period);

/* Writes the events that can be named, one per line, and marks those that this machine lacks. */
void record_events_list(struct output *out);

/* The processor's cycles, and the kernel's clock, which replaces them. */
struct record_event record_event_cycles(void);
struct record_event record_event_clock(void);

/* Every context switch, with SWITCH records for the return. */
struct record_event record_event_switches(void);

/* Wake-ups, whose samples an eBPF program makes (os/task_filter.h). `brief`: with short stacks. */
struct record_event record_event_filtered_wakings(bool brief);

/* Files that threads wait for, the same (os/wait_files.h). */
struct record_event record_event_wait_files(void);

/* The tracepoint of that name, "sched:sched_waking"; false with err set if it cannot be used.
 * `format` gets the text that describes its raw data. */
bool record_event_tracepoint(const char *name, struct record_event *e, char *format,
                             size_t room, struct error *err);

/* What perf.data stores about tracepoints, so that raw data can be read on other machines: the
 * start of a trace.dat (trace-cmd.dat.v6(5)) with the formats of the named tracepoints. */
void record_tracepoint_formats(const char *const *names, size_t count,
                               struct output *out);

/* The attributes that define the event, disabled, without those of a recording. */
struct perf_attr record_event_attr(const struct record_event *e);

/* The CPUs that count for all CPUs, if the event's unit has such (its cpumask): a counter of a
 * memory controller or of energy exists once per package. `cpus` has room for OS_CPUS_MAX.
 * Returns how many there are; 0: each CPU counts for itself. */
size_t record_event_unit_cpus(const struct record_event *e, uint32_t *cpus);

/* The same event, for user code only: what users without rights may sample. */
void record_event_only_user(struct record_event *e);

/* The same, for kernel code only. */
void record_event_only_kernel(struct record_event *e);

/* The names that all machines have, by index, each with its aliases after commas; NULL after
 * the last. */
const char *record_event_name(size_t i);

#endif
