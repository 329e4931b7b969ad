/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/losses.h"
#include "analysis/summary.h"
#include "import/importer.h"
#include "model/sample_labels.h"
#include "web/core/core.h"
#include "web/core/label_process.h"

#define MODULES_MOST 500

void reply_error(struct json_writer *w, const struct error *err)
{
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "message", str_of(err->message));
    json_member_str(w, "hint", str_of(err->hint));
    json_member_u64(w, "line", err->location.line);
    json_member_u64(w, "column", err->location.column);
    if (err->location.line == 0 && err->location.offset != UINT64_MAX)
        json_member_u64(w, "offset", err->location.offset);
    json_member_str(w, "text", str_of(err->location.text));
    json_end(w, JSON_OBJECT);
}

static void reply_string(struct json_writer *w, const char *key, const struct profile *p,
                         string_id id)
{
    json_member_str(w, key, profile_string(p, id));
}

static void reply_id(struct json_writer *w, const char *key, int64_t id)
{
    if (has_id(id))
        json_member_double(w, key, (double)id);
}

/* The names in web/src/protocol.ts. */
static const char *event_kind_name(uint32_t kind)
{
    static const char *const names[] = {
        [EVENT_OTHER] = "other",   [EVENT_ON_CPU] = "cpu", [EVENT_WAITING] = "waiting",
        [EVENT_MEMORY] = "memory", [EVENT_LIVE] = "live",
    };
    return names[kind <= EVENT_LIVE ? kind : EVENT_OTHER];
}

static void reply_events(struct json_writer *w, const struct profile *p)
{
    json_put_key(w, "events");
    json_begin(w, JSON_ARRAY);
    for (event_id e = 1; e < p->event_count; e++) {
        json_begin(w, JSON_OBJECT);
        reply_string(w, "name", p, p->events[e].name);
        json_member_str(w, "unit", str_of(unit_name((enum unit)p->events[e].unit)));
        json_member_str(w, "kind", str_of(event_kind_name(p->events[e].kind)));
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

static void reply_warnings(struct json_writer *w, const struct facts *facts)
{
    json_put_key(w, "warnings");
    json_begin(w, JSON_ARRAY);
    for (unsigned i = 0; i < facts->warning_count; i++) {
        const struct warning *warning = &facts->warnings[i];
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "what", str_of(warning->what));
        json_member_u64(w, "count", warning->count);
        json_member_u64(w, "line", warning->first.line);
        json_member_str(w, "text", str_of(warning->first.text));
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

/* One line for each of LOSS_LINES; empty: nothing to report. */
static void reply_loss_lines(struct json_writer *w, const struct facts *f)
{
    char line[LOSS_LINE_MAX];
    json_put_key(w, "loss_lines");
    json_begin(w, JSON_ARRAY);
    for (unsigned i = 0; i < LOSS_LINES; i++)
        json_put_str(w, (struct str){line, losses_line(f, i, line)});
    json_end(w, JSON_ARRAY);
}

/* By thread, whether it has samples: others are only named, as those that woke one up.
 * NULL if out of memory. */
static const uint8_t *threads_with_samples(const struct profile *p, struct arena *a)
{
    uint8_t *has = arena_zalloc(a, p->thread_count + 1, sizeof *has);
    for (size_t i = 0; has && i < p->sample_count; i++)
        has[p->samples[i].thread] = 1;
    return has;
}

static size_t count_threads(const struct profile *p, const uint8_t *has)
{
    size_t n = 0;
    for (size_t i = 1; i < p->thread_count; i++)
        n += !has || has[i];
    return n;
}

/* Whether the threads are of at least two processes. */
static bool has_processes(const struct profile *p, const uint8_t *has)
{
    int64_t first = ID_NONE;
    for (size_t i = 1; i < p->thread_count; i++) {
        int64_t pid = p->threads[i].pid;
        if (has && !has[i])
            continue;
        if (first != ID_NONE && pid != ID_NONE && pid != first)
            return true;
        first = pid != ID_NONE ? pid : first;
    }
    return false;
}

void reply_profile(struct json_writer *w, const struct profile *p,
                   const struct profile *events)
{
    const struct facts *f = &p->facts;
    bool timed = f->time_first != TIME_NONE && f->time_last > f->time_first;
    struct arena a = ARENA_INIT;
    const uint8_t *has = threads_with_samples(p, &a);
    json_begin(w, JSON_OBJECT);
    reply_string(w, "format", p, f->format);
    reply_string(w, "host", p, f->host);
    reply_string(w, "command", p, f->command);
    json_member_u64(w, "samples", f->samples);
    json_member_u64(w, "lost", f->lost);
    json_member_u64(w, "truncated", f->truncated);
    reply_loss_lines(w, f);
    json_member_double(w, "rate", f->rate);
    json_member_u64(w, "sample_bytes", f->sample_bytes);
    json_member_double(w, "duration", timed ? (double)(f->time_last - f->time_first) : 0);
    json_put_key(w, "cycles");
    json_put_bool(w, clock_is_cycles(p));
    json_put_key(w, "differential");
    json_put_bool(w, f->differential);
    json_put_key(w, "counted");
    json_put_bool(w, clock_is_cycles(p) || import_counts_all(p));
    json_member_u64(w, "threads", count_threads(p, has));
    json_put_key(w, "labelled");
    json_put_bool(w, p->label_count > 1);
    json_put_key(w, "several_processes");
    json_put_bool(w, has_processes(p, has));
    json_member_u64(w, "frames", p->frame_count - 1);
    json_member_u64(w, "stacks", p->stack_count - 1);
    reply_events(w, events);
    reply_warnings(w, f);
    json_end(w, JSON_OBJECT);
    arena_deinit(&a);
}

static void reply_thread(struct json_writer *w, const struct profile *p,
                         const struct thread *t)
{
    reply_string(w, "name", p, t->name);
    reply_id(w, "pid", t->pid);
    reply_id(w, "tid", t->tid);
}

static void put_labels(struct json_writer *w, const struct profile *p,
                       const struct summary *sum, uint32_t most)
{
    struct output value = OUTPUT_BUFFER;
    json_member_u64(w, "label_count", sum->label_count);
    json_put_key(w, "labels");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < sum->label_count && i < most; i++) {
        label_id id = sum->label_order[i];
        value.used = 0;
        sample_label_write(&value, p, id);
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "key", sample_label_key(p, id));
        json_member_str(w, "value", output_contents(&value));
        json_member_u64(w, "samples", sum->labels[id].samples);
        json_member_double(w, "weight", sum->labels[id].weight);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    w->out->failed |= value.failed;
    output_deinit(&value);
}

static void reply_tallies(struct json_writer *w, const struct profile *p,
                          const struct summary *sum, uint32_t most)
{
    json_member_u64(w, "thread_count", sum->thread_count);
    json_put_key(w, "threads");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < sum->thread_count && i < most; i++) {
        uint32_t id = sum->thread_order[i];
        json_begin(w, JSON_OBJECT);
        reply_thread(w, p, &p->threads[id]);
        json_member_u64(w, "samples", sum->threads[id].samples);
        json_member_double(w, "weight", sum->threads[id].weight);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    json_put_key(w, "modules");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < sum->module_count && i < MODULES_MOST; i++) {
        uint32_t id = sum->module_order[i];
        json_begin(w, JSON_OBJECT);
        reply_string(w, "name", p, p->modules[id].path);
        reply_string(w, "build", p, p->modules[id].build_id);
        json_member_u64(w, "samples", sum->modules[id].samples);
        json_member_double(w, "weight", sum->modules[id].weight);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

bool reply_summary(struct json_writer *w, const struct profile *p, uint32_t most,
                   struct error *err)
{
    struct summary sum;
    if (!summary_init(&sum, p, err))
        return false;
    json_begin(w, JSON_OBJECT);
    json_put_key(w, "profile");
    reply_profile(w, p, p);
    json_member_double(w, "weight", sum.all.weight);
    json_member_u64(w, "samples", sum.all.samples);
    json_member_str(w, "event", profile_string(p, p->events[sum.event].name));
    json_member_u64(w, "processes", sum.process_count);
    json_member_u64(w, "stacks", sum.stacks);
    json_member_u64(w, "functions", sum.functions);
    json_member_u64(w, "deepest", sum.deepest);
    json_member_double(w, "unknown_leaf", sum.unknown_leaf);
    json_member_double(w, "unknown_any", sum.unknown_any);
    json_put_key(w, "tallies");
    json_begin(w, JSON_ARRAY);
    for (event_id e = 1; e < p->event_count; e++) {
        json_begin(w, JSON_OBJECT);
        json_member_u64(w, "samples", sum.events[e].samples);
        json_member_double(w, "weight", sum.events[e].weight);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    reply_tallies(w, p, &sum, most);
    if (sum.label_count)
        put_labels(w, p, &sum, most);
    json_end(w, JSON_OBJECT);
    summary_deinit(&sum);
    return true;
}

/* The IDs of the processes or of the thread, for a filter: "12,13"; none without IDs. In
 * an instruction trace, where threads of several processes have one ID, those of threads
 * are "1/12". */
static void reply_owner(struct json_writer *w, const struct shown *s,
                        const struct owner *o)
{
    struct output ids = OUTPUT_BUFFER;
    int64_t last = ID_NONE;
    for (uint32_t i = o->first; i < o->first + o->count; i++) {
        const struct thread *t = &s->p->threads[s->owner_threads[i]];
        int64_t id = o->process ? t->pid : t->tid;
        if (id == last || !has_id(id))
            continue;
        output_text(&ids, ids.used ? "," : "");
        if (!o->process && clock_is_cycles(s->p) && has_id(t->pid)) {
            output_u64(&ids, (uint64_t)t->pid);
            output_text(&ids, "/");
        }
        output_u64(&ids, (uint64_t)id);
        last = id;
    }
    json_member_str(w, "kind", o->process ? STR("process") : STR("thread"));
    json_member_str(w, "ids", output_contents(&ids));
    int64_t pid = s->p->threads[s->owner_threads[o->first]].pid;
    if (o->process && is_label_process(pid) &&
        !s->base) /* a comparison has no such label */
        json_member_str(w, "process_label",
                        profile_string(s->p, label_process_name(s->p, pid)));
    w->out->failed |= ids.failed;
    output_deinit(&ids);
}

void reply_function(struct json_writer *w, const struct shown *s,
                    const struct functions *f, string_id process, string_id label)
{
    const struct profile *p = s->p;
    const struct frame *frame = &p->frames[frame_in(s, process, label)];
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "label", label);
    json_member_str(w, "name", strings_get(&s->paths.labels, label));
    reply_string(w, "module", p, p->modules[frame->module].path);
    reply_string(w, "file", p, frame->file);
    json_member_u64(w, "line", frame->line);
    if (s->kind_of_label[label] >= KIND_PROCESS)
        reply_owner(w, s, owner_of(s, label));
    else
        json_member_str(w, "kind", str_of(kind_name(s->kind_of_label[label])));
    json_member_double(w, "self", f->self[label]);
    json_member_double(w, "total", f->total[label]);
    if (f->base_total) {
        json_member_double(w, "base_self", f->base_self[label]);
        json_member_double(w, "base_total", f->base_total[label]);
        reply_change(w, "change", s, label, PART_TOTAL, f->base_total[label],
                     f->total[label]);
        reply_change(w, "self_change", s, label, PART_SELF, f->base_self[label],
                     f->self[label]);
    }
    json_end(w, JSON_OBJECT);
}

/* The times when samples were lost, on the chart's axis. */
void reply_losses(struct json_writer *w, const struct shown *s, const struct chart *c)
{
    const struct facts *f = &s->p->facts;
    json_put_key(w, "losses");
    json_begin(w, JSON_ARRAY);
    for (unsigned i = 0; c->timed && i < f->loss_count; i++) {
        if (f->losses[i].time < c->origin)
            continue;
        json_begin(w, JSON_OBJECT);
        json_member_double(w, "at", (double)(f->losses[i].time - c->origin));
        json_member_u64(w, "count", f->losses[i].count);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

void reply_lanes(struct json_writer *w, const struct shown *s, const struct chart *c,
                 uint32_t first, uint32_t last)
{
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < c->lane_count; i++) {
        const struct lane *lane = &c->lanes[i];
        if (lane->row >= last || lane->row + lane->rows <= first)
            continue;
        json_begin(w, JSON_OBJECT);
        reply_thread(w, s->p, &s->p->threads[lane->thread]);
        json_member_u64(w, "row", lane->row);
        json_member_u64(w, "rows", lane->rows);
        json_member_double(w, "weight", lane->weight);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}
