/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/profile_types.h"
#include "base/format.h"

/* Events of agents, by the names that Pyroscope has for them. */
static const struct known_type {
    const char *event, *name, *sample, *unit, *period, *period_unit;
} known_types[] = {
    {"wall", "wall", "wall", "nanoseconds", "wall", "nanoseconds"},
    {"alloc_objects", "memory", "alloc_objects", "count", "space", "bytes"},
    {"alloc_space", "memory", "alloc_space", "bytes", "space", "bytes"},
    {"inuse_objects", "memory", "inuse_objects", "count", "space", "bytes"},
    {"inuse_space", "memory", "inuse_space", "bytes", "space", "bytes"},
    {"mutex_count", "mutex", "contentions", "count", "contentions", "count"},
    {"mutex_duration", "mutex", "delay", "nanoseconds", "contentions", "count"},
    {"block_count", "block", "contentions", "count", "contentions", "count"},
    {"block_duration", "block", "delay", "nanoseconds", "contentions", "count"},
    {"goroutine", "goroutines", "goroutine", "count", "goroutine", "count"},
    {"goroutines", "goroutines", "goroutine", "count", "goroutine", "count"},
};

#define KNOWN_TYPES (sizeof known_types / sizeof *known_types)

static void write_id(struct profile_type *t)
{
    format_text(t->id, sizeof t->id, "%.*s:%.*s:%.*s:%.*s:%.*s",
                STR_ARG(str_head(t->name, 128)), STR_ARG(str_head(t->sample, 128)),
                STR_ARG(t->unit), STR_ARG(str_head(t->period, 128)),
                STR_ARG(t->period_unit));
}

void profile_type_cpu(struct profile_type *type)
{
    struct str ns = STR("nanoseconds"), cpu = STR("cpu");
    *type = (struct profile_type){STR("process_cpu"), cpu, ns, cpu, ns, ""};
    write_id(type);
}

static struct str unit_of(const struct event *e)
{
    if (e->unit == UNIT_NANOSECONDS)
        return STR("nanoseconds");
    return e->unit == UNIT_BYTES ? STR("bytes") : STR("count");
}

void profile_type_of(const struct profile *p, event_id event, struct profile_type *type)
{
    const struct event *e = &p->events[event];
    struct str name = profile_string(p, e->name), unit = unit_of(e);
    if (e->kind == EVENT_ON_CPU && e->unit == UNIT_NANOSECONDS) {
        profile_type_cpu(type);
        return;
    }
    *type = (struct profile_type){name, name, unit, name, unit, ""};
    for (size_t i = 0; i < KNOWN_TYPES; i++) {
        const struct known_type *k = &known_types[i];
        if (str_equal(name, str_of(k->event)))
            *type = (struct profile_type){str_of(k->name),        str_of(k->sample),
                                          str_of(k->unit),        str_of(k->period),
                                          str_of(k->period_unit), ""};
    }
    write_id(type);
}

/* By event: whether it has the type. The first that has becomes event 1, which views show. */
static bool choose_events(struct profile *p, struct str id, bool *fits)
{
    event_id first = 0;
    for (event_id e = 1; e < p->event_count; e++) {
        struct profile_type type;
        profile_type_of(p, e, &type);
        fits[e] = str_equal(str_of(type.id), id);
        if (fits[e] && !first)
            first = e;
    }
    if (first)
        p->events[1] = p->events[first];
    return first != 0;
}

bool profile_type_retain(struct profile *p, struct str id)
{
    size_t count = 0;
    bool *fits = arena_zalloc(&p->arena, p->event_count + 1, sizeof *fits);
    if (!fits)
        return false;
    bool any = choose_events(p, id, fits);
    for (size_t i = 0; any && i < p->sample_count; i++) {
        if (!fits[p->samples[i].event])
            continue;
        p->samples[count] = p->samples[i];
        p->samples[count].event = 1;
        if (p->sample_labels)
            p->sample_labels[count] = p->sample_labels[i];
        count++;
    }
    p->sample_count = count;
    p->event_count = p->event_count > 2 ? 2 : p->event_count;
    return true;
}
