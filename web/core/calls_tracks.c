/* SPDX-License-Identifier: Apache-2.0 */
/* The calls for the tracks. */
#include "web/core/state.h"

/* The tracks of the opened profile (0), or of the one that it is compared with (1). */
static bool need_tracks(uint32_t slot)
{
    if (slot >= PROFILES || !core.opened[slot])
        return error_set(&core.err, "nothing is open");
    return core.tracks[slot].made ||
           tracks_init(&core.tracks[slot], core.opened[slot], &core.err);
}

/* The list of the tracks; null if there are none. */
int EXPORT(core_tracks)(uint32_t slot)
{
    struct json_writer w = begin_reply();
    if (slot == 1 && !core.opened[slot]) {
        output_text(&core.reply, "null");
        return end_reply(true);
    }
    if (!need_tracks(slot))
        return end_reply(false);
    if (core.tracks[slot].timed)
        reply_tracks(&w, &core.tracks[slot]);
    else
        output_text(&core.reply, "null");
    return end_reply(true);
}

/* The reply is what tracks_draw writes. */
int EXPORT(core_tracks_draw)(const uint32_t *tracks, uint32_t count, double from,
                             double to, uint32_t columns, uint32_t slot)
{
    begin_reply();
    return end_reply(need_tracks(slot) &&
                     tracks_draw(&core.tracks[slot], tracks, count, from, to, columns,
                                 &core.reply, &core.err));
}

#define EXPANDED_MOST ((size_t)1 << 20) /* samples that are made for a small picture */

/* Whether the samples with their times are there, or made quickly. */
static bool has_samples(void)
{
    return !core.shown_condensed || core.shown.p == &core.shown_condensed->rows ||
           core.detailed.samples || core.range.to - core.range.from <= EXPANDED_MOST;
}

/* Whether it is known when the function ran, without a long search. */
bool init_when(struct when_of *of, string_id label)
{
    *of = (struct when_of){.shown = &core.shown,
                           .first = core.opened[0]->facts.time_first,
                           .event = core.shown.event,
                           .count = core.shown.count,
                           .label = label};
    return !core.shown.base && of->first != TIME_NONE && has_samples() &&
           label < core.shown.paths.labels.count &&
           core.shown.kind_of_label[label] < KIND_PROCESS;
}

/* Where the function ran in these tracks: what marked_draw writes. Nothing where it is
 * not known. */
int EXPORT(core_marked)(string_id label, const uint32_t *tracks, uint32_t count,
                        double from, double to, uint32_t columns)
{
    begin_reply();
    struct when_of of;
    if (!need_shown() || !need_tracks(0))
        return end_reply(false);
    if (!init_when(&of, label))
        return end_reply(true);
    of.p = need_samples();
    struct axis_part part = {from, to, columns};
    return end_reply(of.p && marked_draw(&of, &core.tracks[0], tracks, count, &part,
                                         &core.reply, &core.err));
}

/* Stacks the memory by function (0), module or thread; the reply is the new track. */
int EXPORT(core_memory)(uint32_t by)
{
    struct json_writer w = begin_reply();
    if (by >= MEMORY_BY_COUNT)
        return end_reply(error_set(&core.err, "no such way of stacking memory"));
    if (!need_tracks(0))
        return end_reply(false);
    struct memory made;
    bool ok = memory_init(&made, core.tracks[0].p, (enum memory_by)by, &core.err);
    if (ok) {
        memory_deinit(&core.tracks[0].memory);
        core.tracks[0].memory = made;
        reply_memory(&w, &core.tracks[0].memory);
    } else {
        memory_deinit(&made);
    }
    return end_reply(ok);
}

/* What happened to the memory between two times. */
int EXPORT(core_memory_span)(double from, double to)
{
    struct json_writer w = begin_reply();
    if (!need_tracks(0))
        return end_reply(false);
    reply_memory_span(&w, &core.tracks[0].memory, from, to);
    return end_reply(true);
}

/* The time, in ns, at which most memory was in use between two times; -1: none was. */
int EXPORT(core_memory_most)(double from, double to)
{
    struct json_writer w = begin_reply();
    if (!need_tracks(0))
        return end_reply(false);
    const struct moment *moment = memory_most(&core.tracks[0].memory, from, to);
    json_put_double(&w, moment ? moment->at : -1);
    return end_reply(true);
}

static event_id event_named(const char *name)
{
    return profile_find_event(core.shown.p, str_of(name));
}

/* Of a heap profile: the functions that allocated what is shown, at most `most`. Beside blocks that
 * were soon released are all allocations of the function. */
int EXPORT(core_sites)(uint32_t most)
{
    struct json_writer w = begin_reply();
    if (!need_functions())
        return end_reply(false);
    struct event_pair events = {core.shown.event, event_named("allocations")};
    return end_reply(
        reply_sites(&w, &core.shown, &core.functions, &events, most, &core.err));
}

/* How the bytes of a function grew that were never released or, if it is not known when they were
 * allocated, those that were live. */
int EXPORT(core_growth)(string_id label, uint32_t columns)
{
    struct json_writer w = begin_reply();
    if (!need_tracks(0) || !need_shown())
        return end_reply(false);
    struct growth_of of = {.shown = &core.shown,
                           .samples = need_samples(),
                           .whole = core.opened[0],
                           .site = label};
    of.event = event_named(core.tracks[0].memory.leaks_timed ? "leaked" : "live");
    return end_reply(of.samples && reply_growth(&w, &of, columns, &core.err));
}
