/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope's file format: a list of frames, and a "sampled" profile for each thread
 * and event, its samples in the order of their time.
 *
 * The published schema allows more members: a "stoke" object has the event and thread
 * of a profile, and "kind" the kind of a frame, so that reading the file back loses
 * nothing. If samples have labels, "stoke" of the file has the label sets, and "stoke" of
 * a profile the index of each sample's set, counted from 1; 0: no labels. */
#include "analysis/paths.h"
#include "base/array.h"
#include "base/format.h"
#include "base/number.h"
#include "codec/json.h"
#include "export/exporter.h"
#include "export/parts.h"
#include "model/sample_labels.h"

/* The properties that all frames of a label have in common. */
struct source_location {
    string_id file;
    uint32_t line;
    uint32_t kind; /* enum frame_kind */
    bool is_set;
};

struct speedscope_writer {
    struct arena arena;
    const struct profile *p;
    const struct export_options *options;
    struct paths paths;
    struct sample_parts parts;
    uint32_t *climb; /* labels of a stack, leaf first */
    size_t climb_cap;
    struct json_writer json;
};

/* --- Parts --------------------------------------------------------------------- */

/* The heaviest part of the first event: the page opens with it. */
static size_t heaviest_part(const struct speedscope_writer *w)
{
    size_t best = 0;
    for (size_t i = 1;
         i < w->parts.count && w->parts.items[i].event == w->parts.items[0].event; i++)
        if (w->parts.items[i].total > w->parts.items[best].total)
            best = i;
    return best;
}

/* --- Text -------------------------------------------------------------------------- */

static void put_member(struct json_writer *j, const char *key, struct str value)
{
    if (value.len)
        json_member_str(j, key, value);
}

/* Sets file, line and kind of every label; if its frames differ in one of them, it is
 * unset. */
static struct source_location *find_locations(struct speedscope_writer *w)
{
    struct source_location *locations =
        arena_zalloc(&w->arena, w->paths.labels.count, sizeof *locations);
    for (frame_id f = 1; locations && f < w->p->frame_count; f++) {
        const struct frame *frame = &w->p->frames[f];
        struct source_location *location = &locations[w->paths.label_of_frame[f]];
        uint32_t kind = frame->kind;
        if (kind == FRAME_USER)
            kind = label_suffix_kind(profile_string(w->p, frame->name));
        if (!location->is_set)
            *location = (struct source_location){frame->file, frame->line, kind, true};
        if (location->file != frame->file)
            location->file = 0;
        if (location->line != frame->line || !location->file)
            location->line = 0;
        if (location->kind != kind)
            location->kind = FRAME_USER;
    }
    return locations;
}

/* Frame index n is label n + 1. */
static bool write_frames(struct speedscope_writer *w)
{
    struct json_writer *j = &w->json;
    const struct source_location *locations = find_locations(w);
    if (!locations)
        return false;
    json_put_key(j, "shared");
    json_begin(j, JSON_OBJECT);
    json_put_key(j, "frames");
    json_begin(j, JSON_ARRAY);
    for (string_id label = 1; label < w->paths.labels.count; label++) {
        json_put_line(j);
        json_begin(j, JSON_OBJECT);
        json_member_str(j, "name", strings_get(&w->paths.labels, label));
        put_member(j, "file", profile_string(w->p, locations[label].file));
        if (locations[label].line)
            json_member_double(j, "line", locations[label].line);
        if (locations[label].kind != FRAME_USER)
            put_member(j, "kind",
                       str_of(kind_name((enum frame_kind)locations[label].kind)));
        json_end(j, JSON_OBJECT);
    }
    json_end(j, JSON_ARRAY);
    json_end(j, JSON_OBJECT);
    return true;
}

static bool write_stack(struct speedscope_writer *w, stack_id stack)
{
    size_t count = 0;
    uint32_t path = path_of_stack(&w->paths, stack);
    for (; path; path = w->paths.nodes[path].parent) {
        if (!ARRAY_RESERVE(&w->arena, w->climb, w->climb_cap, count + 1))
            return false;
        w->climb[count] = path_label(&w->paths, path);
        count += w->climb[count] != 0;
    }
    json_begin(&w->json, JSON_ARRAY);
    while (count-- > 0)
        json_put_u64(&w->json, w->climb[count] - 1);
    json_end(&w->json, JSON_ARRAY);
    return true;
}

static const char *schema_unit(const struct speedscope_writer *w, enum unit unit)
{
    if (w->options->tree.weight == CALLTREE_SAMPLES)
        return "none";
    switch (unit) {
    case UNIT_NANOSECONDS:
        return "nanoseconds";
    case UNIT_MILLISECONDS:
        return "milliseconds";
    case UNIT_BYTES:
        return "bytes";
    default:
        return "none";
    }
}

/* Data that reading the file back needs and that the schema does not have. */
static void write_stoke_member(struct speedscope_writer *w,
                               const struct sample_part *part)
{
    struct json_writer *j = &w->json;
    const struct event *event = &w->p->events[part->event];
    const struct thread *t = &w->parts.threads.items[part->thread];
    json_put_key(j, "stoke");
    json_begin(j, JSON_OBJECT);
    put_member(j, "event", profile_string(w->p, event->name));
    put_member(j, "unit", str_of(unit_name((enum unit)event->unit)));
    put_member(j, "thread", profile_string(w->p, t->name));
    if (t->pid != ID_NONE)
        json_member_double(j, "pid", (double)t->pid);
    if (t->tid != ID_NONE)
        json_member_double(j, "tid", (double)t->tid);
    if (w->p->sample_labels) {
        json_put_key(j, "labels");
        json_begin(j, JSON_ARRAY);
        for (size_t i = part->first; i < part->end; i++)
            json_put_u64(j, profile_labels(w->p, w->parts.order[i]));
        json_end(j, JSON_ARRAY);
    }
    json_end(j, JSON_OBJECT);
}

static void print_id(struct output *o, const char *before, int64_t id)
{
    if (id != ID_NONE)
        output_format(o, "%s %lld", before, (long long)id);
}

/* "java (pid 12, tid 13)", as far as known. */
static void print_thread(struct output *o, const struct profile *p,
                         const struct thread *t)
{
    bool ids = t->pid != ID_NONE || t->tid != ID_NONE;
    output_str(o, profile_string(p, t->name));
    if (ids && t->name)
        output_text(o, " (");
    print_id(o, "pid", t->pid);
    print_id(o, t->pid != ID_NONE ? ", tid" : "tid", t->tid);
    if (ids && t->name)
        output_char(o, ')');
}

/* The thread, followed by the event if there are several. */
static void write_name(struct speedscope_writer *w, const struct sample_part *part)
{
    struct output text = OUTPUT_BUFFER;
    bool events = w->parts.items[0].event != w->parts.items[w->parts.count - 1].event;
    print_thread(&text, w->p, &w->parts.threads.items[part->thread]);
    if (part->thread && events)
        output_text(&text, ": ");
    if (!part->thread || events)
        output_str(&text, profile_string(w->p, w->p->events[part->event].name));
    w->json.out->failed |= text.failed;
    json_put_key(&w->json, "name");
    json_put_str(&w->json, output_contents(&text));
    output_deinit(&text);
}

static bool write_part(struct speedscope_writer *w, const struct sample_part *part)
{
    struct json_writer *j = &w->json;
    json_put_line(j);
    json_begin(j, JSON_OBJECT);
    put_member(j, "type", STR("sampled"));
    write_name(w, part);
    put_member(j, "unit",
               str_of(schema_unit(w, (enum unit)w->p->events[part->event].unit)));
    json_member_double(j, "startValue", 0);
    json_member_double(j, "endValue", part->total);
    write_stoke_member(w, part);
    json_put_key(j, "samples");
    json_begin(j, JSON_ARRAY);
    for (size_t i = part->first; i < part->end; i++)
        if (!write_stack(w, w->p->samples[w->parts.order[i]].stack))
            return false;
    json_end(j, JSON_ARRAY);
    json_put_key(j, "weights");
    json_begin(j, JSON_ARRAY);
    for (size_t i = part->first; i < part->end; i++)
        json_put_double(
            j, sample_parts_weight(&w->options->tree, &w->p->samples[w->parts.order[i]]));
    json_end(j, JSON_ARRAY);
    json_end(j, JSON_OBJECT);
    return true;
}

/* The labels of all sets: of each set the number of its parent, the key and the value of
 * one more label. If the value is a number, "number" and "unit" are its parts. */
static void write_label_sets(struct speedscope_writer *w)
{
    const struct profile *p = w->p;
    struct json_writer *j = &w->json;
    struct output value = OUTPUT_BUFFER;
    json_put_key(j, "labels");
    json_begin(j, JSON_ARRAY);
    for (label_set_id i = 1; i < p->label_set_count; i++) {
        struct label_set set = p->label_sets[i];
        const struct sample_label *label = &p->labels[set.label];
        value.used = 0;
        sample_label_write(&value, p, set.label);
        json_put_line(j);
        json_begin(j, JSON_OBJECT);
        if (set.parent)
            json_member_u64(j, "parent", set.parent);
        json_member_str(j, "key", sample_label_key(p, set.label));
        json_member_str(j, "value", output_contents(&value));
        if (label->is_number) {
            char text[NUMBER_TEXT_MAX];
            size_t length =
                format_text(text, sizeof text, "%lld", (long long)label->number);
            json_member_str(j, "number", (struct str){text, length});
            put_member(j, "unit", profile_string(p, label->unit));
        }
        json_end(j, JSON_OBJECT);
    }
    json_end(j, JSON_ARRAY);
    j->out->failed |= value.failed;
    output_deinit(&value);
}

static void write_facts(struct speedscope_writer *w)
{
    const struct facts *facts = &w->p->facts;
    struct json_writer *j = &w->json;
    json_put_key(j, "stoke");
    json_begin(j, JSON_OBJECT);
    put_member(j, "host", profile_string(w->p, facts->host));
    put_member(j, "command", profile_string(w->p, facts->command));
    if (facts->lost)
        json_member_double(j, "lost", (double)facts->lost);
    if (facts->differential) {
        json_put_key(j, "differential");
        json_put_bool(j, true);
    }
    if (w->p->sample_labels)
        write_label_sets(w);
    json_end(j, JSON_OBJECT);
}

static bool write_file(struct speedscope_writer *w)
{
    struct json_writer *j = &w->json;
    struct str title = w->options->title;
    if (title.len == 0)
        title = profile_string(w->p, w->p->facts.command);
    json_begin(j, JSON_OBJECT);
    put_member(j, "$schema", STR("https://www.speedscope.app/file-format-schema.json"));
    put_member(j, "exporter", STR("stoke " STOKE_VERSION));
    put_member(j, "name", title.len ? title : STR("profile"));
    json_member_double(j, "activeProfileIndex", (double)heaviest_part(w));
    write_facts(w);
    if (!write_frames(w))
        return false;
    json_put_key(j, "profiles");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < w->parts.count; i++)
        if (!write_part(w, &w->parts.items[i]))
            return false;
    json_end(j, JSON_ARRAY);
    json_end(j, JSON_OBJECT);
    output_char(j->out, '\n');
    return true;
}

static bool speedscope_write(const struct profile *p,
                             const struct export_options *options, struct output *out,
                             struct error *err)
{
    struct speedscope_writer w = {.p = p, .options = options, .json = {.out = out}};
    struct label_style style = options->tree.label;
    style.words = true;
    bool ok = paths_init(&w.paths, p, &style, err);
    if (ok)
        ok = (sample_parts_init(&w.parts, &w.arena, p, &options->tree) &&
              write_file(&w)) ||
             error_memory(err);
    arena_deinit(&w.arena);
    paths_deinit(&w.paths);
    return ok;
}

const struct exporter export_speedscope = {
    .name = "speedscope",
    .suffixes = "speedscope.json",
    .summary = "speedscope JSON, a profile for each thread and event",
    .needs_time = true,
    .whole = true,
    .write = speedscope_write,
};
