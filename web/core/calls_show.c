/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that select what is shown: filters, event, colours, function. */
#include "web/core/state.h"

static void reply_shown(struct json_writer *w)
{
    const struct shown *s = &core.shown;
    const struct event *e = &s->p->events[s->event];
    bool compared = s->changes.made;
    double left = s->changes.idle[0] + s->changes.idle[1]; /* of a comparison */
    json_begin(w, JSON_OBJECT);
    json_member_double(w, "total", s->total);
    json_member_double(w, "base_total", s->base_total);
    json_member_double(w, "unnamed", s->unnamed);
    json_member_double(w, "idle", left > 0 ? s->changes.idle[1] : s->idle);
    json_member_double(w, "base_idle", s->changes.idle[0]);
    json_put_key(w, "idle_left");
    json_put_bool(w, left > 0 || (s->idle_left && s->idle > 0));
    json_member_u64(w, "event", compared ? s->changes.event : s->event);
    json_member_str(w, "unit",
                    s->count ? STR("samples") : str_of(unit_name((enum unit)e->unit)));
    json_member_str(w, "event_name",
                    compared ? s->changes.event_names[1] : profile_string(s->p, e->name));
    json_member_u64(w, "samples", s->samples);
    json_put_key(w, "by_process");
    json_put_bool(w, s->owner_count > 0);
    json_end(w, JSON_OBJECT);
}

/* No filters, as the page writes it. */
static bool is_empty(struct str filters)
{
    return str_equal(filters, STR("[]"));
}

/* The profile to show, which core_show owns; NULL with the error set. *rows: it is condensed, of
 * the samples of *range. */
static struct profile *profile_to_show(struct comparison *c,
                                       const struct comparison_options *o, bool *rows,
                                       struct sample_range *range)
{
    struct str filters = o->filters;
    struct profile *before = core.opened[1], *after = core.opened[0];
    bool condensed = !before && need_condensed();
    *range = (struct sample_range){0, after->sample_count};
    *rows = condensed;
    if (!before && is_empty(filters))
        return condensed ? &core.condensed->rows : after;
    struct profile *p =
        condensed ? filter_condensed(core.condensed, filters, range, rows, &core.err)
                  : NULL;
    if (*rows)
        return p;
    if (!before)
        return filter_apply(after, need_rows() ? &core.rows : NULL, filters, false,
                            &core.err);
    if (!comparison_init(c, before, after, o, &core.err))
        return NULL;
    bool same = c->sides[0] == before && c->sides[1] == after && o->event <= 1;
    return same ? core.both : comparison_profile(c, &core.err);
}

static bool init_shown(struct shown *s, const struct profile *p,
                       const struct comparison *c, event_id event,
                       const struct show_settings *settings)
{
    const struct shown_options options = {event, settings->count, settings->by_process,
                                          settings->without_idle,
                                          core.condensed && p == &core.condensed->rows};
    const struct shown *whole =
        condensed_has_span(core.condensed, p) ? shown_whole(settings) : NULL;
    if (whole)
        return shown_part(s, whole, p) || error_memory(&core.err);
    bool ok = shown_init(s, p, &options, &core.err) &&
              (!c->sides[0] || changes_init(&s->changes, c, s, &core.err));
    if (ok)
        s->changes.by_weight = settings->by_weight;
    return ok;
}

/* The event of the opened profile in the filtered one, which lacks events without samples:
 * there it may have another number. */
static event_id event_in(const struct profile *p, event_id event)
{
    const struct profile *all = core.opened[0];
    if (!event || p == all || core.opened[1] || event >= all->event_count)
        return event;
    return profile_find_event(p, profile_string(all, all->events[event].name));
}

static bool is_opened(const struct profile *p)
{
    return p == core.opened[0] || p == core.both || p == whole_profile();
}

#define PREPARE_LAST 4
#define PREPARED_ROWS 128 /* in time order: at least what a window shows at first */

/* A step that prepares a view of the whole profile. */
static bool prepare_view(uint32_t step)
{
    switch (step) {
    case 1:
        return need_waits();
    case 2:
        return need_chart(TREE_UP);
    case 3:
        return need_chart(CHART_TIME) &&
               chart_need(&core.charts[CHART_TIME], 0, PREPARED_ROWS, &core.err);
    default:
        return need_functions();
    }
}

/* Makes what takes long to make in steps from 0 on, before it is needed: for filters, then for the
 * views. The page calls it when it is idle. The reply is whether there are more steps. */
int EXPORT(core_prepare)(uint32_t step)
{
    begin_reply();
    bool whole = core.shown.p && core.shown.p == whole_profile(), ok = true;
    if (step == 0) {
        need_condensed();
        ok = need_rows() && (tracks_prepare(&core.tracks[0]) || error_memory(&core.err));
    } else if (whole) {
        ok = prepare_view(step);
    }
    output_text(&core.reply, whole && step < PREPARE_LAST ? "true" : "false");
    return end_reply(ok);
}

/* For a test: profiles that are opened later are not condensed. */
void EXPORT(core_plain)(int plain)
{
    core.plain = plain != 0;
}

/* Applies the filters (JSON), and selects an event (0: the first) as the weight, or
 * the count of samples; `by_process` and `without_idle` as in shown_init, `by_weight` as in struct
 * changes. If it fails, the shown profile does not change. */
int EXPORT(core_show)(const char *filters, uint32_t length, uint32_t event, int count,
                      int by_process, int by_weight, int without_idle)
{
    struct json_writer w = begin_reply();
    struct comparison compared = {0};
    struct show_settings settings = {event, count != 0, by_process != 0,
                                     without_idle != 0, by_weight != 0};
    struct shown shown;
    if (!core.opened[0])
        return end_reply(error_set(&core.err, "nothing is open"));
    if (!core.both && is_empty((struct str){filters, length}) && take_back(&settings)) {
        reply_shown(&w);
        return end_reply(true);
    }
    struct sample_range range;
    bool rows;
    const struct comparison_options options = {(struct str){filters, length}, event,
                                               settings.without_idle};
    struct profile *p = profile_to_show(&compared, &options, &rows, &range);
    bool ok = p && init_shown(&shown, p, &compared, event_in(p, event), &settings);
    comparison_deinit(&compared);
    if (!ok) {
        if (p)
            shown_deinit(&shown);
        if (p && !is_opened(p))
            profile_destroy(p);
        return end_reply(false);
    }
    retire(&core.filtered);
    if (p == whole_profile()) {
        forget_aside(); /* it has other settings */
        forget_shown();
    } else {
        set_aside();
    }
    core.filtered = is_opened(p) ? NULL : p;
    core.settings = settings;
    core.shown_condensed = rows ? core.condensed : NULL;
    core.range = range;
    core.shown = shown;
    /* the tables point into the copied struct */
    core.shown.paths.labels.arena = &core.shown.paths.arena;
    reply_shown(&w);
    return end_reply(true);
}

int EXPORT(core_color)(uint32_t by)
{
    begin_reply();
    core.tone_by = (enum tone_by)by;
    arena_deinit(&core.tone_arena);
    core.tones = core.shared_tones = core.categories = NULL;
    return end_reply(need_tones());
}

/* The look of each label: first the tones of all labels, then the marks (enum
 * drawn_flag), then the kinds (enum frame_kind or owner_kind), one byte each. */
int EXPORT(core_looks)(void)
{
    begin_reply();
    if (!need_tones())
        return end_reply(false);
    size_t labels = core.shown.paths.labels.count;
    output_bytes(&core.reply, (const char *)core.tones, labels);
    output_bytes(&core.reply, (const char *)core.shown.marks_of_label, labels);
    output_bytes(&core.reply, (const char *)core.shown.kind_of_label, labels);
    return end_reply(true);
}

/* The label with that name; 0 if there is none. */
uint32_t EXPORT(core_find)(const char *name, uint32_t length)
{
    return strings_find(&core.shown.paths.labels, (struct str){name, length});
}

/* Selects the function of TREE_CALLERS and TREE_CALLEES. */
int EXPORT(core_choose)(uint32_t label)
{
    struct json_writer w = begin_reply();
    if (!need_functions() || label >= core.shown.paths.labels.count)
        return end_reply(false);
    choose_label(label);
    reply_function(&w, &core.shown, &core.functions, 0, label);
    return end_reply(true);
}

/* Selects a function by its name. The reply is null if the profile does not contain it. */
int EXPORT(core_choose_named)(const char *name, uint32_t length)
{
    if (!need_shown())
        return end_reply(false);
    string_id label = core_find(name, length);
    if (label)
        return core_choose(label);
    begin_reply();
    output_text(&core.reply, "null");
    return end_reply(true);
}

/* What was compared, and how many functions changed by more than noise. */
int EXPORT(core_comparison)(void)
{
    struct json_writer w = begin_reply();
    if (!core.shown.changes.made) {
        output_text(&core.reply, "null");
        return end_reply(true);
    }
    if (!need_functions())
        return end_reply(false);
    reply_comparison(&w, &core.shown, &core.functions);
    return end_reply(true);
}
