/* SPDX-License-Identifier: Apache-2.0 */
/* A recording of Safari's timelines:
 *
 *   {"version": 1, "recording": {"displayName": "...", "sampleStackTraces": [
 *     {"timestamp": 4.47, "stackFrames": [{"name": "f", "line": 2, "url": "a.js"}, ...]},
 *     ...], "sampleDurations": [0.001, ...]}}
 *
 * Times are seconds. The innermost frame comes first. sampleDurations has one value
 * per sample, in the same order. */
#include "base/array.h"
#include "base/format.h"
#include "import/importer.h"
#include "import/json_input.h"

#define SECONDS_MOST 1e9

struct trace_sample {
    double time;
    stack_id stack;
};

struct safari {
    struct json json;
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct trace_sample *samples;
    double *durations;
    size_t sample_count, sample_cap, duration_count, duration_cap;
    string_id name;
};

/* A function without a name is identified by its location. */
static string_id anonymous(struct safari *s, string_id url, uint32_t line)
{
    char name[512];
    struct str file = str_basename(profile_string(s->b->profile, url));
    size_t length = file.len ? format_text(name, sizeof name, "(anonymous %.*s:%u)",
                                           STR_ARG(file), line)
                             : format_text(name, sizeof name, "(anonymous)");
    return builder_string(s->b, (struct str){name, length});
}

static void read_frame(struct safari *s)
{
    struct json *j = &s->json;
    struct frame f = {0};
    string_id url = 0;
    uint32_t line = 0, column = 0;
    struct source_location source;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("name")))
            f.name = json_name(j, s->b);
        else if (str_equal(key, STR("url")))
            url = json_name(j, s->b);
        else if (str_equal(key, STR("line")))
            json_index(j, &line);
        else if (str_equal(key, STR("column")))
            json_index(j, &column);
        else
            json_skip(j);
    }
    if (source_maps_find(s->options->source_maps, profile_string(s->b->profile, url),
                         (int64_t)line - 1, (int64_t)column - 1, &source)) {
        f.name = source.name.len ? builder_string(s->b, source.name) : f.name;
        url = builder_string(s->b, source.file);
        line = source.line;
    }
    if (!f.name)
        f.name = anonymous(s, url, line);
    if (s->options->lines && url) {
        f.file = url;
        f.line = line;
    }
    builder_path_add(s->b, builder_frame(s->b, &f));
}

static void read_sample(struct safari *s)
{
    struct json *j = &s->json;
    struct trace_sample sample = {.time = -1};
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    builder_path_clear(s->b);
    while (json_key(j, &key)) {
        if (str_equal(key, STR("timestamp")))
            json_number(j, &sample.time);
        else if (!str_equal(key, STR("stackFrames")))
            json_skip(j);
        else if (json_enter(j, JSON_ARRAY))
            while (json_item(j))
                read_frame(s);
    }
    struct trace_sample *added =
        ARRAY_APPEND(&s->arena, s->samples, s->sample_count, s->sample_cap);
    if (!added)
        return;
    sample.stack = builder_path_from_leaf(s->b);
    *added = sample;
}

static void read_duration(struct safari *s)
{
    double v;
    double *duration =
        ARRAY_APPEND(&s->arena, s->durations, s->duration_count, s->duration_cap);
    if (!duration)
        return;
    bool is_number = json_number(&s->json, &v);
    *duration = is_number && v > 0 && v < SECONDS_MOST ? v : 0;
}

static void read_recording(struct safari *s)
{
    struct json *j = &s->json;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !s->arena.failed) {
        bool samples = str_equal(key, STR("sampleStackTraces"));
        if (str_equal(key, STR("displayName")))
            s->name = json_name(j, s->b);
        else if (!samples && !str_equal(key, STR("sampleDurations")))
            json_skip(j);
        else if (json_enter(j, JSON_ARRAY))
            while (json_item(j) && !s->arena.failed)
                (samples ? read_sample : read_duration)(s);
    }
}

static void add_samples(struct safari *s)
{
    bool counted = s->options->samples;
    event_id event =
        builder_event(s->b, STR("time"), counted ? UNIT_COUNT : UNIT_NANOSECONDS);
    thread_id thread =
        builder_thread(s->b, ID_NONE, ID_NONE, profile_string(s->b->profile, s->name));
    size_t count =
        s->sample_count < s->duration_count ? s->sample_count : s->duration_count;
    builder_warn_times(s->b, "a sample without a duration", s->sample_count - count);
    for (size_t i = 0; i < count; i++) {
        builder_add(
            s->b,
            &(struct sample){
                .time = time_of_ns(s->samples[i].time * 1e9),
                .thread = thread,
                .cpu = CPU_NONE,
                .event = event,
                .stack = s->samples[i].stack,
                .count = 1,

                .weight = counted ? 1 : (double)(uint64_t)(s->durations[i] * 1e9 + 0.5)});
    }
}

static bool safari_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct safari s = {.b = b, .options = options};
    uint64_t before = b->profile->facts.samples;
    struct str key;
    json_init(&s.json, in, true, err);
    if (json_enter(&s.json, JSON_OBJECT))
        while (json_key(&s.json, &key) && !s.arena.failed) {
            if (str_equal(key, STR("recording")))
                read_recording(&s);
            else
                json_skip(&s.json);
        }
    add_samples(&s);
    builder_end_scratch(b, &s.arena);
    return json_input_end(&s.json, b, before);
}

static int safari_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {85, '{', {"\"recording\""}, {"\"instrumentTypes\"", "\"sampleStackTraces\""}},
        {0}};
    return json_probe(head, rules);
}

const struct importer import_safari = {
    .name = "safari",
    .suffixes = "json",
    .summary = "Safari timeline recordings",
    .probe = safari_probe,
    .shape = SHAPE_JSON,
    .read = safari_read,
};
