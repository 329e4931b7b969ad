/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope's file format, all versions: JSON with a list of frames and one profile
 * per thread, each either "sampled" (stacks and their weights) or "evented" (frames
 * that open and close).
 *
 *   {"$schema": "https://www.speedscope.app/file-format-schema.json",
 *    "shared": {"frames": [{"name": "a", "file": "a.c", "line": 3}, ...]},
 *    "profiles": [{"type": "sampled", "name": "main", "unit": "seconds",
 *                  "samples": [[0, 1], ...], "weights": [0.5, ...]}, ...]}
 *
 * The members of an object come in any order, often with the frames last. So stacks
 * are first made of frame indices, in a separate builder, and merged into the profile
 * at the end. */
#include "base/array.h"
#include "base/number.h"
#include "codec/json.h"
#include "import/importer.h"
#include "import/json_input.h"
#include "model/frame_label.h"
#include "model/sample_labels.h"

/* Frames with a smaller index are looked up in an array. */
#define NUMBERS_MAX 16384

struct shared_frame {
    string_id name, file;
    uint32_t line;
    enum frame_kind kind; /* only in files written by stoke */
};

/* One of the file's profiles: number n is event n and thread n of `parts`. */
struct part {
    string_id name, unit;
    double start, end;
    bool has_end;
    bool evented;  /* times count from zero, not from startValue */
    bool by_stoke; /* in files written by stoke: */
    string_id event, event_unit, thread;
    int64_t pid, tid;
};

/* An open frame, and the stack up to it. */
struct open_frame {
    frame_id frame;
    stack_id stack;
};

struct speedscope {
    struct json json;
    const struct import_options *options;
    struct builder *b;    /* the caller's */
    struct builder parts; /* its frames have no name; their address is their index + 1 */
    struct arena arena;
    frame_id *numbered; /* NUMBERS_MAX frames of `parts`, 0 if not used yet */
    struct shared_frame *frames;
    size_t frame_count, frame_cap;
    struct part *items; /* [0] is unused */
    size_t count, cap;
    bool differential;
    label_set_id *label_sets; /* by number in the file, from 1; only in files by stoke */
    size_t label_set_count, label_set_cap;
    double *times; /* of each sample of `parts`, in units of its part; only if
                      times are retained */
    size_t time_cap;

    /* The current profile. */
    stack_id *stacks; /* samples, without a weight yet from stacks_met on */
    double *weights;  /* weights, without a sample yet from weights_met on */
    size_t stack_count, stack_cap, weight_count, weight_cap;
    size_t stacks_met, weights_met;
    uint32_t *labels; /* by sample: the number of its label set in the file */
    size_t label_count, label_cap, labels_met;
    double now;
    bool started, weighted;
    struct open_frame *open;
    size_t open_count, open_cap;
    uint32_t *times_open; /* by frame of `parts` */
    size_t times_open_cap;
};

static string_id add_string(struct speedscope *r, struct str s)
{
    return builder_string(&r->parts, s);
}

/* Reads the current value into *id; does not change *id if the value is not a text. */
static void take_string(struct speedscope *r, string_id *id)
{
    struct str s;
    if (json_text(&r->json, &s))
        *id = add_string(r, s);
}

static struct part *current(struct speedscope *r)
{
    return &r->items[r->count - 1];
}

/* --- Samples ---------------------------------------------------------------------- */

static void add_row(struct speedscope *r, stack_id stack, double weight, double time)
{
    struct builder *parts = &r->parts;
    uint32_t part = (uint32_t)r->count - 1;
    if (parts->mode == BUILD_KEEP) {
        size_t row = parts->profile->sample_count;
        if (!ARRAY_RESERVE(&r->arena, r->times, r->time_cap, row + 1))
            return;
        r->times[row] = time;
    }
    struct sample s = {.time = TIME_NONE,
                       .thread = part,
                       .cpu = CPU_NONE,
                       .event = part,
                       .stack = stack,
                       .count = 1,
                       .weight = weight};
    bool is_labelled = r->labels_met < r->label_count;
    builder_add_labelled(parts, &s, is_labelled ? r->labels[r->labels_met++] : 0);
}

static void add_sample(struct speedscope *r, stack_id stack, double weight)
{
    if (weight < 0) {
        json_warn(&r->json, &r->parts, "a negative weight");
        return;
    }
    add_row(r, stack, weight, r->now);
    r->now += weight;
}

/* The frame for an index of the list; those with small indices are in an array. */
static frame_id frame_numbered(struct speedscope *r, uint32_t number)
{
    frame_id *known = number < NUMBERS_MAX ? &r->numbered[number] : NULL;
    if (known && *known)
        return *known;
    frame_id frame =
        builder_frame(&r->parts, &(struct frame){.address = (uint64_t)number + 1});
    if (known)
        *known = frame;
    return frame;
}

/* Reads the index of a frame; 0 if it is invalid. Whether the list has such a frame is
 * not known yet. */
static frame_id take_frame(struct speedscope *r)
{
    uint32_t number;
    if (json_index(&r->json, &number))
        return frame_numbered(r, number);
    if (!r->json.failed && !r->json.cut)
        json_warn(&r->json, &r->parts, "a frame that is not an index of the list");
    return 0;
}

static void read_samples(struct speedscope *r)
{
    struct json *j = &r->json;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j)) {
        builder_path_clear(&r->parts);
        if (json_enter(j, JSON_ARRAY))
            while (json_item(j))
                builder_path_add(&r->parts, take_frame(r));
        if (j->cut)
            break;
        stack_id stack = builder_path_from_root(&r->parts);
        if (r->weights_met < r->weight_count) {
            add_sample(r, stack, r->weights[r->weights_met++]);
            continue;
        }
        stack_id *added =
            ARRAY_APPEND(&r->arena, r->stacks, r->stack_count, r->stack_cap);
        if (!added)
            return;
        *added = stack;
    }
}

static void read_weights(struct speedscope *r)
{
    struct json *j = &r->json;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j)) {
        double weight = 0;
        if (!json_number(j, &weight)) {
            if (j->cut)
                break;
            json_warn(j, &r->parts, "a weight that is not a number");
        }
        r->weighted = true;
        if (r->stacks_met < r->stack_count) {
            add_sample(r, r->stacks[r->stacks_met++], weight);
            continue;
        }
        double *added =
            ARRAY_APPEND(&r->arena, r->weights, r->weight_count, r->weight_cap);
        if (!added)
            return;
        *added = weight;
    }
}

/* --- Events ----------------------------------------------------------------------- */

/* Advances the time to `at`. The time since the preceding event belongs to the open
 * frames. */
static void go_on(struct speedscope *r, double at)
{
    if (r->started && at < r->now) {
        json_warn(&r->json, &r->parts, "an event that is earlier than the preceding one");
        return;
    }
    if (r->open_count && at > r->now)
        add_row(r, r->open[r->open_count - 1].stack, at - r->now, r->now);
    r->now = at;
    r->started = true;
}

/* Counts how often each frame is open. NULL if out of memory. */
static uint32_t *times_open(struct speedscope *r, frame_id frame)
{
    size_t count = (size_t)frame + 1;
    return ARRAY_RESERVE_ZEROED(&r->arena, r->times_open, r->times_open_cap, count)
               ? &r->times_open[frame]
               : NULL;
}

static void open_frame(struct speedscope *r, frame_id frame)
{
    if (!ARRAY_RESERVE(&r->arena, r->open, r->open_cap, r->open_count + 1))
        return;
    uint32_t *times = times_open(r, frame);
    if (!times)
        return;
    stack_id parent = r->open_count ? r->open[r->open_count - 1].stack : 0;
    r->open[r->open_count++] =
        (struct open_frame){frame, builder_push(&r->parts, parent, frame)};
    ++*times;
}

/* Closes the innermost open frame with that index, and its callees. */
static void close_frame(struct speedscope *r, frame_id frame)
{
    if (frame >= r->times_open_cap || r->times_open[frame] == 0) {
        json_warn(&r->json, &r->parts, "the end of a frame that is not open");
        return;
    }
    if (r->open[r->open_count - 1].frame != frame)
        json_warn(&r->json, &r->parts,
                  "the end of a frame before the end of its callees");
    for (frame_id closed = 0; closed != frame;) {
        closed = r->open[--r->open_count].frame;
        r->times_open[closed]--;
    }
}

static void read_event(struct speedscope *r)
{
    struct json *j = &r->json;
    struct str key, type;
    double at = 0;
    frame_id frame = 0;
    char kind = 0;
    bool has_at = false;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("type")))
            kind = json_string(j, &type) && type.len == 1 ? type.ptr[0] : 0;
        else if (str_equal(key, STR("frame")))
            frame = take_frame(r);
        else if (str_equal(key, STR("at")))
            has_at = json_number(j, &at);
        else
            json_skip(j);
    }
    if (j->cut)
        return;
    if (!has_at || !frame || (kind != 'O' && kind != 'C')) {
        json_warn(j, &r->parts, "an event without a type, a frame or a time");
        return;
    }
    go_on(r, at);
    if (kind == 'O')
        open_frame(r, frame);
    else
        close_frame(r, frame);
}

static void read_events(struct speedscope *r)
{
    current(r)->evented = true;
    if (json_enter(&r->json, JSON_ARRAY))
        while (json_item(&r->json) && !builder_failed(&r->parts) && !r->arena.failed)
            read_event(r);
}

/* --- Profiles --------------------------------------------------------------------- */

/* The label sets of the samples, by their numbers in the file: the list of the sets may
 * come later, so label_samples replaces the numbers. */
static void read_sample_labels(struct speedscope *r)
{
    struct json *j = &r->json;
    if (r->stacks_met || r->weights_met)
        json_warn(j, &r->parts, "labels that come after their samples");
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j)) {
        uint32_t *added =
            ARRAY_APPEND(&r->arena, r->labels, r->label_count, r->label_cap);
        if (!added)
            return;
        if (!json_index(j, added))
            *added = 0;
    }
}

/* Members that stoke adds to a profile: the thread and process of its samples. */
static void read_stoke_member(struct speedscope *r)
{
    struct json *j = &r->json;
    struct part *part = current(r);
    struct str key;
    double v;
    if (!json_enter(j, JSON_OBJECT))
        return;
    part->by_stoke = true;
    while (json_key(j, &key)) {
        bool is_pid = str_equal(key, STR("pid"));
        if (str_equal(key, STR("event")))
            take_string(r, &part->event);
        else if (str_equal(key, STR("unit")))
            take_string(r, &part->event_unit);
        else if (str_equal(key, STR("thread")))
            take_string(r, &part->thread);
        else if (str_equal(key, STR("labels")))
            read_sample_labels(r);
        else if (!is_pid && !str_equal(key, STR("tid")))
            json_skip(j);
        else if (json_number(j, &v) && v >= -1e15 && v <= 1e15)
            *(is_pid ? &part->pid : &part->tid) = (int64_t)v;
    }
}

static void read_member(struct speedscope *r, struct str key)
{
    struct json *j = &r->json;
    struct part *part = current(r);
    if (str_equal(key, STR("name")))
        take_string(r, &part->name);
    else if (str_equal(key, STR("unit")))
        take_string(r, &part->unit);
    else if (str_equal(key, STR("startValue")))
        json_number(j, &part->start);
    else if (str_equal(key, STR("endValue")))
        part->has_end = json_number(j, &part->end);
    else if (str_equal(key, STR("samples")))
        read_samples(r);
    else if (str_equal(key, STR("weights")))
        read_weights(r);
    else if (str_equal(key, STR("events")))
        read_events(r);
    else if (str_equal(key, STR("stoke")))
        read_stoke_member(r);
    else
        json_skip(j);
}

/* If no sample has a weight, each has weight 1. If others have one, samples without
 * are skipped. */
static void end_profile(struct speedscope *r)
{
    const struct part *part = current(r);
    for (size_t i = r->stacks_met; i < r->stack_count; i++) {
        json_warn(&r->json, &r->parts, "a sample without a weight");
        if (!r->weighted)
            add_sample(r, r->stacks[i], 1);
    }
    if (r->weights_met < r->weight_count)
        json_warn(&r->json, &r->parts, "more weights than samples");
    if (r->open_count) {
        json_warn(&r->json, &r->parts, "frames that are never closed");
        if (part->has_end && part->end > r->now)
            go_on(r, part->end);
    }
    while (r->open_count)
        r->times_open[r->open[--r->open_count].frame]--;
    r->stack_count = r->weight_count = r->stacks_met = r->weights_met = 0;
    r->label_count = r->labels_met = 0;
    r->now = 0;
    r->started = r->weighted = false;
}

/* Makes the next part, with an event and a thread of the same index. */
static bool add_part(struct speedscope *r)
{
    char text[NUMBER_TEXT_MAX];
    if (!ARRAY_RESERVE(&r->arena, r->items, r->cap, r->count + 1))
        return false;
    r->items[r->count] = (struct part){.pid = ID_NONE, .tid = ID_NONE};
    if (r->count++ == 0)
        return true;
    struct str name = {text, number_write_u64(r->count, text)};
    return builder_event(&r->parts, name, UNIT_COUNT) == r->count - 1 &&
           builder_thread(&r->parts, ID_NONE, ID_NONE, name) == r->count - 1;
}

static void read_profiles(struct speedscope *r)
{
    struct json *j = &r->json;
    struct str key;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j) && add_part(r)) {
        if (!json_enter(j, JSON_OBJECT))
            continue;
        while (json_key(j, &key))
            read_member(r, key);
        if (!builder_failed(&r->parts) && !r->arena.failed)
            end_profile(r);
    }
}

static void read_frame(struct speedscope *r)
{
    struct json *j = &r->json;
    struct str key, s;
    struct shared_frame f = {0};
    if (json_enter(j, JSON_OBJECT)) {
        while (json_key(j, &key)) {
            if (str_equal(key, STR("name")))
                take_string(r, &f.name);
            else if (str_equal(key, STR("file")) && r->options->lines)
                take_string(r, &f.file);
            else if (str_equal(key, STR("line")) && r->options->lines)
                json_index(j, &f.line);
            else if (str_equal(key, STR("kind")))
                f.kind = json_string(j, &s) ? kind_named(s) : FRAME_USER;
            else
                json_skip(j);
        }
    }
    struct shared_frame *frame =
        ARRAY_APPEND(&r->arena, r->frames, r->frame_count, r->frame_cap);
    if (!frame)
        return;
    *frame = f;
}

static void read_shared(struct speedscope *r)
{
    struct json *j = &r->json;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (!str_equal(key, STR("frames"))) {
            json_skip(j);
            continue;
        }
        if (json_enter(j, JSON_ARRAY))
            while (json_item(j) && !r->arena.failed)
                read_frame(r);
    }
}

/* "-12". */
static bool parse_i64(struct str text, int64_t *out)
{
    bool negative = str_starts(text, STR("-"));
    uint64_t size;
    if (!number_parse_u64(str_skip(text, negative), &size) ||
        size > (uint64_t)INT64_MAX + negative)
        return false;
    *out = (int64_t)(negative ? 0 - size : size);
    return true;
}

/* A label set: one more label than its parent, which comes before it. */
static label_set_id read_label_set(struct speedscope *r)
{
    struct json *j = &r->json;
    struct sample_label label = {0};
    struct str key, number;
    string_id value = 0;
    uint32_t parent = 0;
    if (!json_enter(j, JSON_OBJECT))
        return 0;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("parent")))
            json_index(j, &parent);
        else if (str_equal(key, STR("key")))
            take_string(r, &label.key);
        else if (str_equal(key, STR("value")))
            take_string(r, &value);
        else if (str_equal(key, STR("unit")))
            take_string(r, &label.unit);
        else if (!str_equal(key, STR("number")))
            json_skip(j);
        else if (json_text(j, &number))
            label.is_number = parse_i64(number, &label.number);
    }
    if (label.is_number)
        value = 0;
    else
        label.unit = 0;
    label.text = value;
    parent = parent <= r->label_set_count ? parent : 0;
    return builder_label_set_add(&r->parts, parent ? r->label_sets[parent] : 0,
                                 builder_label(&r->parts, &label));
}

static void read_label_sets(struct speedscope *r)
{
    struct json *j = &r->json;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j)) {
        label_set_id set = read_label_set(r);
        label_set_id *added = ARRAY_APPEND_FROM_1(&r->arena, r->label_sets,
                                                  r->label_set_count, r->label_set_cap);
        if (!added)
            return;
        *added = set;
    }
}

/* The member that stoke adds to the file: facts about the recording. */
static void read_facts(struct speedscope *r)
{
    struct json *j = &r->json;
    struct facts *facts = &r->parts.profile->facts;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        double v = 0;
        if (str_equal(key, STR("host")))
            take_string(r, &facts->host);
        else if (str_equal(key, STR("command")))
            take_string(r, &facts->command);
        else if (str_equal(key, STR("differential")))
            json_bool(j, &r->differential);
        else if (str_equal(key, STR("labels")))
            read_label_sets(r);
        else if (!str_equal(key, STR("lost")))
            json_skip(j);
        else if (json_number(j, &v) && v >= 0 && v < 1e15)
            facts->lost = (uint64_t)v;
    }
}

static void read_file(struct speedscope *r)
{
    struct json *j = &r->json;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("shared")))
            read_shared(r);
        else if (str_equal(key, STR("profiles")))
            read_profiles(r);
        else if (str_equal(key, STR("stoke")))
            read_facts(r);
        else
            json_skip(j);
    }
}

/* --- After the file is read ----------------------------------------------------------
 */

static const struct value_unit {
    const char *name, *event;
    enum unit unit;
    double scale;
} value_units[] = {
    {"none", "samples", UNIT_COUNT, 1},
    {"nanoseconds", "time", UNIT_NANOSECONDS, 1},
    {"microseconds", "time", UNIT_NANOSECONDS, 1e3},
    {"milliseconds", "time", UNIT_NANOSECONDS, 1e6},
    {"seconds", "time", UNIT_NANOSECONDS, 1e9},
    {"bytes", "bytes", UNIT_BYTES, 1},
};

static struct value_unit unit_of(const struct speedscope *r, const struct part *part)
{
    struct str name = profile_string(r->parts.profile, part->unit);
    struct str by_stoke = profile_string(r->parts.profile, part->event_unit);
    struct value_unit unit = value_units[0];
    for (size_t i = 0; i < sizeof value_units / sizeof *value_units; i++)
        if (str_equal(name, str_of(value_units[i].name)))
            unit = value_units[i];
    if (str_equal(by_stoke, STR("cycles")))
        unit.unit = UNIT_CYCLES;
    if (str_equal(by_stoke, STR("events")))
        unit.unit = UNIT_EVENTS;
    if (str_equal(by_stoke, STR("ms")) && unit.unit == UNIT_NANOSECONDS) {
        unit.unit = UNIT_MILLISECONDS;
        unit.scale /= 1e6;
    }
    return unit;
}

/* Sets names and locations of the frames of `parts` from the file's list. */
static void name_frames(struct speedscope *r)
{
    struct profile *p = r->parts.profile;
    for (frame_id f = 1; f < p->frame_count; f++) {
        uint64_t number = p->frames[f].address - 1;
        p->frames[f] = (struct frame){0};
        if (number >= r->frame_count) {
            builder_warn(&r->parts, "a frame index that is not in the list", 0, 0,
                         STR(""));
            continue;
        }
        const struct shared_frame *from = &r->frames[number];
        enum frame_kind marked = label_suffix_kind(profile_string(p, from->name));
        p->frames[f] = (struct frame){
            .name = from->kind ? import_label(&r->parts, from->name) : from->name,
            .file = from->file,
            .line = from->line,
            .kind = from->kind ? from->kind : marked};
    }
}

/* Replaces the numbers of label sets in the file. */
static void label_samples(struct speedscope *r)
{
    struct profile *p = r->parts.profile;
    for (size_t i = 0; p->sample_labels && i < p->sample_count; i++) {
        uint32_t number = p->sample_labels[i];
        if (number > r->label_set_count)
            builder_warn(&r->parts, "a label set that is not in the list", 0, 0, STR(""));
        p->sample_labels[i] =
            number && number <= r->label_set_count ? r->label_sets[number] : 0;
    }
}

/* Sets the names of events and threads of `parts`: of threads only if there are
 * several, or if the file names them. */
static void name_parts(struct speedscope *r)
{
    struct profile *p = r->parts.profile;
    for (uint32_t n = 1; n < r->count; n++) {
        struct part *part = &r->items[n];
        struct value_unit unit = unit_of(r, part);
        bool named = part->event != 0;
        p->events[n].name = named ? part->event : add_string(r, str_of(unit.event));
        p->events[n].unit = unit.unit;
        p->threads[n] = (struct thread){part->pid, part->tid, part->thread};
        if (!part->by_stoke && r->count > 2)
            p->threads[n].name = part->name;
    }
}

static uint64_t time_of(struct value_unit unit, double value)
{
    return unit.unit == UNIT_NANOSECONDS ? time_of_ns(value * unit.scale) : TIME_NONE;
}

/* Converts weights and times to the model's units. Samples without a stack, idle time,
 * are left out with a warning. */
static void scale_samples(struct speedscope *r)
{
    struct profile *p = r->parts.profile;
    size_t count = 0;
    uint64_t idle = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        struct sample s = p->samples[i];
        label_set_id labels = profile_labels(p, i);
        const struct part *part = &r->items[s.thread];
        struct value_unit unit = unit_of(r, part);
        s.weight *= unit.scale;
        if (r->times)
            s.time = time_of(unit, r->times[i] + (part->evented ? 0 : part->start));
        if (s.stack || part->by_stoke) {
            p->samples[count] = s;
            if (p->sample_labels)
                p->sample_labels[count] = labels;
            count++;
        } else {
            p->facts.samples -= s.count;
            idle += s.weight > 0 ? s.count : 0;
        }
    }
    p->sample_count = count;
    builder_warn_times(&r->parts, "a sample without a stack (idle time)", idle);
}

/* The time range of the parts whose unit is a time. */
static void set_time_range(struct speedscope *r)
{
    struct facts *facts = &r->parts.profile->facts;
    for (uint32_t n = 1; n < r->count; n++) {
        const struct part *part = &r->items[n];
        uint64_t from = time_of(unit_of(r, part), part->start);
        uint64_t to = time_of(unit_of(r, part), part->end);
        if (!part->has_end || from == TIME_NONE || to == TIME_NONE || to <= from)
            continue;
        if (facts->time_first == TIME_NONE || from < facts->time_first)
            facts->time_first = from;
        if (facts->time_last == TIME_NONE || to > facts->time_last)
            facts->time_last = to;
    }
}

static bool speedscope_read(struct source *in, const struct import_options *options,
                            struct builder *b, struct error *err)
{
    struct speedscope r = {.options = options, .b = b};
    uint64_t before = b->profile->facts.samples;
    json_init(&r.json, in, true, err);
    r.numbered = arena_zalloc(&r.arena, NUMBERS_MAX, sizeof *r.numbered);
    bool ready = builder_init(&r.parts, b->mode) && r.numbered && add_part(&r);
    if (ready)
        read_file(&r);
    if (ready && !builder_failed(&r.parts) && !r.arena.failed) {
        name_frames(&r);
        name_parts(&r);
        label_samples(&r);
        scale_samples(&r);
        set_time_range(&r);
        bool first = b->profile->event_count == 1; /* the profile was empty before */
        builder_merge(b, r.parts.profile);
        if (r.differential && first) /* before and after, in this order */
            b->profile->facts.differential = b->profile->event_count == 3;
    }
    b->profile->arena.failed |= !ready || r.arena.failed;
    if (ready)
        b->profile->arena.failed |= builder_failed(&r.parts);
    builder_deinit(&r.parts);
    arena_deinit(&r.arena);
    return json_input_end(&r.json, b, before);
}

static int speedscope_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {100, '{', {"www.speedscope.app/file-format-schema.json"}},
        {60, '{', {"\"profiles\""}, {"\"startValue\"", "\"endValue\""}},
        {0}};
    return json_probe(head, rules);
}

const struct importer import_speedscope = {
    .name = "speedscope",
    .suffixes = "speedscope.json",
    .summary = "speedscope JSON, sampled and evented",
    .probe = speedscope_probe,
    .shape = SHAPE_JSON,
    .read = speedscope_read,
};
