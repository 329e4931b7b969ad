/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the reader of trace events share among themselves; see trace_event.c. */
#ifndef STOKE_IMPORT_TRACE_EVENT_PARTS_H
#define STOKE_IMPORT_TRACE_EVENT_PARTS_H

#include "base/hash.h"
#include "codec/json.h"
#include "import/importer.h"
#include "import/json_input.h"
#include "import/v8_profile.h"

/* Events of a moment: instants (and as they were called before), marks, samples. */
#define INSTANT_PHASES "iIRP"

/* A thread of the trace. Ids that are no numbers are texts. */
struct track {
    int64_t pid, tid;
    string_id pid_text, tid_text, name;
    int64_t last;      /* the latest time of its events */
    int64_t last_mark; /* of the begin or end met last */
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

/* An event without a length. */
struct instant {
    int64_t time;
    frame_id frame;
    uint32_t track;
};

struct sampled {
    int64_t time;
    double weight;
    uint32_t track;
    uint32_t node; /* of the stack frames, by its id's number; 0 for none */
    string_id event;
};

/* A stack frame of the object form. */
struct node {
    frame_id frame;
    uint32_t parent; /* node, or 0 */
    stack_id stack;
    bool known, done, visiting;
};

/* A profile by V8, of the thread that its first event is of. */
struct js_profile {
    struct v8_profile profile;
    int64_t pid;
    string_id id;
    uint32_t track;
};

/* What an event under way says. Text is held in outputs until its phase is known. */
struct record {
    char phase;
    int64_t time, duration, thread_duration;
    bool has_time, has_duration, has_thread_duration;
    struct output name, args_name, file;
    uint32_t line, node;
    double weight;
    int64_t pid, tid;
    string_id pid_text, tid_text;
    string_id id;
    bool has_profile; /* chunk holds some of one */
};

struct open_span {
    int64_t end;
    stack_id stack;
};

struct open_mark {
    int64_t time;
    frame_id frame;
};

/* What is known of the marks of one name, of one thread. */
struct named {
    uint32_t begun;       /* how many begins of it are open */
    uint32_t ends;        /* how many ends of it are left, of those at one time */
    uint32_t cut_of;      /* the track whose begin below it is; 0 for none */
    struct open_mark cut; /* ended early, with one that it was inside of */
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
    struct instant *instants; /* none any more once an event has a length */
    struct sampled *samples;
    struct node *nodes; /* by the number of their id */
    struct strings ids;
    size_t track_count, track_cap, process_count, process_cap, span_count, span_cap;
    size_t instant_count, instant_cap;
    uint64_t phases[128]; /* how many events of each there are */
    bool lasting;         /* an event has a length */
    bool left_open;       /* the input ends between two events */
    size_t mark_count, mark_cap, sample_count, sample_cap, node_cap;
    struct index track_index, process_index;
    struct open_span *open;
    struct open_mark *begun;
    struct named *named; /* by name */
    struct span *rests;  /* a heap: parts of spans that outlive their callers */
    size_t rest_count, rest_cap, rests_left;
    size_t open_count, open_cap, begun_count, begun_cap, named_cap;
    int64_t now;
    event_id event;
    thread_id thread;
};

/* trace_event_record.c: reads the object at hand into t->record. False where there is none,
 * or it is cut. */
bool trace_event_record(struct trace *t);

/* The same: takes the id of a stack frame; its number in t->ids, 0 for none. */
uint32_t trace_event_take_node(struct trace *t);

/* trace_event_events.c: reads the array of events at hand. */
void trace_event_events(struct trace *t);

/* The same: the track of t->record, made where it is new; 0 when memory is short. */
uint32_t trace_event_track(struct trace *t);

/* The same: the model's thread of a track. */
thread_id trace_event_thread(struct trace *t, const struct track *track);

void trace_event_add_span(struct trace *t, struct span span);

/* The same: V8's profiles, those that any sample is in, to the builder. */
void trace_event_add_profiles(struct trace *t);

/* trace_event_marks.c: makes spans of the begins and ends. */
void trace_event_pair(struct trace *t);

/* trace_event_spans.c: the numbers of `count` items in order; NULL when memory is short. */
uint32_t *trace_event_sorted(struct trace *t, size_t count, const void *items,
                             bool (*before)(const void *, uint32_t, uint32_t));

/* The same: adds a sample of t->thread. */
void trace_event_add_row(struct trace *t, int64_t from, double weight, event_id event,
                         stack_id stack);

/* The same: the self times of all spans, to the builder. */
void trace_event_sweep(struct trace *t);

/* The same: counts each event once, for a trace in which no event has a length. */
void trace_event_count(struct trace *t);

/* trace_event_stacks.c: reads an item of "samples", and the object "stackFrames". */
void trace_event_sample(struct trace *t);
void trace_event_stack_frames(struct trace *t);

/* The same: the samples read, to the builder. */
void trace_event_add_samples(struct trace *t);

#endif
