/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/summary.h"
#include "web/core/core.h"

#define MODULES_TOLD 500
#define THREADS_TOLD 5000

void tell_error(struct json_writer *w, const struct error *err)
{
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "message", str_of(err->message));
    json_member_str(w, "hint", str_of(err->hint));
    json_member_u64(w, "line", err->place.line);
    json_member_u64(w, "column", err->place.column);
    if (err->place.line == 0 && err->place.offset != UINT64_MAX)
        json_member_u64(w, "offset", err->place.offset);
    json_member_str(w, "text", str_of(err->place.text));
    json_end(w, JSON_OBJECT);
}

static void tell_string(struct json_writer *w, const char *key, const struct profile *p,
                        string_id id)
{
    json_member_str(w, key, profile_string(p, id));
}

static void tell_id(struct json_writer *w, const char *key, int64_t id)
{
    if (id != ID_NONE)
        json_member_double(w, key, (double)id);
}

static void tell_events(struct json_writer *w, const struct profile *p)
{
    json_put_key(w, "events");
    json_begin(w, JSON_ARRAY);
    for (event_id e = 1; e < p->event_count; e++) {
        json_begin(w, JSON_OBJECT);
        tell_string(w, "name", p, p->events[e].name);
        json_member_str(w, "unit", str_of(unit_name((enum unit)p->events[e].unit)));
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

static void tell_warnings(struct json_writer *w, const struct facts *facts)
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

void tell_profile(struct json_writer *w, const struct profile *p)
{
    const struct facts *f = &p->facts;
    bool timed = f->time_first != TIME_NONE && f->time_last > f->time_first;
    json_begin(w, JSON_OBJECT);
    tell_string(w, "format", p, f->format);
    tell_string(w, "host", p, f->host);
    tell_string(w, "command", p, f->command);
    json_member_u64(w, "samples", f->samples);
    json_member_u64(w, "lost", f->lost);
    json_member_u64(w, "truncated", f->truncated);
    json_member_double(w, "rate", f->rate);
    json_member_double(w, "duration", timed ? (double)(f->time_last - f->time_first) : 0);
    json_put_key(w, "differential");
    json_put_bool(w, f->differential);
    json_member_u64(w, "threads", p->thread_count - 1);
    json_member_u64(w, "frames", p->frame_count - 1);
    json_member_u64(w, "stacks", p->stack_count - 1);
    tell_events(w, p);
    tell_warnings(w, f);
    json_end(w, JSON_OBJECT);
}

static void tell_thread(struct json_writer *w, const struct profile *p,
                        const struct thread *t)
{
    tell_string(w, "name", p, t->name);
    tell_id(w, "pid", t->pid);
    tell_id(w, "tid", t->tid);
}

static void tell_tallies(struct json_writer *w, const struct shown *s,
                         const struct summary *sum)
{
    const struct profile *p = s->p;
    json_put_key(w, "threads");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < sum->thread_count && i < THREADS_TOLD; i++) {
        uint32_t id = sum->thread_order[i];
        json_begin(w, JSON_OBJECT);
        tell_thread(w, p, &p->threads[id]);
        json_member_u64(w, "samples", sum->threads[id].samples);
        json_member_double(w, "weight", sum->threads[id].weight);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    json_put_key(w, "modules");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < sum->module_count && i < MODULES_TOLD; i++) {
        uint32_t id = sum->module_order[i];
        json_begin(w, JSON_OBJECT);
        tell_string(w, "name", p, p->modules[id].path);
        tell_string(w, "build", p, p->modules[id].build_id);
        json_member_u64(w, "samples", sum->modules[id].samples);
        json_member_double(w, "weight", sum->modules[id].weight);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

bool tell_summary(struct json_writer *w, const struct shown *s, struct error *err)
{
    struct summary sum;
    if (!summary_init(&sum, s->p, err))
        return false;
    json_begin(w, JSON_OBJECT);
    json_put_key(w, "profile");
    tell_profile(w, s->p);
    json_member_double(w, "weight", sum.all.weight);
    json_member_u64(w, "samples", sum.all.samples);
    json_member_str(w, "event", profile_string(s->p, s->p->events[sum.event].name));
    json_member_u64(w, "processes", sum.process_count);
    json_member_u64(w, "stacks", sum.stacks);
    json_member_u64(w, "functions", sum.functions);
    json_member_u64(w, "deepest", sum.deepest);
    json_member_double(w, "unknown_leaf", sum.unknown_leaf);
    json_member_double(w, "unknown_any", sum.unknown_any);
    json_put_key(w, "tallies");
    json_begin(w, JSON_ARRAY);
    for (event_id e = 1; e < s->p->event_count; e++) {
        json_begin(w, JSON_OBJECT);
        json_member_u64(w, "samples", sum.events[e].samples);
        json_member_double(w, "weight", sum.events[e].weight);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    tell_tallies(w, s, &sum);
    json_end(w, JSON_OBJECT);
    summary_deinit(&sum);
    return true;
}

void tell_function(struct json_writer *w, const struct shown *s,
                   const struct functions *f, string_id label)
{
    const struct profile *p = s->p;
    const struct frame *frame = &p->frames[s->frame_of_label[label]];
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "label", label);
    json_member_str(w, "name", strings_get(&s->paths.labels, label));
    tell_string(w, "module", p, p->modules[frame->module].path);
    tell_string(w, "file", p, frame->file);
    json_member_u64(w, "line", frame->line);
    json_member_str(w, "kind", str_of(kind_name(s->kind_of_label[label])));
    json_member_double(w, "self", f->self[label]);
    json_member_double(w, "total", f->total[label]);
    if (f->base_total) {
        json_member_double(w, "base_self", f->base_self[label]);
        json_member_double(w, "base_total", f->base_total[label]);
    }
    json_end(w, JSON_OBJECT);
}

/* When samples were lost, in the chart's time. */
void tell_losses(struct json_writer *w, const struct shown *s, const struct chart *c)
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

void tell_lanes(struct json_writer *w, const struct shown *s, const struct chart *c)
{
    json_put_key(w, "lanes");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < c->lane_count; i++) {
        const struct lane *lane = &c->lanes[i];
        json_begin(w, JSON_OBJECT);
        tell_thread(w, s->p, &s->p->threads[lane->thread]);
        json_member_u64(w, "row", lane->row);
        json_member_u64(w, "rows", lane->rows);
        json_member_double(w, "weight", lane->weight);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}
