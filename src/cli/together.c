/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/together.h"
#include "base/format.h"
#include "cli/message.h"

static bool has_one_event(const struct profile *p)
{
    return p->event_count == 2 && !p->facts.differential;
}

/* Puts the event on the list, once. */
static void list_event(struct together *t, struct builder *whole, struct str name,
                       const char *file)
{
    string_id id = builder_string(whole, name);
    for (unsigned i = 0; i < t->event_count; i++)
        if (t->events[i] == id)
            return;
    if (t->event_count == TOGETHER_MAX || t->used >= sizeof t->list - 1)
        return;
    t->used += format_text(t->list + t->used, sizeof t->list - t->used, "%s%.*s (%s)",
                           t->event_count ? ", " : "", STR_ARG(name), file);
    t->events[t->event_count++] = id;
}

/* Gives the part's event the name of the whole's. */
static bool join_events(struct together *t, struct builder *whole, struct builder *part,
                        const char *file)
{
    const struct event *first = &whole->profile->events[1];
    struct event *event = &part->profile->events[1];
    struct str wanted = profile_string(whole->profile, first->name);
    struct str name = profile_string(part->profile, event->name);
    if (str_equal(name, wanted))
        return true;
    list_event(t, whole, wanted, t->file);
    list_event(t, whole, name, file);
    if (event->unit != first->unit) {
        t->units_differ = true;
        t->units[0] = (enum unit)first->unit;
        t->units[1] = (enum unit)event->unit;
    }
    *event = (struct event){builder_string(part, wanted), first->unit, first->kind};
    return !builder_failed(part);
}

bool together_add(struct together *t, struct builder *whole, struct builder *part,
                  const char *file)
{
    if (!t->file)
        t->file = file;
    if (!t->apart && has_one_event(whole->profile) && has_one_event(part->profile) &&
        !join_events(t, whole, part, file))
        return false;
    builder_absorb(whole, part);
    return !builder_failed(whole);
}

void together_note(const struct together *t)
{
    if (t->event_count == 0)
        return;
    message_note("counted together: %s", t->list);
    if (t->units_differ)
        message_note("but their units differ (%s, %s): --event NAME takes one of them, "
                     "--count-samples weighs each sample 1",
                     unit_name(t->units[0]), unit_name(t->units[1]));
}
