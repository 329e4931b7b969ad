/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording contains, in a few facts. Nothing of this machine is read besides the
 * file: addresses stay addresses. */
#include "analysis/summary.h"
#include "base/format.h"
#include "codec/decode.h"
#include "engine/home_parts.h"
#include "engine/load.h"
#include "import/detect.h"
#include "os/file.h"
#include "perf/perf_data.h"
#include <stdlib.h>

#define WHOLE_MAX ((uint64_t)16 << 20) /* of larger files only a part is read */
#define PART ((size_t)4 << 20)
#define EVENTS_MAX 12
#define TEXT_MAX 500 /* bytes of a text */

static void put_text(struct json_writer *w, const char *key, struct str text)
{
    if (text.len)
        json_member_str(w, key, str_head(text, TEXT_MAX));
}

static void put_seconds(struct json_writer *w, uint64_t first, uint64_t last)
{
    if (first != TIME_NONE && last != TIME_NONE && last > first)
        json_member_double(w, "seconds", (double)(last - first) / 1e9);
}

/* --- A profile ------------------------------------------------------------------------ */

/* The name of a thread's process: that of its first thread. */
static struct str process_name(const struct profile *p, const struct thread *of)
{
    for (size_t i = 1; of->pid != ID_NONE && i < p->thread_count; i++) {
        const struct thread *t = &p->threads[i];
        if (t->pid == of->pid && t->tid == of->pid && t->name)
            return profile_string(p, t->name);
    }
    return profile_string(p, of->name);
}

/* The program with the most samples; the kernel's idle task is none. */
static struct str busiest(const struct profile *p, const struct summary *s)
{
    for (size_t i = 0; i < s->thread_count; i++) {
        const struct thread *t = &p->threads[s->thread_order[i]];
        struct str name = process_name(p, t);
        if (name.len && t->pid != 0)
            return name;
    }
    return STR("");
}

static void put_event(struct json_writer *w, const struct profile *p,
                      const struct summary *s, event_id event, bool whole)
{
    json_begin(w, JSON_OBJECT);
    put_text(w, "name", profile_string(p, p->events[event].name));
    json_member_str(w, "unit", str_of(unit_name((enum unit)p->events[event].unit)));
    if (whole)
        json_member_double(w, "total", s->events[event].weight);
    json_end(w, JSON_OBJECT);
}

/* The event that views show first comes first. */
static void put_events(struct json_writer *w, const struct profile *p,
                       const struct summary *s, bool whole)
{
    size_t count = 0;
    json_put_key(w, "events");
    json_begin(w, JSON_ARRAY);
    if (s->event && s->event < p->event_count)
        put_event(w, p, s, s->event, whole);
    for (event_id e = 1; e < p->event_count && count < EVENTS_MAX - 1; e++)
        if (e != s->event && s->events[e].samples) {
            put_event(w, p, s, e, whole);
            count++;
        }
    json_end(w, JSON_ARRAY);
}

/* `whole`: the file was read to its end, so that the sums are of all samples. */
static bool put_profile(struct json_writer *w, const struct profile *p, bool whole,
                        struct error *err)
{
    const struct facts *f = &p->facts;
    struct str format = profile_string(p, f->format);
    struct summary s = {0};
    bool ok = summary_init(&s, p, err);
    if (ok) {
        put_text(w, "format", format);
        put_text(w, "host", profile_string(p, f->host));
        put_text(w, "command", profile_string(p, f->command));
        put_text(w, "program", busiest(p, &s));
        put_events(w, p, &s, whole);
        if (whole) {
            json_member_u64(w, "processes", s.process_count);
            json_member_u64(w, "samples", f->samples);
            put_seconds(w, f->time_first, f->time_last);
        }
        json_put_key(w, "cut");
        json_put_bool(w, whole && f->incomplete);
    }
    summary_deinit(&s);
    return ok;
}

static bool put_whole(struct json_writer *w, const char *path, struct error *err)
{
    char name[HOME_PATH_MAX];
    char *files[] = {name, NULL};
    struct load_settings load = {.threads = 1,
                                 .quiet = true,
                                 .own_warnings = true,
                                 .events_apart = true,
                                 .unresolved = true,
                                 .import.empty = true};
    format_text(name, sizeof name, "%s", path);
    struct profile *p = engine_load(&load, 1, files, &engine_silent, err);
    bool ok = p && put_profile(w, p, true, err);
    profile_destroy(p);
    return ok;
}

/* --- A large file --------------------------------------------------------------------- */

/* The header of perf.data. */
static bool put_header(struct json_writer *w, struct source *in, struct error *err)
{
    struct perf_data d;
    bool ok = perf_data_init(&d, in, err);
    if (ok) {
        json_member_str(w, "format", STR("perf-data"));
        put_text(w, "host", d.facts.host);
        put_text(w, "command", d.facts.command);
        json_put_key(w, "events");
        json_begin(w, JSON_ARRAY);
        for (size_t i = 0, count = 0; i < d.event_count && count < EVENTS_MAX; i++)
            if (d.events[i].name.len && !str_starts(d.events[i].name, STR("dummy"))) {
                json_begin(w, JSON_OBJECT);
                put_text(w, "name", d.events[i].name);
                json_end(w, JSON_OBJECT);
                count++;
            }
        json_end(w, JSON_ARRAY);
        put_seconds(w, d.facts.time_first ? d.facts.time_first : TIME_NONE,
                    d.facts.time_last);
    }
    perf_data_deinit(&d);
    return ok;
}

static const struct importer *format_of(struct source *in, struct str name,
                                        struct error *err)
{
    struct detection *d = malloc(sizeof *d);
    const struct importer *found = NULL;
    if (d && source_peek(in, IMPORT_HEAD_SIZE, err)) {
        detection_init(d);
        if (detect(d, str_span(in->begin, in->end), true, name))
            found = d->found;
    }
    free(d);
    return found;
}

/* Reads what is decoded as a file that ends early. False: it says too little. */
static bool put_part(struct json_writer *w, struct source *in, struct str name,
                     struct error *err)
{
    struct import_options options = {.empty = true};
    struct builder b;
    const struct importer *im = format_of(in, name, err);
    if (!im || !builder_init(&b, BUILD_COUNT))
        return false;
    bool ok = import_part(im, in, &options, &b, err);
    b.profile->facts.format = builder_string(&b, str_of(im->name));
    struct profile *p = ok ? builder_finish(&b, err) : NULL;
    builder_deinit(&b);
    ok = p && put_profile(w, p, false, err);
    profile_destroy(p);
    return ok;
}

static bool put_first(struct json_writer *w, struct os_input *in, const char *path,
                      struct error *err)
{
    struct decoder d;
    struct arena_bound bound = {.held = 0};
    size_t got = 0;
    char *bytes = malloc(PART);
    bool ok = bytes && os_input_read_at(in, 0, bytes, PART, &got, err);
    if (ok) {
        struct source raw = source_of((struct str){bytes, got}, str_of(path));
        ok = decoder_init(&d, &raw, err);
        if (ok) {
            decoder_bound_memory(&d, &bound);
            ok = put_part(w, &d.source, str_of(path), err);
            decoder_deinit(&d);
        }
        source_deinit(&raw);
    }
    free(bytes);
    return ok;
}

static bool put_large(struct json_writer *w, const char *path, struct error *err)
{
    struct os_input in;
    char magic[8];
    size_t got = 0;
    if (!os_input_open(&in, path, err))
        return false;
    bool ok = os_input_read_at(&in, 0, magic, sizeof magic, &got, err);
    if (ok && str_equal((struct str){magic, got}, STR("PERFILE2"))) {
        struct source source = os_input_source(&in);
        ok = put_header(w, &source, err);
        source_deinit(&source);
    } else {
        ok = ok && put_first(w, &in, path, err);
    }
    os_input_close(&in);
    return ok;
}

/* -------------------------------------------------------------------------------------- */

int home_contents_write(const struct home_file *f, struct output *out)
{
    struct error err = {.location = LOCATION_NONE};
    struct output facts = OUTPUT_BUFFER;
    struct json_writer w = {.out = &facts}, outer = {.out = out};
    bool large = f->size > WHOLE_MAX;
    json_begin(&w, JSON_OBJECT);
    bool ok = large ? put_large(&w, f->path, &err) : put_whole(&w, f->path, &err);
    if (large) {
        json_put_key(&w, "large");
        json_put_bool(&w, true);
    }
    json_end(&w, JSON_OBJECT);
    if (ok && !facts.failed) {
        output_str(out, output_contents(&facts));
    } else { /* without the facts that came before the failure */
        json_begin(&outer, JSON_OBJECT);
        json_put_key(&outer, large ? "large" : "error");
        if (large)
            json_put_bool(&outer, true);
        else
            json_put_str(&outer, str_of(err.message));
        json_end(&outer, JSON_OBJECT);
    }
    output_deinit(&facts);
    return 0;
}
