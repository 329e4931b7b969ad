/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope's own file format, all versions: JSON with a list of frames and one profile
 * a thread, each either "sampled" (stacks and their weights) or "evented" (frames opening
 * and closing).
 *
 *   {"$schema": "https://www.speedscope.app/file-format-schema.json",
 *    "shared": {"frames": [{"name": "a", "file": "a.c", "line": 3}, ...]},
 *    "profiles": [{"type": "sampled", "name": "main", "unit": "seconds",
 *                  "samples": [[0, 1], ...], "weights": [0.5, ...]}, ...]}
 *
 * The members of an object come in any order, the frames often last. So stacks are built
 * of frame numbers, in a builder of their own, and merged once all is known. */
#include "base/number.h"
#include "codec/json.h"
#include "import/importer.h"
#include "import/json_input.h"
#include "model/label.h"

/* Frames with a smaller number are found by it. */
#define NUMBERS_MAX 16384

struct shared_frame {
    string_id name, file;
    uint32_t line;
    enum frame_kind kind; /* only stoke tells it */
};

/* One of the file's profiles: number n is event n and thread n of the parts. */
struct part {
    string_id name, unit;
    double start, end;
    bool has_end;
    bool evented; /* times count from zero, not from the start */
    bool ours;    /* written by stoke, which tells more: */
    string_id event, event_unit, thread;
    int64_t pid, tid;
};

/* A frame that is open, and the stack up to it. */
struct open_frame {
    frame_id frame;
    stack_id stack;
};

struct speedscope {
    struct json json;
    const struct import_options *options;
    struct builder *b;    /* what the caller gets */
    struct builder parts; /* frames have no name, but their number + 1 as address */
    struct arena arena;
    frame_id *numbered; /* NUMBERS_MAX frames of the parts, 0 where not met */
    struct shared_frame *frames;
    size_t frame_count, frame_cap;
    struct part *items; /* [0] is none */
    size_t count, cap;
    bool differential;
    double *times; /* of each sample of the parts, in units of its part; only to keep */
    size_t time_cap;

    /* The profile under way. */
    stack_id *stacks; /* samples that wait for their weight */
    double *weights;  /* weights that wait for their sample */
    size_t stack_count, stack_cap, weight_count, weight_cap;
    double now;
    bool started, weighted;
    struct open_frame *open;
    size_t open_count, open_cap;
    uint32_t *times_open; /* by frame of the parts */
    size_t times_open_cap;
};

static string_id add_string(struct speedscope *r, struct str s)
{
    return builder_string(&r->parts, s);
}

/* Takes the value at hand into *id; leaves it where the value is no text. */
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
        double *times =
            arena_grow(&r->arena, r->times, &r->time_cap, row + 1, sizeof *times);
        if (!times)
            return;
        r->times = times;
        times[row] = time;
    }
    builder_add(parts, &(struct sample){.time = TIME_NONE,
                                        .thread = part,
                                        .cpu = CPU_NONE,
                                        .event = part,
                                        .stack = stack,
                                        .count = 1,
                                        .weight = weight});
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

/* The frame that stands for a number of the list; those of small numbers are known. */
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

/* Takes the number of a frame; 0 where it is none. Whether the list has such a frame is
 * not known yet. */
static frame_id take_frame(struct speedscope *r)
{
    uint32_t number;
    if (json_index(&r->json, &number))
        return frame_numbered(r, number);
    if (!r->json.failed && !r->json.cut)
        json_warn(&r->json, &r->parts, "a frame that is not a number of the list");
    return 0;
}

static void read_samples(struct speedscope *r)
{
    struct json *j = &r->json;
    size_t met = 0;
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
        if (met < r->weight_count) {
            add_sample(r, stack, r->weights[met++]);
            continue;
        }
        stack_id *stacks = arena_grow(&r->arena, r->stacks, &r->stack_cap,
                                      r->stack_count + 1, sizeof *stacks);
        if (!stacks)
            return;
        r->stacks = stacks;
        stacks[r->stack_count++] = stack;
    }
    r->weight_count -= met;
}

static void read_weights(struct speedscope *r)
{
    struct json *j = &r->json;
    size_t met = 0;
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
        if (met < r->stack_count) {
            add_sample(r, r->stacks[met++], weight);
            continue;
        }
        double *weights = arena_grow(&r->arena, r->weights, &r->weight_cap,
                                     r->weight_count + 1, sizeof *weights);
        if (!weights)
            return;
        r->weights = weights;
        weights[r->weight_count++] = weight;
    }
    if (met)
        memmove(r->stacks, r->stacks + met, (r->stack_count - met) * sizeof *r->stacks);
    r->stack_count -= met;
}

/* --- Events ----------------------------------------------------------------------- */

/* Time goes on to `at`: what is open has run until then. */
static void go_on(struct speedscope *r, double at)
{
    if (r->started && at < r->now) {
        json_warn(&r->json, &r->parts, "an event that is earlier than the one before it");
        return;
    }
    if (r->open_count && at > r->now)
        add_row(r, r->open[r->open_count - 1].stack, at - r->now, r->now);
    r->now = at;
    r->started = true;
}

/* Counts how often each frame is open. NULL when memory is short. */
static uint32_t *times_open(struct speedscope *r, frame_id frame)
{
    size_t before = r->times_open_cap;
    uint32_t *times = arena_grow(&r->arena, r->times_open, &r->times_open_cap,
                                 (size_t)frame + 1, sizeof *times);
    if (!times)
        return NULL;
    if (r->times_open_cap > before)
        memset(times + before, 0, (r->times_open_cap - before) * sizeof *times);
    r->times_open = times;
    return &times[frame];
}

static void open_frame(struct speedscope *r, frame_id frame)
{
    struct open_frame *open =
        arena_grow(&r->arena, r->open, &r->open_cap, r->open_count + 1, sizeof *open);
    if (!open)
        return;
    r->open = open;
    uint32_t *times = times_open(r, frame);
    if (!times)
        return;
    stack_id parent = r->open_count ? open[r->open_count - 1].stack : 0;
    open[r->open_count++] =
        (struct open_frame){frame, builder_push(&r->parts, parent, frame)};
    ++*times;
}

/* Closes the innermost open frame of that number, and those that it has called. */
static void close_frame(struct speedscope *r, frame_id frame)
{
    if (frame >= r->times_open_cap || r->times_open[frame] == 0) {
        json_warn(&r->json, &r->parts, "a frame is closed that is not open");
        return;
    }
    if (r->open[r->open_count - 1].frame != frame)
        json_warn(&r->json, &r->parts, "a frame is closed before those that it called");
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

/* What stoke adds to a profile that it writes: whose samples these are. */
static void read_ours(struct speedscope *r)
{
    struct json *j = &r->json;
    struct part *part = current(r);
    struct str key;
    double v;
    if (!json_enter(j, JSON_OBJECT))
        return;
    part->ours = true;
    while (json_key(j, &key)) {
        bool is_pid = str_equal(key, STR("pid"));
        if (str_equal(key, STR("event")))
            take_string(r, &part->event);
        else if (str_equal(key, STR("unit")))
            take_string(r, &part->event_unit);
        else if (str_equal(key, STR("thread")))
            take_string(r, &part->thread);
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
        read_ours(r);
    else
        json_skip(j);
}

/* Where no sample has a weight each counts as one; where others have, those without are
 * left out. */
static void end_profile(struct speedscope *r)
{
    const struct part *part = current(r);
    for (size_t i = 0; i < r->stack_count; i++) {
        json_warn(&r->json, &r->parts, "a sample without a weight");
        if (!r->weighted)
            add_sample(r, r->stacks[i], 1);
    }
    if (r->weight_count)
        json_warn(&r->json, &r->parts, "more weights than samples");
    if (r->open_count) {
        json_warn(&r->json, &r->parts, "frames that are never closed");
        if (part->has_end && part->end > r->now)
            go_on(r, part->end);
    }
    while (r->open_count)
        r->times_open[r->open[--r->open_count].frame]--;
    r->stack_count = r->weight_count = 0;
    r->now = 0;
    r->started = r->weighted = false;
}

/* Makes the next part, with an event and a thread of the same number. */
static bool add_part(struct speedscope *r)
{
    char text[NUMBER_TEXT_MAX];
    struct part *items =
        arena_grow(&r->arena, r->items, &r->cap, r->count + 1, sizeof *items);
    if (!items)
        return false;
    r->items = items;
    items[r->count] = (struct part){.pid = ID_NONE, .tid = ID_NONE};
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
    struct shared_frame *frames = arena_grow(&r->arena, r->frames, &r->frame_cap,
                                             r->frame_count + 1, sizeof *frames);
    if (!frames)
        return;
    r->frames = frames;
    frames[r->frame_count++] = f;
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

/* What stoke adds to the file: facts about the recording. */
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

/* --- All is known ------------------------------------------------------------------ */

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
    struct str ours = profile_string(r->parts.profile, part->event_unit);
    struct value_unit unit = value_units[0];
    for (size_t i = 0; i < sizeof value_units / sizeof *value_units; i++)
        if (str_equal(name, str_of(value_units[i].name)))
            unit = value_units[i];
    if (str_equal(ours, STR("cycles")))
        unit.unit = UNIT_CYCLES;
    if (str_equal(ours, STR("events")))
        unit.unit = UNIT_EVENTS;
    if (str_equal(ours, STR("ms")) && unit.unit == UNIT_NANOSECONDS) {
        unit.unit = UNIT_MILLISECONDS;
        unit.scale /= 1e6;
    }
    return unit;
}

/* Gives the frames of the parts what stands in the list under their numbers. */
static void name_frames(struct speedscope *r)
{
    struct profile *p = r->parts.profile;
    for (frame_id f = 1; f < p->frame_count; f++) {
        uint64_t number = p->frames[f].address - 1;
        p->frames[f] = (struct frame){0};
        if (number >= r->frame_count) {
            builder_warn(&r->parts, "a frame number that is not in the list", 0, 0,
                         STR(""));
            continue;
        }
        const struct shared_frame *from = &r->frames[number];
        enum frame_kind marked = label_suffix_kind(profile_string(p, from->name));
        p->frames[f] = (struct frame){.name = from->name,
                                      .file = from->file,
                                      .line = from->line,
                                      .kind = from->kind ? from->kind : marked};
    }
}

/* Gives the events and threads of the parts their names: threads only where there are
 * several, or where the file says which. */
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
        if (!part->ours && r->count > 2)
            p->threads[n].name = part->name;
    }
}

static uint64_t time_of(struct value_unit unit, double value)
{
    return unit.unit == UNIT_NANOSECONDS ? time_of_ns(value * unit.scale) : TIME_NONE;
}

/* Puts weights and times into the model's units. Idle time, a sample without a stack, is
 * left out. */
static void scale_samples(struct speedscope *r)
{
    struct profile *p = r->parts.profile;
    size_t kept = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        struct sample s = p->samples[i];
        const struct part *part = &r->items[s.thread];
        struct value_unit unit = unit_of(r, part);
        s.weight *= unit.scale;
        if (r->times)
            s.time = time_of(unit, r->times[i] + (part->evented ? 0 : part->start));
        if (s.stack || part->ours)
            p->samples[kept++] = s;
        else
            p->facts.samples -= s.count;
    }
    p->sample_count = kept;
}

/* The time range, of the parts that are measured in time. */
static void note_range(struct speedscope *r)
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
        scale_samples(&r);
        note_range(&r);
        bool first = b->profile->event_count == 1; /* nothing was read before */
        builder_merge(b, r.parts.profile);
        if (r.differential && first) /* before, after: in that order */
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
    struct str text = str_trim_left(head);
    if (!str_starts(text, STR("{")))
        return 0;
    if (str_has(text, STR("www.speedscope.app/file-format-schema.json")))
        return 100;
    return str_has(text, STR("\"profiles\"")) && (str_has(text, STR("\"startValue\"")) ||
                                                  str_has(text, STR("\"endValue\"")))
               ? 60
               : 0;
}

const struct importer import_speedscope = {
    .name = "speedscope",
    .suffixes = "speedscope.json",
    .summary = "speedscope JSON, sampled and evented",
    .probe = speedscope_probe,
    .shape = SHAPE_JSON,
    .read = speedscope_read,
};
