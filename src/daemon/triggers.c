/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/triggers.h"
#include "base/format.h"

#define NS ((uint64_t)1000000000)
#define YEAR ((double)366 * 86400)

static const struct {
    const char *name, *unit;
} kinds[] = {
    [THRESHOLD_CPU] = {"trigger.cpu", "%"},
    [THRESHOLD_MEMORY] = {"trigger.memory", "%"},
    [THRESHOLD_PRESSURE_CPU] = {"trigger.pressure.cpu", "%"},
    [THRESHOLD_PRESSURE_MEMORY] = {"trigger.pressure.memory", "%"},
    [THRESHOLD_PRESSURE_IO] = {"trigger.pressure.io", "%"},
    [THRESHOLD_PROCESS_CPU] = {"cpu", "%"},
    [THRESHOLD_PROCESS_MEMORY] = {"memory", "bytes"},
};

const char *daemon_threshold_name(const struct daemon_threshold *t, char *room,
                                  size_t size)
{
    if (t->process[0])
        format_text(room, size, "trigger.process.%s.%s", t->process, kinds[t->kind].name);
    else
        format_text(room, size, "%s", kinds[t->kind].name);
    return room;
}

const char *daemon_threshold_unit(const struct daemon_threshold *t)
{
    return kinds[t->kind].unit;
}

static bool request(struct daemon_triggers *t, size_t which, double value)
{
    t->state = TRIGGER_REQUESTED;
    t->which = which;
    t->value = value;
    return true;
}

bool daemon_triggers_check(struct daemon_triggers *t, const double *values, uint64_t now,
                           bool has_room)
{
    bool requested = t->state != TRIGGER_NONE;
    t->is_refused = false;
    for (size_t i = 0; i < t->settings->count; i++) {
        bool is_above = values[i] > t->settings->items[i].most; /* not if NAN */
        t->is_spent[i] &= is_above;
        t->was_refused[i] &= is_above;
        if (!is_above || t->is_spent[i] || requested || now < t->next)
            continue;
        if (has_room) {
            requested = request(t, i, values[i]);
        } else if (!t->was_refused[i]) {
            t->which = i;
            t->value = values[i];
            t->is_refused = t->was_refused[i] = true;
        }
    }
    return t->state == TRIGGER_REQUESTED;
}

void daemon_triggers_begin(struct daemon_triggers *t, const struct daemon_cost *now)
{
    t->state = TRIGGER_RUNS;
    t->is_spent[t->which] = true;
    t->until = now->time + t->settings->seconds * NS;
    t->began = *now;
    t->recorded++;
}

bool daemon_triggers_are_over(const struct daemon_triggers *t, uint64_t now)
{
    return t->state == TRIGGER_RUNS && now >= t->until;
}

void daemon_triggers_end(struct daemon_triggers *t, const struct daemon_cost *now,
                         const struct daemon_limits *limits)
{
    double seconds = t->settings->cooldown;
    double cpu = (double)(now->cpu - t->began.cpu) / (double)NS;
    if (limits->cpu > 0 && cpu / limits->cpu > seconds)
        seconds = cpu / limits->cpu;
    if (seconds > YEAR)
        seconds = YEAR;
    t->state = TRIGGER_NONE;
    t->next = now->time + (uint64_t)(seconds * (double)NS);
}
