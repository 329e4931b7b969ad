/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/script/choice.h"
#include "base/glob.h"
#include "base/number.h"
#include "model/name.h"
#include "model/profile.h"

/* --- Values of options ------------------------------------------------------------- */

static bool too_many(const char *what, int most, struct error *err)
{
    return error_set(err, "more than %d %s", most, what);
}

bool script_times_parse(const char *text, void *value, struct error *err)
{
    return time_spans_parse(str_of(text), value, err);
}

bool script_events_parse(const char *text, void *value, struct error *err)
{
    struct script_events *events = value;
    for (struct str rest = str_of(text); rest.len;) {
        struct str name = str_cut(&rest, ',');
        if (events->count == SCRIPT_EVENTS_MAX)
            return too_many("events", SCRIPT_EVENTS_MAX, err);
        if (name.len)
            events->items[events->count++] = name;
    }
    return events->count || error_set(err, "the list of events is empty");
}

/* --- Which samples ----------------------------------------------------------------- */

bool script_choice_init(struct script_choice *c, const struct script_wishes *wishes)
{
    *c = (struct script_choice){.wishes = wishes, .last_event = STR("")};
    return strings_init(&c->events, &c->arena);
}

void script_choice_deinit(struct script_choice *c)
{
    arena_deinit(&c->arena);
}

static bool is_listed(const char *list, struct str name)
{
    struct str rest = str_of(list ? list : "");
    while (rest.len)
        if (glob_match(str_cut(&rest, ','), name))
            return true;
    return list == NULL;
}

static bool has_number(const struct number_set *set, int64_t number)
{
    return set->count == 0 ||
           (number != ID_NONE && number_set_has(set, (uint64_t)number));
}

/* The requested events that the event matches, as bits. */
static uint64_t events_found(const struct script_wishes *w, struct str name)
{
    uint64_t found = 0;
    for (size_t i = 0; i < w->events.count; i++)
        if (event_matches(w->events.items[i], name))
            found |= (uint64_t)1 << i;
    return found;
}

/* Records the sample's time and event. */
static void note_sample(struct script_choice *c, const struct script_origin *of)
{
    c->saw_samples = true;
    c->saw_pid |= of->pid != ID_NONE;
    c->saw_tid |= of->tid != ID_NONE;
    c->saw_cpu |= of->cpu != CPU_NONE;
    c->saw_time |= of->time != TIME_NONE;
    if (c->wishes->events.count == 0 || str_equal(of->event, c->last_event))
        return;
    c->last_event = strings_get(&c->events, strings_add(&c->events, of->event));
    c->found |= events_found(c->wishes, of->event);
}

static bool is_in_time(struct script_choice *c, uint64_t time,
                       const struct script_span *span)
{
    const struct time_spans *times = &c->wishes->times;
    for (size_t i = 0; i < times->count && time != TIME_NONE; i++) {
        const struct time_point *start = &times->items[i].start,
                                *end = &times->items[i].end;
        bool shares = start->at == TIME_POINT_PERCENT || end->at == TIME_POINT_PERCENT;
        if (shares && !span->known)
            c->span_missing = true;
        else if ((!start->at ||
                  time >= time_point_resolve(start, span->first, span->last)) &&
                 (!end->at || time < time_point_resolve(end, span->first, span->last)))
            return true;
    }
    return times->count == 0;
}

bool script_wants(struct script_choice *c, const struct script_origin *of,
                  const struct script_span *span)
{
    const struct script_wishes *w = c->wishes;
    int64_t cpu = of->cpu == CPU_NONE ? ID_NONE : (int64_t)of->cpu;
    if (!of->is_record)
        note_sample(c, of);
    bool chosen = (of->is_record || w->events.count == 0 || events_found(w, of->event)) &&
                  is_listed(w->comms, of->comm) && has_number(&w->pids, of->pid) &&
                  has_number(&w->tids, of->tid) && has_number(&w->cpus, cpu) &&
                  is_in_time(c, of->time, span);
    c->has_output |= chosen;
    return chosen;
}

bool script_wants_function(const struct script_wishes *w, struct str name,
                           struct str module)
{
    return (is_listed(w->symbols, name) ||
            is_listed(w->symbols, name_without_arguments(name))) &&
           (is_listed(w->dsos, module) || is_listed(w->dsos, str_basename(module)));
}

/* --- Missing items ----------------------------------------------------------------- */

static bool check_events(const struct script_choice *c, struct error *err)
{
    char all[200] = "";
    size_t used = 0;
    for (string_id i = 1; i < c->events.count && used < sizeof all - 1; i++)
        used += format_text(all + used, sizeof all - used, "%s%.*s", i > 1 ? ", " : "",
                            STR_ARG(strings_get(&c->events, i)));
    for (size_t i = 0; i < c->wishes->events.count; i++) {
        if (c->found >> i & 1)
            continue;
        error_set(err, "there is no event '%.*s' in the input",
                  STR_ARG(c->wishes->events.items[i]));
        return error_hint(err, "it has: %s", all);
    }
    return true;
}

bool script_choice_check(const struct script_choice *c, struct error *err)
{
    const struct script_wishes *w = c->wishes;
    if (c->arena.failed)
        return error_memory(err);
    if (!c->saw_samples)
        return true;
    if (!check_events(c, err))
        return false;
    if ((w->pids.count && !c->saw_pid) || (w->tids.count && !c->saw_tid))
        return error_set(err, "the input has no %s ids to filter by",
                         w->pids.count && !c->saw_pid ? "process" : "thread");
    if (w->cpus.count && !c->saw_cpu)
        return error_set(err, "the input has no CPUs to filter by");
    if (w->times.count && !c->saw_time)
        return error_set(err, "the input has no times to filter by");
    if (c->span_missing) {
        error_set(err, "the end of the input is unknown: percentages are not possible");
        return error_hint(err, "give times in seconds, or from its first sample: +1.5");
    }
    if (c->has_output)
        return true;
    error_set(err, "no sample matches the selected event, comm, process, thread, CPU "
                   "and time");
    return error_hint(err, "'stoke info FILE' lists its events and threads");
}
