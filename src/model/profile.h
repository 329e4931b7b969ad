/* SPDX-License-Identifier: Apache-2.0 */
/* The profile: the one model between every reader and every writer.
 *
 * Tables of columns; an id is an index into its table, and id 0 is "none" (for stacks:
 * the root, for strings: the empty one). A profile is built once through a builder
 * (builder.h), owns all of its memory in one arena, and is read-only afterwards.
 *
 * A stack is {parent, frame} with its parent always before it, so a walk over the stacks
 * from last to first sums a whole tree, and a walk from first to last sees every caller
 * before its callees. Nothing recurses: a stack may be 500,000 frames deep. */
#ifndef STOKE_MODEL_PROFILE_H
#define STOKE_MODEL_PROFILE_H

#include "base/error.h"
#include "base/none.h"
#include "base/strings.h"

typedef uint32_t module_id;
typedef uint32_t frame_id;
typedef uint32_t stack_id;
typedef uint32_t thread_id;
typedef uint32_t event_id;

/* A mapped file, or what stands for one: [kernel.kallsyms], [vdso], /tmp/perf-7.map. */
struct module {
    string_id path;
    string_id build_id; /* lower-case hexadecimal, or 0 */
};

enum frame_kind {
    FRAME_USER,
    FRAME_KERNEL,
    FRAME_GUEST,
    FRAME_JIT,
    FRAME_INLINED,
    FRAME_IDLE,
    FRAME_MARKER, /* not code: a separator such as "--", a state, a reason */
    FRAME_WAKER,  /* of the stack that woke the thread up */
};

/* A function, or one place in it where lines or addresses are kept. */
struct frame {
    string_id name;   /* 0: unknown; of a marker: empty */
    module_id module; /* 0: unknown */
    string_id file;   /* source file, or 0 */
    uint32_t line;    /* from 1, or 0 */
    uint32_t kind;    /* enum frame_kind */
    uint64_t address; /* 0 where not kept */
};

struct stack {
    stack_id parent; /* 0: this frame is outermost */
    frame_id frame;
};

struct thread {
    int64_t pid, tid; /* ID_NONE where not known */
    string_id name;   /* the comm, or a thread's or profile's name */
};

enum unit {
    UNIT_COUNT, /* samples */
    UNIT_NANOSECONDS,
    UNIT_BYTES,
    UNIT_CYCLES,
    UNIT_MILLISECONDS, /* where the input is no finer */
    UNIT_EVENTS,       /* a sample stands for many of its event: page faults */
};

/* What the samples of an event are taken of. Code asks for the kind, never for a name. */
enum event_kind {
    EVENT_OTHER,
    EVENT_ON_CPU,  /* time or cycles of a processor */
    EVENT_WAITING, /* time in which a thread did not run */
    EVENT_MEMORY,  /* bytes */
};

/* What was measured. The weight of a sample is in the event's unit. */
struct event {
    string_id name;
    uint32_t unit; /* enum unit */
    uint32_t kind; /* enum event_kind */
};

/* One row of the samples. In a profile that counts, a row stands for all samples with the
 * same thread, event and stack; time and cpu are then absent. */
struct sample {
    uint64_t time; /* ns, or TIME_NONE */
    thread_id thread;
    uint32_t cpu; /* or CPU_NONE */
    event_id event;
    stack_id stack;
    uint64_t count; /* how many samples of the input it stands for */
    double weight;
    double rest; /* what of the weight a double cannot hold: weight + rest is exact for
                    integers of up to 100 bits */
};

/* Adds to a weight and its rest, so that sums of integers stay exact. */
static inline void weight_add(double *weight, double *rest, double more, double more_rest)
{
    double sum = *weight + more, part = sum - *weight;
    *rest += (*weight - (sum - part)) + (more - part) + more_rest;
    *weight = sum;
}

/* Something of the input that was not understood and left out, or repaired; or that it
 * does not tell, and was worked out: no fault, told only where somebody asks. */
struct warning {
    const char *what; /* a literal, or the profile's: "no count at the end of the line" */
    uint64_t count;
    bool inferred;
    struct place first; /* where it happened first */
};

#define WARNINGS_MAX 16

/* Samples that were lost at one moment. */
struct loss {
    uint64_t time; /* ns */
    uint64_t count;
};

#define LOSSES_MAX 64 /* what was lost later still is told together with the last one */

/* The outermost frame, a marker, of stacks that were cut short, where importers are asked
 * to mark them. */
#define CUT_MARK "[cut short]"

/* What a reader of the picture must know about the data. */
struct facts {
    string_id format;               /* the importer's name */
    string_id host;                 /* or 0 */
    string_id command;              /* what was profiled, or 0 */
    uint64_t samples;               /* samples read, before any were merged */
    uint64_t lost;                  /* samples that the profiler says it lost */
    struct loss losses[LOSSES_MAX]; /* of `lost`, those whose time is known */
    unsigned loss_count;
    uint64_t truncated; /* stacks marked as cut */
    bool foreign_lines; /* source files are named by the input itself, not by the line
                           tables of binaries on this machine */
    uint64_t time_first, time_last; /* of all samples read; TIME_NONE */
    double rate;                    /* samples a second and CPU, or 0 */
    bool filtered;                  /* a transform has left some of the samples out */
    bool incomplete;   /* the input ended before its end: the rest is missing */
    bool differential; /* event 1 is before, event 2 after: every writer shows both */
    struct warning warnings[WARNINGS_MAX];
    unsigned warning_count;
};

/* For every table, [0] is "none" and counts. `samples` alone begins at 0. */
struct profile {
    struct arena arena;
    struct strings strings;
    struct module *modules;
    struct frame *frames;
    struct stack *stacks;
    struct thread *threads;
    struct event *events;
    struct sample *samples;
    size_t module_count, frame_count, stack_count, thread_count, event_count;
    size_t sample_count;
    bool kept; /* every sample is a row, in the order of the input (BUILD_KEEP) */
    struct facts facts;
};

void profile_destroy(struct profile *p); /* NULL is allowed */

/* A profile of its own with all that p holds now, the caller's: what a builder has so far
 * can be looked at while it goes on. NULL when memory is short. */
struct profile *profile_copy(const struct profile *p);

static inline struct str profile_string(const struct profile *p, string_id id)
{
    return strings_get(&p->strings, id);
}

/* The number of the event of that name; 0 where there is none. */
event_id profile_find_event(const struct profile *p, struct str name);

/* The kind of the frames in a module of that path: the kernel's and its own modules', a
 * JIT's maps, a guest's; else FRAME_USER. */
enum frame_kind module_kind(struct str path);

/* "samples", "ns", "bytes", "cycles", "ms": what a weight of the event counts. */
const char *unit_name(enum unit unit);

/* The kind of an event that its input tells by name and unit only. */
enum event_kind event_kind_of(struct str name, enum unit unit);

/* The first event of that kind; 0: there is none. */
event_id profile_find_kind(const struct profile *p, enum event_kind kind);

#endif
