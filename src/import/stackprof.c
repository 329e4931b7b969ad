/* SPDX-License-Identifier: Apache-2.0 */
/* stackprof's JSON, from Ruby programs, with raw samples:
 *
 *   {"mode": "wall", "interval": 1000, "frames": {"7009": {"name": "Object#a", ...},
 * ...}, "raw": [3, 7009, 7010, 7011, 2, ...], "raw_timestamp_deltas": [1162, 961, ...]}
 *
 * "raw" repeats: number of frames, the frames, root first, number of samples with that
 * stack. The deltas are microseconds of wall-clock time, one per sample: in mode
 * "wall", the weight of the sample. In mode "cpu", and without deltas, the weight is
 * the interval, in CPU time. For allocated objects, each sample is one object. */
#include "base/array.h"
#include "base/idmap.h"
#include "base/number.h"
#include "import/importer.h"
#include "import/json_input.h"
#include "import/stated.h"

#define DELTA_MOST 1e15

struct stackprof {
    struct json json;
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct idmap frames;
    uint64_t *raw;
    double *deltas;
    size_t raw_count, raw_cap, delta_count, delta_cap;
    string_id mode;
    double interval, stated; /* "samples": the expected number */
};

static void read_frame(struct stackprof *s, uint64_t id)
{
    struct json *j = &s->json;
    struct frame f = {0};
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("name")))
            f.name = json_name(j, s->b);
        else if (s->options->lines && str_equal(key, STR("file")))
            f.file = json_name(j, s->b);
        else if (s->options->lines && str_equal(key, STR("line")))
            json_index(j, &f.line);
        else
            json_skip(j);
    }
    uint64_t *frame = idmap_put(&s->frames, &s->arena, id);
    if (frame)
        *frame = builder_frame(s->b, &f);
}

static void read_frames(struct stackprof *s)
{
    struct str key;
    uint64_t id;
    if (!json_enter(&s->json, JSON_OBJECT))
        return;
    while (json_key(&s->json, &key) && !s->arena.failed) {
        if (number_parse_u64(key, &id))
            read_frame(s, id);
        else
            json_skip(&s->json);
    }
}

static void read_raw(struct stackprof *s)
{
    if (!json_enter(&s->json, JSON_ARRAY))
        return;
    while (json_item(&s->json)) {
        if (!ARRAY_RESERVE(&s->arena, s->raw, s->raw_cap, s->raw_count + 1))
            return;
        if (json_u64(&s->json, &s->raw[s->raw_count]))
            s->raw_count++;
    }
}

static void read_deltas(struct stackprof *s)
{
    if (!json_enter(&s->json, JSON_ARRAY))
        return;
    while (json_item(&s->json)) {
        if (!ARRAY_RESERVE(&s->arena, s->deltas, s->delta_cap, s->delta_count + 1))
            return;
        double v;
        if (json_number(&s->json, &v))
            s->deltas[s->delta_count++] = v >= 0 && v < DELTA_MOST ? v : 0;
    }
}

static void read_file(struct stackprof *s)
{
    struct json *j = &s->json;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !s->arena.failed) {
        if (str_equal(key, STR("frames")))
            read_frames(s);
        else if (str_equal(key, STR("raw")))
            read_raw(s);
        else if (str_equal(key, STR("raw_timestamp_deltas")))
            read_deltas(s);
        else if (str_equal(key, STR("mode")))
            s->mode = json_name(j, s->b);
        else if (str_equal(key, STR("interval")))
            json_number(j, &s->interval);
        else if (str_equal(key, STR("samples")))
            json_number(j, &s->stated);
        else
            json_skip(j);
    }
}

static stack_id stack_of(struct stackprof *s, const uint64_t *ids, size_t count)
{
    builder_path_clear(s->b);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *frame = idmap_find(&s->frames, ids[i]);
        if (frame)
            builder_path_add(s->b, (frame_id)*frame);
        else
            builder_warn(s->b, "a frame that is not in the file", 0, 0, STR(""));
    }
    return builder_path_from_root(s->b);
}

/* The garbage collector's samples have no stack: they are added to the stack that it
 * interrupted. */
static bool is_collector(const struct stackprof *s, stack_id stack)
{
    const struct profile *p = s->b->profile;
    string_id name = p->frames[p->stacks[stack].frame].name;
    return stack && !p->stacks[stack].parent &&
           str_equal(profile_string(p, name), STR("(garbage collection)"));
}

/* How the samples of one raw entry are weighted. */
struct weighing {
    event_id event;
    bool timed;      /* the samples have a time */
    bool counted;    /* each has weight 1 */
    bool by_deltas;  /* otherwise by the interval */
    double interval; /* microseconds */
    double now;      /* time of the next one, microseconds */
    size_t delta;    /* its difference to the preceding one */
    double samples;  /* so far */
};

static struct weighing weighing_of(struct stackprof *s)
{
    struct str mode = profile_string(s->b->profile, s->mode);
    bool cpu = str_equal(mode, STR("cpu")), wall = str_equal(mode, STR("wall"));
    bool counted = !(cpu || wall) || s->options->samples;
    return (struct weighing){.event =
                                 builder_event(s->b, mode.len ? mode : STR("samples"),
                                               counted ? UNIT_COUNT : UNIT_NANOSECONDS),
                             .timed = cpu || wall,
                             .counted = counted,
                             .by_deltas = s->delta_count > 0 && !(cpu && s->interval > 0),
                             .interval = s->interval > 0 ? s->interval : 1};
}

static void add_times(struct stackprof *s, struct weighing *w, stack_id stack,
                      uint64_t times)
{
    double from = w->now, passed = 0, weight = (double)times * w->interval;
    for (uint64_t i = 0; i < times && w->delta < s->delta_count; i++)
        passed += s->deltas[w->delta++];
    if (w->by_deltas)
        weight = passed;
    if (w->counted)
        weight = (double)times;
    w->now += s->delta_count ? passed : (double)times * w->interval;
    w->samples += (double)times;
    builder_add(s->b,
                &(struct sample){.time = w->timed ? time_of_ns(from * 1e3) : TIME_NONE,
                                 .cpu = CPU_NONE,
                                 .event = w->event,
                                 .stack = stack,
                                 .count = times < UINT32_MAX ? times : 1,
                                 .weight = w->counted ? weight : weight * 1e3});
}

static void add_samples(struct stackprof *s)
{
    struct weighing w = weighing_of(s);
    stack_id left = 0;
    for (size_t at = 0; at < s->raw_count && !builder_failed(s->b);) {
        uint64_t depth = s->raw[at++];
        if (depth >= s->raw_count - at) {
            builder_warn(s->b, "a truncated sample", 0, 0, STR(""));
            break;
        }
        stack_id stack = stack_of(s, s->raw + at, (size_t)depth);
        at += (size_t)depth;
        if (is_collector(s, stack))
            stack = builder_push(s->b, left, s->b->profile->stacks[stack].frame);
        else
            left = stack;
        add_times(s, &w, stack, s->raw[at++]);
    }
    if (s->stated > 0 && s->raw_count)
        stated_check(s->b, STR("counts"), w.samples, s->stated);
}

static bool stackprof_read(struct source *in, const struct import_options *options,
                           struct builder *b, struct error *err)
{
    struct stackprof s = {.b = b, .options = options};
    uint64_t before = b->profile->facts.samples;
    json_init(&s.json, in, true, err);
    read_file(&s);
    bool none = !s.json.failed && !s.arena.failed && s.raw_count == 0;
    if (!s.arena.failed)
        add_samples(&s);
    builder_end_scratch(b, &s.arena);
    bool ok = json_input_end(&s.json, b, before);
    if (!ok || !none || builder_failed(b))
        return ok;
    error_set(err, "this stackprof file has no raw samples");
    return error_hint(err, "record with 'raw: true': StackProf.run(raw: true, ...)");
}

static int stackprof_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {85, '{', {"\"mode\"", "\"frames\""}, {"\"total_samples\"", "\"raw\""}}, {0}};
    return json_probe(head, rules);
}

const struct importer import_stackprof = {
    .name = "stackprof",
    .suffixes = "json",
    .summary = "stackprof JSON of Ruby, with raw samples",
    .probe = stackprof_probe,
    .shape = SHAPE_JSON,
    .read = stackprof_read,
};
