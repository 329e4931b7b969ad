/* SPDX-License-Identifier: Apache-2.0 */
/* The calls for the other views: summary, heat map, call graph, source. */
#include "web/core/state.h"

/* With at most `most` threads and labels. */
int EXPORT(core_summary)(uint32_t most)
{
    struct json_writer w = begin_reply();
    struct profile *compacted = NULL;
    const struct profile *p = need_shown() ? need_compact(&compacted) : NULL;
    bool ok = p && reply_summary(&w, p, most, &core.err);
    profile_destroy(compacted);
    return end_reply(ok);
}

/* Rows of the waits from `from` on, in the order of enum wait_sort. */
int EXPORT(core_waits)(uint32_t sort, uint32_t from)
{
    struct json_writer w = begin_reply();
    if (!need_waits() ||
        !waits_sort(&core.waits, &core.shown, (enum wait_sort)sort, &core.err))
        return end_reply(false);
    reply_waits(&w, &core.waits, &core.shown, from);
    return end_reply(true);
}

int EXPORT(core_heat)(double column, uint32_t rows)
{
    struct json_writer w = begin_reply();
    const struct condensed *c = core.shown_condensed;
    bool sums = c && core.shown.p == &c->rows && c->by_event && c->by_time &&
                !core.shown.idle_left;
    const struct heat_of of = {need_samples(), core.shown.event, core.shown.count,
                               core.shown.idle_left != NULL, sums ? c : NULL};
    return end_reply(of.p && reply_heat(&w, &of, column, rows, &core.err));
}

/* The same of one profile of a comparison, after the filters (JSON): 0 before, 1 after. */
int EXPORT(core_heat_side)(double column, uint32_t rows, uint32_t side,
                           const char *filters, uint32_t length)
{
    struct json_writer w = begin_reply();
    struct comparison c = {0};
    if (side > 1 || !core.opened[0] || !core.opened[1])
        return end_reply(error_set(&core.err, "nothing is compared"));
    const struct comparison_options o = {(struct str){filters, length},
                                         core.settings.event, core.settings.without_idle};
    bool ok = comparison_init(&c, core.opened[1], core.opened[0], &o, &core.err);
    if (ok) {
        const struct heat_of of = {c.sides[side], c.events[side], core.settings.count,
                                   false, NULL};
        ok = reply_heat(&w, &of, column, rows, &core.err);
    }
    comparison_deinit(&c);
    return end_reply(ok);
}

/* When a function ran: see reply_when. Null where it is not known. */
int EXPORT(core_when)(string_id label, double from, double to, uint32_t columns)
{
    struct json_writer w = begin_reply();
    struct when_of of;
    if (!need_shown())
        return end_reply(false);
    if (!init_when(&of, label)) {
        json_put_null(&w);
        return end_reply(true);
    }
    of.p = need_samples();
    return end_reply(of.p && reply_when(&w, &of, from, to, columns, &core.err));
}

/* The shown samples of an event of the opened profile by the values of a label. */
int EXPORT(core_histogram)(uint32_t event, const char *key, uint32_t length)
{
    struct json_writer w = begin_reply();
    const struct profile *all = core.opened[0];
    if (!need_shown())
        return end_reply(false);
    if (!all || event >= all->event_count)
        return end_reply(error_set(&core.err, "no such event"));
    struct str name = profile_string(all, all->events[event].name);
    event_id shown = profile_find_event(core.shown.p, name);
    return end_reply(
        reply_histogram(&w, core.shown.p, shown, (struct str){key, length}, &core.err));
}

/* The call graph, limited to these shares of the total and to `most` functions. */
int EXPORT(core_graph)(double function_share, double call_share, uint32_t most)
{
    struct json_writer w = begin_reply();
    const struct call_limits limits = {function_share, call_share, most};
    if (!need_functions() || !need_tones() ||
        !(core.graph.made || graph_init(&core.graph, &core.shown, &core.err)))
        return end_reply(false);
    struct looks looks = {core.tones, core.shared_tones, core.search.matches,
                          core.tone_by, core.chosen};
    return end_reply(reply_graph(&w, &core.graph, &core.shown, &core.functions, &limits,
                                 &looks, &core.err));
}

/* At most `functions` of the functions that core_functions has sorted, each with at most
 * `calls` callers and callees. */
int EXPORT(core_peek)(uint32_t functions, uint32_t calls)
{
    struct json_writer w = begin_reply();
    const struct peek_limits limits = {functions, calls};
    return end_reply(
        need_functions() &&
        (core.graph.made || graph_init(&core.graph, &core.shown, &core.err)) &&
        reply_peek(&w, &core.graph, &core.shown, &core.functions, &limits, &core.err));
}

int EXPORT(core_files)(void)
{
    struct json_writer w = begin_reply();
    return end_reply(need_functions() && reply_files(&w, &core.shown, &core.err));
}

int EXPORT(core_lines)(const char *file, uint32_t length)
{
    struct json_writer w = begin_reply();
    return end_reply(need_functions() &&
                     reply_lines(&w, &core.shown, (struct str){file, length}, &core.err));
}
