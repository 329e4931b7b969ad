/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the trace-event importer; see trace_event.c. */
#ifndef STOKE_IMPORT_TRACE_EVENT_PARTS_H
#define STOKE_IMPORT_TRACE_EVENT_PARTS_H

#include "base/hash.h"
#include "codec/json.h"
#include "import/importer.h"
#include "import/json_input.h"
#include "import/v8_profile.h"

/* Events without a duration: instants (and their older phase), marks, samples. */
#define INSTANT_PHASES "iIRP"

/* A thread of the trace. IDs that are not numbers are texts. */
struct track {
    int64_t pid, tid;
    string_id pid_text, tid_text, name;
    int64_t last;      /* latest time of its events */
    int64_t last_mark; /* of its last begin or end */
};

struct process {
    int64_t pid;
    string_id pid_text, name;
};

/* From `start` to `end`, nanoseconds. */
struct span {
    int64_t start, end;
    frame_id frame;
    uint32_t track;
};

/* A begin or an end. */
struct mark {
    int64_t time;
    uint32_t what; /* a begin's frame; an end's name, or 0 */
    uint32_t track;
    bool end;
};

/* An event without a duration. */
struct instant {
    int64_t time;
    frame_id frame;
    uint32_t track;
};

struct sampled {
    int64_t time;
    double weight;
    uint32_t track;
    uint32_t node; /* stack frame, as the index of its ID; 0 for none */
    string_id event;
};

/* A stack frame of the object form. */
struct node {
    frame_id frame;
    uint32_t parent; /* node index, or 0 */
    stack_id stack;
    bool known, done, visiting;
};

/* A V8 profile, of the thread of its first event. */
struct js_profile {
    struct v8_profile profile;
    int64_t pid;
    string_id id;
    uint32_t track;
};

/* The members of the current event. Texts are held in outputs until its phase is
 * known. */
struct record {
    char phase;
    int64_t time, duration, thread_duration;
    bool has_time, has_duration, has_thread_duration;
    struct output name, args_name, detail, file;
    uint32_t line, node;
    double weight;
    int64_t pid, tid;
    string_id pid_text, tid_text;
    string_id id;
    bool has_profile; /* `chunk` has data of one */
    bool is_average;  /* args have the average of several events */
};

struct open_span {
    int64_t end;
    stack_id stack;
};

struct open_mark {
    int64_t time;
    frame_id frame;
};

/* The state of the marks of one name in one thread. */
struct named {
    uint32_t open_begins; /* number of its open begins */
    uint32_t ends;        /* number of its remaining ends at the current time */
    uint32_t cut_of;      /* the track that `cut` belongs to; 0 for none */
    struct open_mark cut; /* ended early, together with an enclosing one */
};

struct trace {
    struct json json;
    const struct import_options *options;
    struct builder *b;
    struct arena arena;
    struct record record;
    struct v8_profile chunk;
    struct js_profile *profiles;
    size_t profile_count, profile_cap;
    struct track *tracks;
    struct process *processes;
    struct span *spans;
    struct mark *marks;
    struct instant *instants; /* freed once an event has a duration */
    struct sampled *samples;
    struct node *nodes; /* by the index of their ID */
    struct strings ids;
    size_t track_count, track_cap, process_count, process_cap, span_count, span_cap;
    size_t instant_count, instant_cap;
    uint64_t phases[128]; /* number of events of each phase */
    bool lasting;         /* an event has a duration */
    bool unclosed;        /* the input ends between two events */
    size_t mark_count, mark_cap, sample_count, sample_cap, node_cap;
    struct index track_index, process_index;
    struct open_span *open;
    struct open_mark *open_begins;
    struct named *named; /* by name */
    struct span *rests;  /* a heap: the rests of spans that outlast their callers */
    size_t rest_count, rest_cap, rests_allowed;
    size_t open_count, open_cap, open_begin_count, open_begin_cap, named_cap;
    int64_t now;
    event_id event;
    thread_id thread;
};

/* trace_event_record.c: reads the current object into t->record. False if it is not an
 * object or is truncated. */
bool trace_event_record(struct trace *t);

/* Reads the ID of a stack frame; returns its index in t->ids, 0 for none. */
uint32_t trace_event_take_node(struct trace *t);

/* trace_event_events.c: reads the current array of events. */
void trace_event_events(struct trace *t);

/* The track of t->record, made on first use; 0 if out of memory. */
uint32_t trace_event_track(struct trace *t);

/* The model's thread of a track. */
thread_id trace_event_thread(struct trace *t, const struct track *track);

void trace_event_add_span(struct trace *t, struct span span);

/* Adds V8's profiles with samples to the builder. */
void trace_event_add_profiles(struct trace *t);

/* trace_event_marks.c: makes spans of begins and ends. */
void trace_event_pair(struct trace *t);

/* trace_event_spans.c: the sorted indices of `count` items; NULL if out of memory. */
uint32_t *trace_event_sorted(struct trace *t, size_t count, const void *items,
                             bool (*before)(const void *, uint32_t, uint32_t));

/* Adds a sample of t->thread. */
void trace_event_add_row(struct trace *t, int64_t from, double weight, event_id event,
                         stack_id stack);

/* Adds the self times of all spans to the builder. */
void trace_event_sweep(struct trace *t);

/* Counts each event once, for a trace in which no event has a duration. */
void trace_event_count(struct trace *t);

/* trace_event_stacks.c: reads an item of "samples", and the object "stackFrames". */
void trace_event_sample(struct trace *t);
void trace_event_stack_frames(struct trace *t);

/* Adds the samples to the builder. */
void trace_event_add_samples(struct trace *t);

#endif
