/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json.h"
#include "base/format.h"
#include "base/number.h"
#include "cli/info/info.h"

static void put_known(struct json_writer *j, const struct info_report *r, const char *key,
                      string_id id)
{
    json_put_key(j, key);
    if (id)
        json_put_str(j, profile_string(r->p, id));
    else
        json_put_null(j);
}

static void put_id(struct json_writer *j, const char *key, int64_t id)
{
    json_put_key(j, key);
    if (id == ID_NONE)
        json_put_null(j);
    else
        json_put_double(j, (double)id);
}

static void begin_row(struct json_writer *j)
{
    json_put_line(j);
    json_begin(j, JSON_OBJECT);
}

static void put_facts(struct json_writer *j, const struct info_report *r)
{
    const struct facts *facts = &r->p->facts;
    json_put_key(j, "files");
    json_begin(j, JSON_ARRAY);
    for (int i = 0; i < r->file_count; i++)
        json_put_str(j, str_of(r->files[i]));
    json_end(j, JSON_ARRAY);
    put_known(j, r, "format", facts->format);
    put_known(j, r, "host", facts->host);
    put_known(j, r, "command", facts->command);
    put_known(j, r, "interpreters", facts->interpreters);
    if (facts->time_first != TIME_NONE) {
        json_member_u64(j, "time_first_ns", facts->time_first);
        json_member_u64(j, "time_last_ns", facts->time_last);
    }
    if (facts->rate > 0)
        json_member_double(j, "rate", facts->rate);
    if (facts->sample_bytes)
        json_member_u64(j, "sample_bytes", facts->sample_bytes);
    json_member_u64(j, "samples", facts->samples);
    json_member_u64(j, "lost", facts->lost);
    json_member_u64(j, "truncated", facts->truncated);
    if (facts->grafted)
        json_member_u64(j, "grafted", facts->grafted);
    json_put_key(j, "differential");
    json_put_bool(j, facts->differential);
}

static void put_stacks(struct json_writer *j, const struct info_report *r)
{
    const struct summary *s = r->s;
    json_member_str(j, "event", info_event_name(r, s->event));
    json_member_u64(j, "stacks", s->stacks);
    json_member_u64(j, "functions", s->functions);
    json_member_u64(j, "deepest", s->deepest);
    json_member_double(j, "unknown_leaf_share", info_share(r, s->unknown_leaf) / 100);
    json_member_double(j, "unknown_any_share", info_share(r, s->unknown_any) / 100);
    json_member_u64(j, "processes", s->process_count);
}

static void put_events(struct json_writer *j, const struct info_report *r)
{
    json_put_key(j, "events");
    json_begin(j, JSON_ARRAY);
    for (event_id e = 1; e < r->p->event_count; e++) {
        begin_row(j);
        json_member_str(j, "name", info_event_name(r, e));
        json_member_str(j, "unit", str_of(unit_name((enum unit)r->p->events[e].unit)));
        json_member_u64(j, "samples", r->s->events[e].samples);
        json_member_double(j, "total", r->s->events[e].weight);
        json_end(j, JSON_OBJECT);
    }
    json_end(j, JSON_ARRAY);
}

static void put_tally(struct json_writer *j, const struct info_report *r,
                      const struct tally *t)
{
    json_member_u64(j, "samples", t->samples);
    json_member_double(j, "weight", t->weight);
    json_member_double(j, "share", info_share(r, t->weight) / 100);
    json_end(j, JSON_OBJECT);
}

/* JSON always lists all threads and modules. */
static void put_threads(struct json_writer *j, const struct info_report *r)
{
    const struct summary *s = r->s;
    json_put_key(j, "threads");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < s->thread_count; i++) {
        const struct thread *t = &r->p->threads[s->thread_order[i]];
        begin_row(j);
        put_known(j, r, "name", t->name);
        put_id(j, "pid", t->pid);
        put_id(j, "tid", t->tid);
        put_tally(j, r, &s->threads[s->thread_order[i]]);
    }
    json_end(j, JSON_ARRAY);
    json_put_key(j, "modules");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < s->module_count; i++) {
        const struct module *m = &r->p->modules[s->module_order[i]];
        begin_row(j);
        put_known(j, r, "path", m->path);
        put_known(j, r, "build_id", m->build_id);
        put_tally(j, r, &s->modules[s->module_order[i]]);
    }
    json_end(j, JSON_ARRAY);
}

static void put_label_value(struct json_writer *j, const struct info_report *r,
                            label_id id)
{
    const struct sample_label *l = &r->p->labels[id];
    char text[NUMBER_TEXT_MAX + 1];
    json_member_str(j, "key", profile_string(r->p, l->key));
    if (!l->is_number) {
        json_member_str(j, "value", profile_string(r->p, l->text));
        return;
    }
    size_t n = format_text(text, sizeof text, "%lld", (long long)l->number);
    json_member_str(j, "value", (struct str){text, n});
    json_put_key(j, "number");
    json_put_bool(j, true);
    put_known(j, r, "unit", l->unit);
}

static void put_labels(struct json_writer *j, const struct info_report *r)
{
    const struct summary *s = r->s;
    if (!s->label_count)
        return;
    json_put_key(j, "labels");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < s->label_count; i++) {
        begin_row(j);
        put_label_value(j, r, s->label_order[i]);
        put_tally(j, r, &s->labels[s->label_order[i]]);
    }
    json_end(j, JSON_ARRAY);
}

static void put_warnings(struct json_writer *j, const struct info_report *r,
                         const char *key, bool inferred)
{
    json_put_key(j, key);
    json_begin(j, JSON_ARRAY);
    for (unsigned i = 0; i < r->p->facts.warning_count; i++) {
        const struct warning *w = &r->p->facts.warnings[i];
        if (w->inferred != inferred)
            continue;
        begin_row(j);
        json_member_str(j, "what", str_of(w->what));
        json_member_u64(j, "count", w->count);
        if (w->first.line)
            json_member_u64(j, "first_line", w->first.line);
        else if (w->first.offset != UINT64_MAX)
            json_member_u64(j, "first_byte", w->first.offset);
        json_end(j, JSON_OBJECT);
    }
    json_end(j, JSON_ARRAY);
}

void info_print_json(const struct info_report *r)
{
    struct json_writer j = {.out = r->out};
    json_begin(&j, JSON_OBJECT);
    put_facts(&j, r);
    put_stacks(&j, r);
    put_events(&j, r);
    put_threads(&j, r);
    put_labels(&j, r);
    put_warnings(&j, r, "warnings", false);
    put_warnings(&j, r, "inferred", true);
    json_end(&j, JSON_OBJECT);
    output_char(r->out, '\n');
}
