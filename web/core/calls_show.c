/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that select what is shown: filters, event, colours, function. */
#include "web/core/state.h"

static void reply_shown(struct json_writer *w)
{
    const struct shown *s = &core.shown;
    const struct event *e = &s->p->events[s->event];
    json_begin(w, JSON_OBJECT);
    json_member_double(w, "total", s->total);
    json_member_double(w, "base_total", s->base_total);
    json_member_double(w, "unnamed", s->unnamed);
    json_member_u64(w, "event", s->event);
    json_member_str(w, "unit",
                    s->count ? STR("samples") : str_of(unit_name((enum unit)e->unit)));
    json_member_str(w, "event_name", profile_string(s->p, e->name));
    json_member_u64(w, "samples", s->samples);
    json_end(w, JSON_OBJECT);
}

/* Applies the filters (JSON), and selects an event (0: the first) as the weight, or
 * the count of samples. If it fails, the shown profile does not change. */
int EXPORT(core_show)(const char *filters, uint32_t length, uint32_t event, int count)
{
    struct json_writer w = begin_reply();
    struct profile *from = core.both ? core.both : core.opened[0];
    struct shown shown;
    if (!from)
        return end_reply(error_set(&core.err, "nothing is open"));
    struct profile *p = filter_apply(from, (struct str){filters, length}, &core.err);
    if (!p)
        return end_reply(false);
    if (!shown_init(&shown, p, event, count, &core.err)) {
        shown_deinit(&shown);
        if (p != from)
            profile_destroy(p);
        return end_reply(false);
    }
    retire(&core.filtered);
    forget_shown();
    core.filtered = p != from ? p : NULL;
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
    core.tones = NULL;
    return end_reply(need_tones());
}

/* The look of each label: first the tones of all labels, then the marks (enum
 * drawn_flag), one byte each. */
int EXPORT(core_looks)(void)
{
    begin_reply();
    if (!need_tones())
        return end_reply(false);
    size_t labels = core.shown.paths.labels.count;
    output_bytes(&core.reply, (const char *)core.tones, labels);
    output_bytes(&core.reply, (const char *)core.shown.marks_of_label, labels);
    return end_reply(true);
}

/* Selects the function of TREE_CALLERS and TREE_CALLEES. */
int EXPORT(core_choose)(uint32_t label)
{
    struct json_writer w = begin_reply();
    if (!need_functions() || label >= core.shown.paths.labels.count)
        return end_reply(false);
    if (label != core.chosen) {
        forget_tree(TREE_CALLERS);
        forget_tree(TREE_CALLEES);
    }
    core.chosen = label;
    reply_function(&w, &core.shown, &core.functions, label);
    return end_reply(true);
}

/* The label with that name; 0 if there is none. */
uint32_t EXPORT(core_find)(const char *name, uint32_t length)
{
    return strings_find(&core.shown.paths.labels, (struct str){name, length});
}
