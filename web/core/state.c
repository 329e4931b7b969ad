/* SPDX-License-Identifier: Apache-2.0 */
#include "web/core/state.h"
#include "base/hash.h"

struct core core;

/* --- Replies ----------------------------------------------------------------------- */

struct json_writer begin_reply(void)
{
    core.reply.used = 0;
    core.err = (struct error){.location = LOCATION_NONE};
    return (struct json_writer){.out = &core.reply};
}

int end_reply(bool ok)
{
    if (ok && !core.reply.failed)
        return 1;
    output_deinit(&core.reply);
    core.reply = OUTPUT_BUFFER;
    struct json_writer w = {.out = &core.reply};
    if (ok)
        error_memory(&core.err);
    reply_error(&w, &core.err);
    return 0;
}

const char *EXPORT(core_reply)(void)
{
    return core.reply.bytes;
}

uint32_t EXPORT(core_reply_length)(void)
{
    return (uint32_t)core.reply.used;
}

/* --- Data made on demand ----------------------------------------------------------- */

void forget_tree(enum tree_kind kind)
{
    if (kind == TREE_DOWN)
        chart_deinit(&core.charts[CHART_BEFORE]);
    chart_deinit(&core.charts[kind]);
    tree_deinit(&core.trees[kind]);
}

void forget_shown(void)
{
    for (unsigned i = 0; i < TREE_COUNT; i++)
        forget_tree((enum tree_kind)i);
    chart_deinit(&core.charts[CHART_TIME]);
    functions_deinit(&core.functions);
    search_deinit(&core.search);
    graph_deinit(&core.graph);
    arena_deinit(&core.tone_arena);
    core.tones = NULL;
    core.chosen = 0;
    shown_deinit(&core.shown);
    profile_destroy(core.retired);
    core.retired = NULL;
}

void retire(struct profile **p)
{
    if (*p && *p == core.shown.p)
        core.retired = *p;
    else
        profile_destroy(*p);
    *p = NULL;
}

bool need_shown(void)
{
    return core.shown.p || error_set(&core.err, "nothing is shown");
}

bool need_tree(enum tree_kind kind)
{
    struct tree *t = &core.trees[kind];
    if (!need_shown())
        return false;
    return t->made ||
           tree_init(t, &core.shown, kind, core.chosen, core.orders[kind], &core.err);
}

bool need_chart(uint32_t kind)
{
    struct chart *c = &core.charts[kind];
    if (c->made)
        return true;
    if (!need_shown())
        return false;
    bool before = kind == CHART_BEFORE;
    enum tree_kind tree = before ? TREE_DOWN : (enum tree_kind)kind;
    if (kind == CHART_TIME
            ? !chart_of_time(c, &core.shown, &core.err)
            : !need_tree(tree) || !chart_of_tree(c, &core.trees[tree], before, &core.err))
        return false;
    chart_sum_up(c, &core.shown);
    return true;
}

bool need_functions(void)
{
    return core.functions.made || (need_tree(TREE_DOWN) &&
                                   functions_init(&core.functions, &core.shown,
                                                  &core.trees[TREE_DOWN], &core.err) &&
                                   changes_test(&core.shown, &core.functions, &core.err));
}

/* The number of its first process among the tracks; 255: of none. */
static uint8_t track_of(const struct owner *o)
{
    const struct shown *s = &core.shown;
    size_t best = 255;
    for (uint32_t i = o->first; i < o->first + o->count; i++) {
        int64_t pid = s->p->threads[s->owner_threads[i]].pid;
        for (size_t k = 0; core.tracks.timed && k < core.tracks.process_count && k < best;
             k++)
            if (core.tracks.processes[k].pid == pid)
                best = k;
    }
    return (uint8_t)best;
}

static uint8_t tone_of(string_id label)
{
    const struct shown *s = &core.shown;
    if (s->kind_of_label[label] >= KIND_PROCESS)
        return track_of(owner_of(s, label));
    const struct frame *f = &s->p->frames[s->frame_of_label[label]];
    struct str text = strings_get(&s->paths.labels, label);
    if (core.tone_by == TONE_KIND)
        return s->kind_of_label[label];
    if (core.tone_by == TONE_CHANGE && s->changes.made && core.functions.base_total) {
        struct change change =
            change_of(s, label, PART_TOTAL, core.functions.base_total[label],
                      core.functions.total[label]);
        return (uint8_t)change_tone(&change);
    }
    if (core.tone_by == TONE_MODULE)
        text = profile_string(s->p, s->p->modules[f->module].path);
    return (uint8_t)(hash_fixed(text.ptr, text.len) >> 7);
}

bool need_tones(void)
{
    size_t labels = core.shown.paths.labels.count;
    if (core.tones)
        return true;
    if (!need_shown())
        return false;
    if (core.tone_by == TONE_CHANGE && !need_functions())
        return false;
    core.tones = arena_zalloc(&core.tone_arena, labels, 1);
    for (string_id label = 1; core.tones && label < labels; label++)
        core.tones[label] = tone_of(label);
    return core.tones || error_memory(&core.err);
}
