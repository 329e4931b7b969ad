/* SPDX-License-Identifier: Apache-2.0 */
/* The profile: the data model between readers and writers.
 *
 * It has tables of columns. An ID is an index into its table, and ID 0 is "none" (for
 * stacks the root, for strings the empty one). A builder (builder.h) makes a profile. The
 * profile owns its memory in one arena and is read-only afterwards.
 *
 * A stack is {parent, frame}, and a parent comes before its children. So a loop over the
 * stacks from last to first adds up the whole tree, and a loop from first to last sees
 * each caller before its callees. Nothing recurses: a stack may have 500,000 frames. */
#ifndef STOKE_MODEL_PROFILE_H
#define STOKE_MODEL_PROFILE_H

#include "base/error.h"
#include "base/none.h"
#include "base/strings.h"
#include "model/unwind_gaps.h"

typedef uint32_t module_id;
typedef uint32_t frame_id;
typedef uint32_t stack_id;
typedef uint32_t thread_id;
typedef uint32_t event_id;
typedef uint32_t label_id;
typedef uint32_t label_set_id;

/* A mapped file or a substitute: [kernel.kallsyms], [vdso], /tmp/perf-7.map. */
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
    FRAME_MARKER, /* not code: a separator ("--"), a state, a reason */
    FRAME_WAKER,  /* of the stack of the waker */
};

/* A function, or a location in a function if lines or addresses are recorded. */
struct frame {
    string_id name;   /* 0: unknown; of a marker: empty */
    module_id module; /* 0: unknown */
    string_id file;   /* source file, or 0 */
    uint32_t line;    /* from 1, or 0 */
    uint32_t kind;    /* enum frame_kind */
    uint64_t address; /* 0 if not recorded; of a waker without a module: its thread ID */
    uint64_t
        offset; /* of an unnamed frame: the offset in the module's file, which is the same in every process;
                   of a named one the size of its symbol, if importers are asked for it; 0 if unknown */
};

struct stack {
    stack_id parent; /* 0: this frame is outermost */
    frame_id frame;
};

struct thread {
    int64_t pid, tid; /* ID_NONE if unknown */
    string_id name;   /* the comm, or the name of a thread or of a profile */
};

enum unit {
    UNIT_COUNT, /* samples */
    UNIT_NANOSECONDS,
    UNIT_BYTES,
    UNIT_CYCLES,
    UNIT_MILLISECONDS, /* for inputs with this resolution */
    UNIT_EVENTS,       /* a sample stands for several events: page faults */
};

/* What an event measures. Code uses the kind and never compares names. */
enum event_kind {
    EVENT_OTHER,
    EVENT_ON_CPU,  /* time or cycles of a processor */
    EVENT_WAITING, /* time in which a thread did not run */
    EVENT_MEMORY,  /* bytes */
    EVENT_LIVE, /* bytes that are allocated at a time: a weight is a change, which may be
                      negative, and the sum of all changes up to a time is the value then */
};

/* A measured quantity. The weight of a sample is in the event's unit. */
struct event {
    string_id name;
    uint32_t unit; /* enum unit */
    uint32_t kind; /* enum event_kind */
    event_id
        group; /* events that were recorded as a group have the first of them; or 0 */
};

/* A property of a sample, as text or as a number: host=web-3, alloc=4096 bytes.
 * sample_labels.h makes and reads labels. */
struct sample_label {
    string_id key;
    string_id text; /* 0 of a number */
    string_id unit; /* of a number, or 0 */
    uint32_t is_number;
    int64_t number;
};

/* A label set: the labels of the parent and one more, in the order of their IDs. */
struct label_set {
    label_set_id parent; /* 0: no more labels */
    label_id label;
};

/* A row of the samples. In a profile of BUILD_COUNT, a row stands for all samples with
 * the same thread, event, stack and labels; it has no time and CPU. */
struct sample {
    uint64_t time; /* ns, or TIME_NONE */
    thread_id thread;
    uint32_t cpu; /* or CPU_NONE */
    event_id event;
    stack_id stack;
    uint64_t count; /* number of samples in the input */
    double weight;
    double
        /* the part that a double cannot represent: weight + rest is exact for
         * integers of up to 100 bits */
        rest;
};

/* Adds to a weight and its rest, so that sums of integers stay exact. */
static inline void weight_add(double *weight, double *rest, double more, double more_rest)
{
    double sum = *weight + more, part = sum - *weight;
    *rest += (*weight - (sum - part)) + (more - part) + more_rest;
    *weight = sum;
}

/* A call that the input states, with how often it occurred and what it took with its
 * callees: inputs that are call graphs have them beside the stacks that are made of them. */
struct stated_call {
    frame_id caller; /* 0: `count` is how often the callee was called, by whomever */
    frame_id callee;
    event_id event; /* of the total; 0 if no sample has the event */
    double count;   /* negative if unknown */
    double total;   /* in the event's unit; negative if unknown; without a caller that of
                       the callee, with its callees */
    bool summed;    /* the total is not in the input, but the sum of costs that are */
};

/* A part of the input that was left out or repaired; or a value that the input lacks and
 * that was inferred, which is not an error and is reported only on request. */
struct warning {
    const char
        *what; /* a literal, or owned by the profile: "no count at the end of the line" */
    uint64_t count;
    bool inferred;
    struct input_location first; /* the first one */
};

#define WARNINGS_MAX 16

/* Samples that were lost at one time. */
struct loss {
    uint64_t time; /* ns */
    uint64_t count;
};

#define LOSSES_MAX 64 /* later losses are added to the last one */

/* The outermost frame of truncated stacks, a marker, if importers are asked to mark
 * them. */
#define TRUNCATED_MARK "[truncated]"

/* A marker between a function and its inferred callers. It is a frame of stacks; graphs of calls
 * have calls between the functions on both sides of it. */
#define INFERRED_MARK "[inferred callers]"

/* Facts about the data for the user. */
struct facts {
    string_id format;               /* the importer's name */
    string_id host;                 /* or 0 */
    string_id command;              /* what was profiled, or 0 */
    string_id interpreters;         /* of the processes, a line for each; or 0 */
    string_id header;               /* text of a recording's header, on request; or 0 */
    uint64_t samples;               /* samples in the input */
    uint64_t lost;                  /* samples that the profiler reports as lost */
    struct loss losses[LOSSES_MAX]; /* those with a known time */
    unsigned loss_count;
    uint64_t truncated; /* truncated stacks */
    uint64_t grafted;   /* those of them that continue with inferred callers */
    struct unwind_gaps
        unwind_gaps; /* stacks that end in code without unwind information */
    bool
        foreign_lines; /* the input names the source files, not the line tables of binaries on this machine */
    uint64_t time_first, time_last; /* of all samples in the input; or TIME_NONE */
    double rate;                    /* samples per second and CPU, or 0 */
    uint64_t
        sample_bytes; /* of a heap: the mean distance of samples; 0: not sampled, or unknown */
    bool filtered;     /* a transform removed samples */
    bool incomplete;   /* the input is truncated */
    bool differential; /* event 1 is before, event 2 after: all writers show both */
    struct warning warnings[WARNINGS_MAX];
    unsigned warning_count;
};

/* In each table, [0] is "none" and is counted; only `samples` starts at 0. If no sample
 * has labels, the tables of labels are NULL and their counts 0. */
struct profile {
    struct arena arena;
    struct strings strings;
    struct module *modules;
    struct frame *frames;
    struct stack *stacks;
    struct thread *threads;
    struct event *events;
    struct sample *samples;
    struct sample_label *labels;
    struct label_set *label_sets;
    label_set_id *sample_labels; /* by sample */
    struct stated_call *calls;   /* of all samples, or none; transforms drop them */
    size_t module_count, frame_count, stack_count, thread_count, event_count;
    size_t label_count, label_set_count, sample_count, call_count;
    bool all_samples; /* each sample is a row, in the order of the input (BUILD_KEEP) */
    struct facts facts;
};

void profile_destroy(struct profile *p); /* NULL is allowed */

/* A copy of the profile, which the caller owns: a snapshot of a builder's profile. NULL
 * when out of memory. */
struct profile *profile_copy(const struct profile *p);

static inline struct str profile_string(const struct profile *p, string_id id)
{
    return strings_get(&p->strings, id);
}

/* The labels of a row of the samples; 0: none. */
static inline label_set_id profile_labels(const struct profile *p, size_t row)
{
    return p->sample_labels ? p->sample_labels[row] : 0;
}

/* The ID of the event of that name, or 0. */
event_id profile_find_event(const struct profile *p, struct str name);

/* The kind of frames in a module with that path: the kernel's and its modules', a JIT's
 * maps, a guest's; else FRAME_USER. */
enum frame_kind module_kind(struct str path);

/* "samples", "ns", "bytes", "cycles", "ms": the unit of weights. */
const char *unit_name(enum unit unit);

/* The kind of an event, inferred from its name and unit. */
enum event_kind event_kind_of(struct str name, enum unit unit);

/* The event that a view shows without a choice: the first one with a weight, because files list
 * events that they did not measure; "after" of a differential profile. 0: the profile has no event. */
event_id profile_default_event(const struct profile *p);

/* The first event of that kind, or 0. */
event_id profile_find_kind(const struct profile *p, enum event_kind kind);

#endif
