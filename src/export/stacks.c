/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a profile as JSON, for scripts: events, threads, labels, frames and
 * stacks with their content hashes (model/content_hash.h), samples.
 *
 * Each item has its number in its table, from 1 on; 0 is none. */
#include "base/format.h"
#include "codec/json.h"
#include "export/exporter.h"
#include "model/content_hash.h"
#include "model/sample_labels.h"

struct stacks_writer {
    const struct profile *p;
    struct json_writer json;
    struct content_hashes hashes;
    struct output text;
};

static void begin_table(struct stacks_writer *w, const char *name)
{
    json_put_key(&w->json, name);
    json_begin(&w->json, JSON_ARRAY);
}

static void begin_item(struct stacks_writer *w)
{
    json_put_line(&w->json);
    json_begin(&w->json, JSON_OBJECT);
}

static void end_item(struct stacks_writer *w)
{
    json_end(&w->json, JSON_OBJECT);
}

static void put_string(struct stacks_writer *w, const char *key, string_id id)
{
    if (id)
        json_member_str(&w->json, key, profile_string(w->p, id));
}

static void put_number(struct stacks_writer *w, const char *key, uint64_t number)
{
    if (number)
        json_member_u64(&w->json, key, number);
}

static void put_hash(struct stacks_writer *w, const struct content_hash *hash)
{
    char text[CONTENT_HASH_TEXT];
    content_hash_text(hash, text);
    json_member_str(&w->json, "hash", str_of(text));
}

static void put_offset(struct stacks_writer *w, uint64_t offset)
{
    char text[24];
    size_t length = format_text(text, sizeof text, "%llx", (unsigned long long)offset);
    if (offset)
        json_member_str(&w->json, "offset", (struct str){text, length});
}

static void write_events(struct stacks_writer *w)
{
    const struct profile *p = w->p;
    begin_table(w, "events");
    for (event_id i = 1; i < p->event_count; i++) {
        begin_item(w);
        json_member_str(&w->json, "name", profile_string(p, p->events[i].name));
        json_member_str(&w->json, "unit",
                        str_of(unit_name((enum unit)p->events[i].unit)));
        end_item(w);
    }
    json_end(&w->json, JSON_ARRAY);
}

static void write_threads(struct stacks_writer *w)
{
    const struct profile *p = w->p;
    begin_table(w, "threads");
    for (thread_id i = 1; i < p->thread_count; i++) {
        const struct thread *t = &p->threads[i];
        begin_item(w);
        put_string(w, "name", t->name);
        if (t->pid != ID_NONE)
            json_member_double(&w->json, "pid", (double)t->pid);
        if (t->tid != ID_NONE)
            json_member_double(&w->json, "tid", (double)t->tid);
        end_item(w);
    }
    json_end(&w->json, JSON_ARRAY);
}

/* A set has the labels of its parent and one more. */
static void write_label_sets(struct stacks_writer *w)
{
    const struct profile *p = w->p;
    begin_table(w, "label_sets");
    for (label_set_id i = 1; i < p->label_set_count; i++) {
        const struct label_set *set = &p->label_sets[i];
        begin_item(w);
        w->text.used = 0;
        sample_label_write(&w->text, p, set->label);
        put_number(w, "parent", set->parent);
        json_member_str(&w->json, "key", sample_label_key(p, set->label));
        json_member_str(&w->json, "value", output_contents(&w->text));
        end_item(w);
    }
    json_end(&w->json, JSON_ARRAY);
}

static void write_frames(struct stacks_writer *w)
{
    const struct profile *p = w->p;
    begin_table(w, "frames");
    for (frame_id i = 1; i < p->frame_count; i++) {
        const struct frame *f = &p->frames[i];
        begin_item(w);
        put_hash(w, &w->hashes.frames[i]);
        put_string(w, "name", f->name);
        put_string(w, "module", p->modules[f->module].path);
        put_string(w, "build_id", p->modules[f->module].build_id);
        put_string(w, "file", f->file);
        put_number(w, "line", f->line);
        put_offset(w, f->offset);
        if (f->kind != FRAME_USER)
            json_member_str(&w->json, "kind",
                            str_of(kind_name((enum frame_kind)f->kind)));
        end_item(w);
    }
    json_end(&w->json, JSON_ARRAY);
}

static void write_stacks(struct stacks_writer *w)
{
    const struct profile *p = w->p;
    begin_table(w, "stacks");
    for (stack_id i = 1; i < p->stack_count; i++) {
        begin_item(w);
        put_hash(w, &w->hashes.stacks[i]);
        put_number(w, "parent", p->stacks[i].parent);
        put_number(w, "frame", p->stacks[i].frame);
        end_item(w);
    }
    json_end(&w->json, JSON_ARRAY);
}

static void write_samples(struct stacks_writer *w)
{
    const struct profile *p = w->p;
    begin_table(w, "samples");
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        begin_item(w);
        put_number(w, "stack", s->stack);
        put_number(w, "event", s->event);
        put_number(w, "thread", s->thread);
        put_number(w, "labels", profile_labels(p, i));
        if (s->time != TIME_NONE)
            json_member_u64(&w->json, "time", s->time);
        if (s->cpu != CPU_NONE)
            json_member_u64(&w->json, "cpu", s->cpu);
        json_member_u64(&w->json, "count", s->count);
        json_member_double(&w->json, "weight", s->weight + s->rest);
        end_item(w);
    }
    json_end(&w->json, JSON_ARRAY);
}

static bool stacks_write(const struct profile *p, const struct export_options *options,
                         struct output *out, struct error *err)
{
    (void)options; /* everything is written */
    struct stacks_writer w = {.p = p, .json = {.out = out}, .text = OUTPUT_BUFFER};
    bool ok = content_hashes_init(&w.hashes, p, err);
    if (ok) {
        json_begin(&w.json, JSON_OBJECT);
        put_string(&w, "format", p->facts.format);
        put_string(&w, "host", p->facts.host);
        put_string(&w, "command", p->facts.command);
        write_events(&w);
        write_threads(&w);
        write_label_sets(&w);
        write_frames(&w);
        write_stacks(&w);
        write_samples(&w);
        json_end(&w.json, JSON_OBJECT);
        output_char(out, '\n');
        ok = !w.text.failed || error_memory(err);
    }
    output_deinit(&w.text);
    content_hashes_deinit(&w.hashes);
    return ok;
}

const struct exporter export_stacks = {
    .name = "stacks",
    .suffixes = "stacks.json",
    .summary = "the tables of a profile as JSON, with content hashes",
    .needs_time = true,
    .whole = true,
    .write = stacks_write,
};
