/* SPDX-License-Identifier: Apache-2.0 */
/* Events to sample by, as perf writes them:
 *
 *   cycles:u  L1-dcache-load-misses  page-faults      names that all machines know
 *   r1a8                                              the processor's own number
 *   cpu/event=0x3c,umask=0x1/u  msr/tsc/              of a unit (sysfs, event_source)
 *   sched:sched_switch  sched:*                       tracepoints of the kernel (tracefs)
 *   mem:0x7f00/8:rw                                   who touches that memory
 *   cycles/period=100000,name=mine/                   any of them, with words of its own
 *   {cycles,instructions}:u  name{cs,page-faults}     a group: counted together or not
 *                                                     at all
 *
 * Sources: perf-list(1), perf-record(1); Documentation/ABI/testing/
 * sysfs-bus-event_source-devices-{format,events} of Linux.
 *
 * To add a kind of name: a function beside those of event_kind.h that event.c asks, and
 * its part of event_list.c. */
#ifndef STOKE_RECORD_EVENT_H
#define STOKE_RECORD_EVENT_H

#include "base/error.h"
#include "base/output.h"
#include "base/perf_attr.h"

#define RECORD_EVENTS_MAX 32
#define RECORD_EVENT_NAME_MAX 128

struct record_event {
    char name[RECORD_EVENT_NAME_MAX];       /* as it is shown */
    char tracepoint[RECORD_EVENT_NAME_MAX]; /* "sched:sched_switch"; or empty */
    uint32_t type;
    uint32_t breakpoint; /* kinds of access, as the kernel has them; or 0 */
    uint64_t config, config1, config2;
    uint64_t exclude;   /* PERF_FLAG_EXCLUDE_* that its modifiers ask for */
    bool asks_kernel;   /* k among them: it is nothing without */
    bool guests;        /* what runs in virtual machines is counted, too */
    bool most_precise;  /* as precise as the machine can */
    unsigned precise;   /* how many p's */
    uint64_t period;    /* of its own, in place of the recording's; or 0 */
    uint32_t rate;      /* the same, in samples a second */
    bool usual;         /* that is what its kind has where nothing else is asked for */
    uint64_t flags;     /* PERF_FLAG_* that only it has */
    uint32_t group;     /* the place of its group behind 1; 0: none */
    bool of_everyone;   /* counted for all tasks, whoever is recorded */
    const char *filter; /* of a tracepoint's fields; or NULL */
};

/* Events that are counted together, so that their counts can be compared: the first of
 * them leads, and the others follow at once. */
struct record_event_group {
    char name[RECORD_EVENT_NAME_MAX]; /* or empty */
    bool weak; /* where this machine cannot count them together, each by itself */
};

struct record_events {
    struct record_event items[RECORD_EVENTS_MAX];
    size_t count;
    struct record_event_group groups[RECORD_EVENTS_MAX / 2]; /* of two events or more */
    size_t group_count;
    bool listed; /* a user asks which there are */
};

/* Adds the events of a list with commas. False, with the nearest name, where there is no
 * such event, or this machine has not what it is of. */
bool record_events_parse(const char *text, struct record_events *events,
                         struct error *err);

/* The place of the event that leads the group of the one at `i`: `i`, where it leads or
 * is in none. */
size_t record_events_leader(const struct record_events *events, size_t i);

/* How often they are sampled, as the user asked: 0 for what was not asked for. It is for
 * those, too, whose kind has a usual way, but not for those that name one themselves. */
void record_events_pace(struct record_events *events, uint32_t rate, uint64_t period);

/* Writes the events that may be named, one a line, and which of them are not here. */
void record_events_list(struct output *out);

/* The processor's cycles, and the kernel's clock in their place. */
struct record_event record_event_cycles(void);
struct record_event record_event_clock(void);

/* Threads that leave their CPU, each time, with word of when they are back. */
struct record_event record_event_switches(void);

/* The tracepoint of that name, "sched:sched_waking"; false, with why, where it may not be
 * had. `format`: the text that says what is in its bytes. */
bool record_event_tracepoint(const char *name, struct record_event *e, char *format,
                             size_t room, struct error *err);

/* What perf.data keeps of tracepoints, so that their bytes can be read elsewhere: the
 * beginning of a trace.dat (trace-cmd.dat.v6(5)) with the formats of those named. */
void record_tracepoint_formats(const char *const *names, size_t count,
                               struct output *out);

/* The same event, of user code alone: what is left to users without rights. */
void record_event_only_user(struct record_event *e);

/* The same, of the kernel's code alone. */
void record_event_only_kernel(struct record_event *e);

/* The names that all machines know, each with its others behind commas, one after the
 * other; NULL behind the last. */
const char *record_event_name(size_t i);

#endif
