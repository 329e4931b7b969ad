/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/merge.h"
#include "base/format.h"

static bool has_one_event(const struct profile *p)
{
    return p->event_count == 2 && !p->facts.differential;
}

/* Adds the event to the list, once. */
static void list_event(struct merge *m, struct builder *whole, struct str name,
                       const char *file)
{
    string_id id = builder_string(whole, name);
    for (unsigned i = 0; i < m->event_count; i++)
        if (m->events[i] == id)
            return;
    if (m->event_count == MERGE_EVENTS_MAX || m->used >= sizeof m->list - 1)
        return;
    m->used += format_text(m->list + m->used, sizeof m->list - m->used, "%s%.*s (%s)",
                           m->event_count ? ", " : "", STR_ARG(name), file);
    m->events[m->event_count++] = id;
}

/* Gives the part's event the name of the event of the whole. */
static bool join_events(struct merge *m, struct builder *whole, struct builder *part,
                        const char *file)
{
    const struct event *first = &whole->profile->events[1];
    struct event *event = &part->profile->events[1];
    struct str event_name = profile_string(whole->profile, first->name);
    struct str name = profile_string(part->profile, event->name);
    if (str_equal(name, event_name))
        return true;
    list_event(m, whole, event_name, m->file);
    list_event(m, whole, name, file);
    if (event->unit != first->unit) {
        m->units_differ = true;
        m->units[0] = (enum unit)first->unit;
        m->units[1] = (enum unit)event->unit;
    }
    *event = (struct event){builder_string(part, event_name), first->unit, first->kind};
    return !builder_failed(part);
}

bool merge_add(struct merge *m, struct builder *whole, struct builder *part,
               const char *file)
{
    if (!m->file)
        m->file = file;
    if (!m->separate && has_one_event(whole->profile) && has_one_event(part->profile) &&
        !join_events(m, whole, part, file))
        return false;
    builder_absorb(whole, part);
    return !builder_failed(whole);
}

void merge_note(const struct merge *m, const struct engine_report *report)
{
    if (m->event_count == 0)
        return;
    engine_note(report, "counted as one event: %s", m->list);
    if (m->units_differ)
        engine_note(report,
                    "these events are counted as one, but their units differ (%s, %s); "
                    "use --event NAME for one of them, or --count-samples to give each "
                    "sample weight 1",
                    unit_name(m->units[0]), unit_name(m->units[1]));
}
