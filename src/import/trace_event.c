/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's trace-event JSON, which many tracers write: an array of events, or an object
 * that has one under "traceEvents".
 *
 *   {"ph": "X", "pid": 1, "tid": 2, "ts": 10, "dur": 5, "name": "f"}    ran from 10 to 15
 *   {"ph": "B", ..., "ts": 10, "name": "f"}  {"ph": "E", ..., "ts": 15} the same
 *   {"ph": "M", ..., "name": "thread_name", "args": {"name": "main"}}
 *
 * Times are microseconds. An event's weight is its self time in nanoseconds: how long it
 * ran while nothing inside it did. Other phases are passed over.
 *
 * Events of one thread come in any order, so each is kept as a span until all are read:
 * memory grows with their number, 24 bytes each. A begin and its end are made a span, the
 * spans are sorted, and a sweep over them keeps the stack of those that are open. The
 * array may end anywhere: tracers that are killed leave it open.
 *
 * Chrome's own traces have profiles by V8 among the events, in one piece ("CpuProfile")
 * or in chunks ("ProfileChunk"), under "args" {"data": {"cpuProfile": ...}}. They are
 * what is looked for in such a trace, so that the events are the second thing in it
 * ("events").
 *
 * The object form may also have "samples" whose stacks are in "stackFrames", a tree by
 * name: {"1": {"name": "main"}, "2": {"name": "f", "parent": "1"}}. */
#include "base/hash.h"
#include "base/json.h"
#include "base/number.h"
#include "base/sort.h"
#include "import/importer.h"
#include "import/json_input.h"
#include "import/v8_profile.h"

/* Children that end later than their caller by no more were rounded. */
#define ROUNDING 1000

/* Of events that overlap and are not inside each other: how often each may be taken apart,
 * on the average. */
#define RESTS_EACH 16

/* Microseconds; in nanoseconds, a time and a duration add up to less than 2^63. */
#define TIME_MAX 4000000000000000u

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
    struct sampled *samples;
    struct node *nodes; /* by the number of their id */
    struct strings ids;
    size_t track_count, track_cap, process_count, process_cap, span_count, span_cap;
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

/* --- Tables ----------------------------------------------------------------------- */

/* Both look for what the event under way names. */
static bool same_track(const void *context, uint32_t id)
{
    const struct trace *t = context;
    const struct track *a = &t->tracks[id];
    const struct record *e = &t->record;
    return a->pid == e->pid && a->tid == e->tid && a->pid_text == e->pid_text &&
           a->tid_text == e->tid_text;
}

static bool same_process(const void *context, uint32_t id)
{
    const struct trace *t = context;
    const struct process *a = &t->processes[id];
    return a->pid == t->record.pid && a->pid_text == t->record.pid_text;
}

/* The track of the event under way, made where it is new; 0 when memory is short. */
static uint32_t track_of(struct trace *t)
{
    const struct record *e = &t->record;
    uint32_t hash = (uint32_t)(hash_mix((uint64_t)e->pid ^ HASH_A, HASH_B) ^
                               hash_mix((uint64_t)e->tid ^ HASH_C, HASH_D) ^
                               hash_pair(e->pid_text, e->tid_text));
    if (!index_reserve(&t->track_index, &t->arena, 1))
        return 0;
    struct index_slot *slot = index_find(&t->track_index, hash, same_track, t);
    if (slot->id)
        return slot->id;
    struct track *tracks = arena_grow(&t->arena, t->tracks, &t->track_cap,
                                      t->track_count + 1, sizeof *tracks);
    if (!tracks)
        return 0;
    t->tracks = tracks;
    tracks[t->track_count] = (struct track){.pid = e->pid,
                                            .tid = e->tid,
                                            .pid_text = e->pid_text,
                                            .tid_text = e->tid_text,
                                            .last = INT64_MIN,
                                            .last_mark = INT64_MIN};
    index_fill(&t->track_index, slot, hash, (uint32_t)t->track_count);
    return (uint32_t)t->track_count++;
}

static struct index_slot *find_process(struct trace *t, uint32_t *hash)
{
    const struct record *e = &t->record;
    if (!index_reserve(&t->process_index, &t->arena, 1))
        return NULL;
    *hash = (uint32_t)hash_mix((uint64_t)e->pid ^ HASH_A, HASH_B ^ e->pid_text);
    return index_find(&t->process_index, *hash, same_process, t);
}

static void name_process(struct trace *t, struct str name)
{
    uint32_t hash;
    struct process *processes = arena_grow(&t->arena, t->processes, &t->process_cap,
                                           t->process_count + 1, sizeof *processes);
    if (!processes)
        return;
    t->processes = processes;
    struct index_slot *slot = find_process(t, &hash);
    if (!slot)
        return;
    if (!slot->id) {
        processes[t->process_count] =
            (struct process){.pid = t->record.pid, .pid_text = t->record.pid_text};
        index_fill(&t->process_index, slot, hash, (uint32_t)t->process_count++);
    }
    processes[slot->id].name = builder_string(t->b, name);
}

/* Makes the model's thread of a track: called by its own name, its id where that is a
 * text, or its process's name. */
static thread_id make_thread(struct trace *t, const struct track *track)
{
    uint32_t hash;
    t->record.pid = track->pid;
    t->record.pid_text = track->pid_text;
    struct index_slot *slot = find_process(t, &hash);
    string_id name = track->name;
    if (!name)
        name = track->tid_text;
    if (!name && slot && slot->id)
        name = t->processes[slot->id].name;
    if (!name)
        name = track->pid_text;
    return builder_thread(t->b, track->pid, track->tid,
                          profile_string(t->b->profile, name));
}

/* --- Reading events ---------------------------------------------------------------- */

/* Microseconds as text to nanoseconds, exact where they are digits and a point. */
static bool to_ns(struct str s, int64_t *out)
{
    struct str digits = str_trim(s);
    bool negative = digits.len && digits.ptr[0] == '-';
    uint64_t whole, part = 0;
    double v;
    digits = str_skip(digits, negative);
    struct str fraction = digits, integer = str_cut(&fraction, '.');
    char three[3] = {'0', '0', '0'};
    memcpy(three, fraction.ptr, fraction.len < 3 ? fraction.len : 3);
    if (number_parse_u64(integer, &whole) && whole < TIME_MAX &&
        number_parse_u64((struct str){three, 3}, &part)) {
        *out = (int64_t)(whole * 1000 + part);
    } else if (number_parse_double(digits, &v) && v < TIME_MAX) {
        *out = (int64_t)(v * 1000 + 0.5);
    } else {
        return false;
    }
    if (negative)
        *out = -*out;
    return true;
}

static bool take_time(struct trace *t, int64_t *out)
{
    struct str s;
    return json_text(&t->json, &s) && to_ns(s, out);
}

static void take_text(struct trace *t, struct output *into)
{
    struct str s;
    into->used = 0;
    if (json_text(&t->json, &s))
        output_str(into, s);
    t->arena.failed |= into->failed;
}

/* Takes an id: a number, or any text. */
static void take_id(struct trace *t, int64_t *id, string_id *text)
{
    struct str s;
    double v;
    if (!json_text(&t->json, &s))
        return;
    if (number_parse_double(s, &v) && v >= -1e15 && v <= 1e15)
        *id = (int64_t)v;
    else
        *text = builder_string(t->b, s);
}

/* Takes the id of a stack frame, and makes room for the node. */
static uint32_t take_node(struct trace *t)
{
    struct str s;
    return json_text(&t->json, &s) ? strings_add(&t->ids, s) : 0;
}

/* {"startTime": ..., "timeDeltas": [...], "cpuProfile": {"nodes": ..., "samples": ...}}
 */
static void read_data(struct trace *t)
{
    struct json *j = &t->json;
    struct str key;
    bool *any = &t->record.has_profile;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (!str_equal(key, STR("cpuProfile"))) {
            if (v8_member(&t->chunk, j, key))
                *any = true;
            else
                json_skip(j);
        } else if (json_enter(j, JSON_OBJECT)) {
            *any = true;
            while (json_key(j, &key))
                if (!v8_member(&t->chunk, j, key))
                    json_skip(j);
        }
    }
}

static void read_args(struct trace *t)
{
    struct json *j = &t->json;
    struct record *e = &t->record;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("name")))
            take_text(t, &e->args_name);
        else if (str_equal(key, STR("data")))
            read_data(t);
        else if (t->options->lines && str_equal(key, STR("url")))
            take_text(t, &e->file);
        else if (t->options->lines && str_equal(key, STR("line")))
            json_index(j, &e->line);
        else
            json_skip(j);
    }
}

static void read_member(struct trace *t, struct str key)
{
    struct json *j = &t->json;
    struct record *e = &t->record;
    struct str s;
    if (str_equal(key, STR("ph")))
        e->phase = json_string(j, &s) && s.len == 1 ? s.ptr[0] : 0;
    else if (str_equal(key, STR("ts")))
        e->has_time = take_time(t, &e->time);
    else if (str_equal(key, STR("dur")))
        e->has_duration = take_time(t, &e->duration);
    else if (str_equal(key, STR("tdur")))
        e->has_thread_duration = take_time(t, &e->thread_duration);
    else if (str_equal(key, STR("name")))
        take_text(t, &e->name);
    else if (str_equal(key, STR("pid")))
        take_id(t, &e->pid, &e->pid_text);
    else if (str_equal(key, STR("tid")))
        take_id(t, &e->tid, &e->tid_text);
    else if (str_equal(key, STR("id")))
        e->id = json_text(j, &s) ? builder_string(t->b, s) : 0;
    else if (str_equal(key, STR("args")))
        read_args(t);
    else if (str_equal(key, STR("sf")))
        e->node = take_node(t);
    else if (str_equal(key, STR("weight")))
        json_number(j, &e->weight);
    else
        json_skip(j);
}

/* Reads the object at hand into t->record. False where it is none, or is cut. */
static bool read_record(struct trace *t)
{
    struct record *e = &t->record;
    struct str key;
    *e = (struct record){.name = e->name,
                         .args_name = e->args_name,
                         .file = e->file,
                         .weight = 1,
                         .pid = ID_NONE,
                         .tid = ID_NONE};
    e->name.used = e->args_name.used = e->file.used = 0;
    v8_clear(&t->chunk);
    if (!json_enter(&t->json, JSON_OBJECT))
        return false;
    while (json_key(&t->json, &key))
        read_member(t, key);
    return !t->json.cut && !t->json.failed;
}

static frame_id frame_of(struct trace *t)
{
    struct record *e = &t->record;
    return builder_frame(t->b, &(struct frame){
                                   .name = builder_string(t->b, output_kept(&e->name)),
                                   .file = builder_string(t->b, output_kept(&e->file)),
                                   .line = e->line,
                               });
}

static void add_span(struct trace *t, struct span span)
{
    struct span *spans =
        arena_grow(&t->arena, t->spans, &t->span_cap, t->span_count + 1, sizeof *spans);
    if (!spans)
        return;
    t->spans = spans;
    spans[t->span_count++] = span;
}

static void add_complete(struct trace *t, struct track *track)
{
    const struct record *e = &t->record;
    int64_t duration = e->has_duration ? e->duration : e->thread_duration;
    if (!e->has_duration && !e->has_thread_duration) {
        json_warn(&t->json, t->b, "a complete event without a duration");
        return;
    }
    if (duration < 0) {
        json_warn(&t->json, t->b, "a negative duration");
        return;
    }
    int64_t end = e->time + duration;
    if (end > track->last)
        track->last = end;
    add_span(t, (struct span){.start = e->time,
                              .end = end,
                              .frame = frame_of(t),
                              .track = (uint32_t)(track - t->tracks)});
}

static void add_mark(struct trace *t, struct track *track)
{
    const struct record *e = &t->record;
    bool end = e->phase == 'E';
    struct mark *marks =
        arena_grow(&t->arena, t->marks, &t->mark_cap, t->mark_count + 1, sizeof *marks);
    if (!marks)
        return;
    t->marks = marks;
    if (e->time < track->last_mark)
        json_warn(&t->json, t->b, "events of a thread that are out of order");
    track->last_mark = e->time;
    if (e->time > track->last)
        track->last = e->time;
    uint32_t what = end ? builder_string(t->b, output_kept(&e->name)) : frame_of(t);
    marks[t->mark_count++] =
        (struct mark){e->time, what, (uint32_t)(track - t->tracks), end};
}

static void add_metadata(struct trace *t)
{
    struct str what = output_kept(&t->record.name),
               name = output_kept(&t->record.args_name);
    if (name.len == 0)
        return;
    if (str_equal(what, STR("process_name"))) {
        name_process(t, name);
    } else if (str_equal(what, STR("thread_name"))) {
        uint32_t track = track_of(t);
        if (track)
            t->tracks[track].name = builder_string(t->b, name);
    }
}

/* Puts what was read of a profile with what came before of it. */
static void add_profile(struct trace *t)
{
    const struct record *e = &t->record;
    struct str name = output_kept(&e->name);
    bool one = str_equal(name, STR("CpuProfile"));
    if (!one && !str_equal(name, STR("Profile")) && !str_equal(name, STR("ProfileChunk")))
        return;
    struct js_profile *p = t->profiles;
    size_t n = one ? t->profile_count : 0;
    while (n < t->profile_count && (p[n].pid != e->pid || p[n].id != e->id))
        n++;
    p = arena_grow(&t->arena, p, &t->profile_cap, n + 1, sizeof *p);
    if (!p)
        return;
    t->profiles = p;
    if (n == t->profile_count) {
        p[n] = (struct js_profile){.pid = e->pid, .id = e->id, .track = track_of(t)};
        v8_init(&p[n].profile, t->b, t->options);
        t->profile_count++;
    }
    v8_append(&p[n].profile, &t->chunk);
}

static void read_event(struct trace *t)
{
    struct record *e = &t->record;
    if (!read_record(t))
        return;
    if (e->has_profile)
        add_profile(t);
    if (e->phase == 'M')
        add_metadata(t);
    if (e->phase != 'X' && e->phase != 'B' && e->phase != 'E')
        return;
    if (!e->has_time) {
        json_warn(&t->json, t->b, "an event without a time");
        return;
    }
    uint32_t id = track_of(t);
    if (id == 0)
        return;
    if (e->phase == 'X')
        add_complete(t, &t->tracks[id]);
    else
        add_mark(t, &t->tracks[id]);
}

static void read_events(struct trace *t)
{
    if (json_enter(&t->json, JSON_ARRAY))
        while (json_item(&t->json) && !t->arena.failed)
            read_event(t);
}

/* --- Reading samples and stack frames ------------------------------------------ */

static void read_sample(struct trace *t)
{
    const struct record *e = &t->record;
    if (!read_record(t))
        return;
    uint32_t track = track_of(t);
    struct sampled *samples = arena_grow(&t->arena, t->samples, &t->sample_cap,
                                         t->sample_count + 1, sizeof *samples);
    if (!samples)
        return;
    t->samples = samples;
    samples[t->sample_count++] =
        (struct sampled){.time = e->time,
                         .weight = e->weight,
                         .track = track,
                         .node = e->node,
                         .event = builder_string(t->b, output_kept(&e->name))};
}

/* The node of that number. NULL when memory is short. */
static struct node *node_at(struct trace *t, uint32_t number)
{
    size_t before = t->node_cap;
    struct node *nodes =
        arena_grow(&t->arena, t->nodes, &t->node_cap, (size_t)number + 1, sizeof *nodes);
    if (!nodes)
        return NULL;
    if (t->node_cap > before)
        memset(nodes + before, 0, (t->node_cap - before) * sizeof *nodes);
    t->nodes = nodes;
    return &nodes[number];
}

static void read_stack_frames(struct trace *t)
{
    struct json *j = &t->json;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !t->arena.failed) {
        uint32_t number = strings_add(&t->ids, key), parent = 0;
        string_id name = 0;
        if (!json_enter(j, JSON_OBJECT))
            continue;
        while (json_key(j, &key)) {
            struct str s;
            if (str_equal(key, STR("name")))
                name = json_text(j, &s) ? builder_string(t->b, s) : 0;
            else if (str_equal(key, STR("parent")))
                parent = take_node(t);
            else
                json_skip(j);
        }
        struct node *node = node_at(t, number);
        if (node)
            *node =
                (struct node){.frame = builder_frame(t->b, &(struct frame){.name = name}),
                              .parent = parent,
                              .known = true};
    }
}

static void read_metadata(struct trace *t)
{
    struct json *j = &t->json;
    struct facts *facts = &t->b->profile->facts;
    struct str key, s;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (!str_equal(key, STR("command_line")))
            json_skip(j);
        else if (json_string(j, &s) && !facts->command)
            facts->command = builder_string(t->b, s);
    }
}

static void read_file(struct trace *t)
{
    struct json *j = &t->json;
    struct str key;
    if (json_peek(j) == JSON_ARRAY) {
        read_events(t);
        return;
    }
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("traceEvents")))
            read_events(t);
        else if (str_equal(key, STR("stackFrames")))
            read_stack_frames(t);
        else if (str_equal(key, STR("metadata")))
            read_metadata(t);
        else if (!str_equal(key, STR("samples")))
            json_skip(j);
        else if (json_enter(j, JSON_ARRAY))
            while (json_item(j) && !t->arena.failed)
                read_sample(t);
    }
}

/* --- Sorting ------------------------------------------------------------------------ */

static bool mark_before(const void *context, uint32_t a, uint32_t b)
{
    const struct mark *x = (const struct mark *)context + a;
    const struct mark *y = (const struct mark *)context + b;
    return x->track != y->track ? x->track < y->track : x->time < y->time;
}

/* Of two that start together the longer one is the caller, or the one that came first. */
static bool span_before(const void *context, uint32_t a, uint32_t b)
{
    const struct span *x = (const struct span *)context + a;
    const struct span *y = (const struct span *)context + b;
    if (x->track != y->track)
        return x->track < y->track;
    return x->start != y->start ? x->start < y->start : x->end > y->end;
}

static bool sample_before(const void *context, uint32_t a, uint32_t b)
{
    const struct sampled *x = (const struct sampled *)context + a;
    const struct sampled *y = (const struct sampled *)context + b;
    return x->track != y->track ? x->track < y->track : x->time < y->time;
}

/* The numbers of `count` items in order; NULL when memory is short. */
static uint32_t *sorted(struct trace *t, size_t count, const void *items,
                        bool (*before)(const void *, uint32_t, uint32_t))
{
    uint32_t *order = arena_alloc(&t->arena, (count + 1) * sizeof *order);
    uint32_t *scratch = arena_alloc(&t->arena, (count + 1) * sizeof *scratch);
    if (!order || !scratch)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    sort_u32(order, count, scratch, before, items);
    arena_release(&t->arena, scratch, (count + 1) * sizeof *scratch);
    return order;
}

/* --- Begins and ends to spans -------------------------------------------------- */

static string_id name_of(const struct trace *t, frame_id frame)
{
    return t->b->profile->frames[frame].name;
}

/* What is known of that name. NULL when memory is short. */
static struct named *named(struct trace *t, string_id name)
{
    size_t before = t->named_cap;
    struct named *all =
        arena_grow(&t->arena, t->named, &t->named_cap, (size_t)name + 1, sizeof *all);
    if (!all)
        return NULL;
    if (t->named_cap > before)
        memset(all + before, 0, (t->named_cap - before) * sizeof *all);
    t->named = all;
    return &all[name];
}

static void begin(struct trace *t, const struct mark *m)
{
    struct open_mark *begun =
        arena_grow(&t->arena, t->begun, &t->begun_cap, t->begun_count + 1, sizeof *begun);
    if (!begun)
        return;
    t->begun = begun;
    struct named *n = named(t, name_of(t, m->what));
    if (!n)
        return;
    begun[t->begun_count++] = (struct open_mark){m->time, m->what};
    n->begun++;
}

/* Ends what was begun last, at that time, and gives its name. */
static string_id end_innermost(struct trace *t, uint32_t track, int64_t time)
{
    const struct open_mark *m = &t->begun[--t->begun_count];
    string_id name = name_of(t, m->frame);
    t->named[name].begun--;
    add_span(t, (struct span){m->time, time, m->frame, track});
    return name;
}

/* The same for what is inside one that ends: its own end may follow. */
static string_id cut_innermost(struct trace *t, uint32_t track, int64_t time)
{
    frame_id frame = t->begun[t->begun_count - 1].frame;
    string_id name = end_innermost(t, track, time);
    t->named[name].cut_of = track;
    t->named[name].cut = (struct open_mark){time, frame};
    return name;
}

/* An end whose begin was ended before, with one around it: it goes on from there. */
static bool end_cut(struct trace *t, const struct mark *m)
{
    struct named *n = m->what && m->what < t->named_cap ? &t->named[m->what] : NULL;
    if (!n || n->cut_of != m->track)
        return false;
    n->cut_of = 0;
    add_span(t, (struct span){n->cut.time, m->time, n->cut.frame, m->track});
    return true;
}

/* An end without a name ends what was begun last. One with a name ends the innermost of
 * that name, with all that was begun inside it. */
static void end(struct trace *t, const struct mark *m)
{
    bool begun =
        m->what ? m->what < t->named_cap && t->named[m->what].begun : t->begun_count > 0;
    if (!begun) {
        if (!end_cut(t, m))
            builder_warn(t->b, "an end without its begin", 0, 0, STR(""));
        return;
    }
    if (!m->what || name_of(t, t->begun[t->begun_count - 1].frame) == m->what) {
        end_innermost(t, m->track, m->time);
        return;
    }
    builder_warn(t->b, "an event ends before those inside it", 0, 0, STR(""));
    while (name_of(t, t->begun[t->begun_count - 1].frame) != m->what)
        cut_innermost(t, m->track, m->time);
    end_innermost(t, m->track, m->time);
}

/* What is still open when a thread's events end lasts as long as they do. */
static void end_track(struct trace *t, uint32_t track)
{
    while (t->begun_count) {
        builder_warn(t->b, "a begin without its end", 0, 0, STR(""));
        end_innermost(t, track, t->tracks[track].last);
    }
}

/* Marks of one thread at one time. */
struct moment {
    const uint32_t *order;
    size_t count;
};

/* Whether each end, in the order of the file, ends what is innermost then. `names` has
 * room for all. */
static bool in_order(const struct trace *t, const struct moment *at, string_id *names)
{
    size_t open = t->begun_count, inside = 0;
    for (size_t i = 0; i < at->count; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        if (!m->end) {
            names[inside++] = name_of(t, m->what);
            continue;
        }
        if (!inside && !open)
            return false;
        string_id innermost =
            inside ? names[--inside] : name_of(t, t->begun[--open].frame);
        if (m->what && m->what != innermost)
            return false;
    }
    return true;
}

/* Ends what is innermost as long as there are ends for it. */
static void end_wanted(struct trace *t, const struct mark *first)
{
    while (t->begun_count) {
        struct named *n = &t->named[name_of(t, t->begun[t->begun_count - 1].frame)];
        if (!n->ends)
            return;
        n->ends--;
        end_innermost(t, first->track, first->time);
    }
}

/* Tracers that round times give ends and begins of one time in any order: ends come
 * first, of what was open before, whatever their order; then begins, whose ends are there
 * too where they took no time. */
static void sort_out(struct trace *t, const struct moment *at)
{
    const struct mark *first = &t->marks[at->order[0]];
    for (size_t i = 0; i < at->count; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        struct named *n = m->end && m->what ? named(t, m->what) : NULL;
        if (n)
            n->ends++;
    }
    end_wanted(t, first);
    for (size_t i = 0; i < at->count && !t->arena.failed; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        if (m->end)
            continue;
        begin(t, m);
        end_wanted(t, first);
    }
    for (size_t i = 0; i < at->count && !t->arena.failed; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        struct named *n = m->what && m->end ? named(t, m->what) : NULL;
        if (m->end && (!n || n->ends))
            end(t, m);
        if (n && n->ends)
            n->ends--;
    }
}

static void pair_moment(struct trace *t, const struct moment *at, string_id *names)
{
    if (at->count > 1 && !in_order(t, at, names)) {
        sort_out(t, at);
        return;
    }
    for (size_t i = 0; i < at->count && !t->arena.failed; i++) {
        const struct mark *m = &t->marks[at->order[i]];
        if (m->end)
            end(t, m);
        else
            begin(t, m);
    }
}

static void pair_marks(struct trace *t)
{
    uint32_t *order = sorted(t, t->mark_count, t->marks, mark_before), track = 0;
    string_id *names = arena_alloc(&t->arena, (t->mark_count + 1) * sizeof *names);
    if (!order || !names)
        return;
    for (size_t i = 0, next; i < t->mark_count && !t->arena.failed; i = next) {
        const struct mark *m = &t->marks[order[i]];
        for (next = i + 1; next < t->mark_count; next++) {
            const struct mark *other = &t->marks[order[next]];
            if (other->track != m->track || other->time != m->time)
                break;
        }
        if (m->track != track)
            end_track(t, track);
        track = m->track;
        pair_moment(t, &(struct moment){order + i, next - i}, names);
    }
    if (!t->arena.failed)
        end_track(t, track);
}

/* --- The sweep ----------------------------------------------------------------- */

static void add_row(struct trace *t, int64_t from, double weight, event_id event,
                    stack_id stack)
{
    builder_add(t->b, &(struct sample){.time = from >= 0 ? (uint64_t)from : TIME_NONE,
                                       .thread = t->thread,
                                       .cpu = CPU_NONE,
                                       .event = event,
                                       .stack = stack,
                                       .count = 1,
                                       .weight = weight});
}

/* Time goes on: the innermost open span has run until then. */
static void go_on(struct trace *t, int64_t time)
{
    if (t->open_count && time > t->now)
        add_row(t, t->now, (double)(time - t->now), t->event,
                t->open[t->open_count - 1].stack);
    t->now = time;
}

/* Closes what ends by that time. */
static void close_until(struct trace *t, int64_t time)
{
    while (t->open_count && t->open[t->open_count - 1].end <= time) {
        go_on(t, t->open[t->open_count - 1].end);
        t->open_count--;
    }
}

/* Which of two comes first in the sweep. */
static bool opens_before(const struct span *x, const struct span *y)
{
    return x->start != y->start ? x->start < y->start : x->end > y->end;
}

static void keep_rest(struct trace *t, struct span rest)
{
    struct span *rests =
        arena_grow(&t->arena, t->rests, &t->rest_cap, t->rest_count + 1, sizeof *rests);
    if (!rests)
        return;
    t->rests = rests;
    size_t at = t->rest_count++;
    for (; at && opens_before(&rest, &rests[(at - 1) / 2]); at = (at - 1) / 2)
        rests[at] = rests[(at - 1) / 2];
    rests[at] = rest;
}

static struct span take_rest(struct trace *t)
{
    struct span first = t->rests[0], last = t->rests[--t->rest_count];
    size_t at = 0, child;
    while ((child = at * 2 + 1) < t->rest_count) {
        if (child + 1 < t->rest_count &&
            opens_before(&t->rests[child + 1], &t->rests[child]))
            child++;
        if (!opens_before(&t->rests[child], &last))
            break;
        t->rests[at] = t->rests[child];
        at = child;
    }
    t->rests[at] = last;
    return first;
}

/* Inside another one a span lasts no longer than that. What is left of it then is a span
 * of its own, unless times were only rounded. */
static void open_span(struct trace *t, const struct span *s)
{
    const struct open_span *caller = t->open_count ? &t->open[t->open_count - 1] : NULL;
    int64_t end = caller && caller->end < s->end ? caller->end : s->end;
    if (end < s->end && s->end - end > ROUNDING) {
        builder_warn(t->b, "an event ends later than the one that it is in", 0, 0,
                     STR(""));
        if (t->rests_left) {
            t->rests_left--;
            keep_rest(t, (struct span){end, s->end, s->frame, s->track});
        }
    }
    stack_id parent = caller ? caller->stack : 0;
    struct open_span *open =
        arena_grow(&t->arena, t->open, &t->open_cap, t->open_count + 1, sizeof *open);
    if (!open)
        return;
    t->open = open;
    open[t->open_count++] = (struct open_span){end, builder_push(t->b, parent, s->frame)};
}

static void sweep_span(struct trace *t, const struct span *s)
{
    close_until(t, s->start);
    go_on(t, s->start);
    open_span(t, s);
}

/* The rests that come before that span; all where there is none. */
static void sweep_rests(struct trace *t, const struct span *before)
{
    while (t->rest_count && !t->arena.failed &&
           (!before || opens_before(&t->rests[0], before))) {
        struct span rest = take_rest(t);
        sweep_span(t, &rest);
    }
}

static void sweep_spans(struct trace *t)
{
    uint32_t *order = sorted(t, t->span_count, t->spans, span_before), track = 0;
    t->rests_left = t->span_count * RESTS_EACH;
    if (t->span_count)
        t->event = builder_event(t->b, t->profile_count ? STR("events") : STR("time"),
                                 UNIT_NANOSECONDS);
    for (size_t i = 0; order && i < t->span_count && !t->arena.failed; i++) {
        const struct span *s = &t->spans[order[i]];
        if (s->track != track) {
            sweep_rests(t, NULL);
            close_until(t, INT64_MAX);
            t->thread = make_thread(t, &t->tracks[s->track]);
        }
        track = s->track;
        sweep_rests(t, s);
        sweep_span(t, s);
    }
    sweep_rests(t, NULL);
    close_until(t, INT64_MAX);
}

/* --- Samples ------------------------------------------------------------------- */

/* The stack of a node: its callers are climbed up to the first whose stack is known, and
 * come down from there. */
static stack_id stack_of(struct trace *t, uint32_t number)
{
    builder_path_clear(t->b);
    stack_id stack = 0;
    uint32_t at = number;
    for (; at && at < t->node_cap && t->nodes[at].known; at = t->nodes[at].parent) {
        struct node *node = &t->nodes[at];
        if (node->done) {
            stack = node->stack;
            break;
        }
        if (node->visiting) {
            builder_warn(t->b, "a stack frame that calls itself", 0, 0, STR(""));
            break;
        }
        node->visiting = true;
        builder_path_add(t->b, at);
    }
    if (at && (at >= t->node_cap || !t->nodes[at].known))
        builder_warn(t->b, "a stack frame that is not in the file", 0, 0, STR(""));
    for (size_t i = t->b->path.count; i-- > 0;) {
        struct node *node = &t->nodes[t->b->path.items[i]];
        stack = builder_push(t->b, stack, node->frame);
        node->stack = stack;
        node->done = true;
        node->visiting = false;
    }
    return stack;
}

/* A sample without a name stands for the time until the thread's next one; one with a
 * name counts what it names. */
static void add_samples(struct trace *t)
{
    uint32_t *order = sorted(t, t->sample_count, t->samples, sample_before), track = 0;
    for (size_t i = 0; order && i < t->sample_count; i++) {
        const struct sampled *s = &t->samples[order[i]];
        const struct sampled *next =
            i + 1 < t->sample_count ? &t->samples[order[i + 1]] : NULL;
        double weight = s->weight;
        if (!s->event)
            weight = next && next->track == s->track ? (double)(next->time - s->time) : 0;
        if (s->track != track)
            t->thread = make_thread(t, &t->tracks[s->track]);
        track = s->track;
        struct str name = profile_string(t->b->profile, s->event);
        event_id event = s->event ? builder_event(t->b, name, UNIT_COUNT)
                                  : builder_event(t->b, STR("time"), UNIT_NANOSECONDS);
        if (weight > 0)
            add_row(t, s->time, weight, event, stack_of(t, s->node));
    }
}

/* V8's profiles, those that any sample is in. */
static void add_profiles(struct trace *t)
{
    for (size_t i = 0; i < t->profile_count; i++) {
        struct js_profile *p = &t->profiles[i];
        thread_id thread = make_thread(t, &t->tracks[p->track]);
        if (!t->arena.failed)
            v8_finish(&p->profile, thread);
        v8_deinit(&p->profile);
    }
}

static bool trace_event_read(struct source *in, const struct import_options *options,
                             struct builder *b, struct error *err)
{
    struct trace t = {.options = options, .b = b, .track_count = 1, .process_count = 1};
    uint64_t before = b->profile->facts.samples;
    json_init(&t.json, in, true, err);
    v8_init(&t.chunk, b, options);
    if (strings_init(&t.ids, &t.arena))
        read_file(&t);
    add_profiles(&t);
    if (!t.arena.failed) {
        pair_marks(&t);
        sweep_spans(&t);
        add_samples(&t);
    }
    b->profile->arena.failed |= t.arena.failed;
    v8_deinit(&t.chunk);
    output_deinit(&t.record.name);
    output_deinit(&t.record.args_name);
    output_deinit(&t.record.file);
    arena_deinit(&t.arena);
    return json_input_end(&t.json, b, before);
}

static int trace_event_probe(struct str head)
{
    struct str text = str_trim_left(head);
    if (str_starts(text, STR("{")) && str_has(text, STR("\"traceEvents\"")))
        return 70;
    bool events = str_has(text, STR("\"ph\"")) && str_has(text, STR("\"ts\""));
    return str_starts(text, STR("[")) && events ? 60 : 0;
}

const struct importer import_trace_event = {
    .name = "trace-event",
    .suffixes = "json,trace",
    .summary = "Chrome trace-event JSON (chrome://tracing, Perfetto's old form)",
    .probe = trace_event_probe,
    .shape = SHAPE_JSON,
    .read = trace_event_read,
};
