/* SPDX-License-Identifier: Apache-2.0 */
#include "web/core/state.h"
#include "base/hash.h"
#include "base/sort.h"
#include "web/core/label_process.h"
#include <stdlib.h>

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

void choose_label(string_id label)
{
    if (label != core.chosen) {
        forget_tree(TREE_CALLERS);
        forget_tree(TREE_CALLEES);
    }
    core.chosen = label;
}

static void free_condensed(struct condensed **c)
{
    if (*c)
        condensed_deinit(*c);
    free(*c);
    *c = NULL;
}

void forget_samples(void)
{
    arena_deinit(&core.detailed_arena);
    core.detailed = (struct profile){0};
}

void forget_shown(void)
{
    for (unsigned i = 0; i < TREE_COUNT; i++)
        forget_tree((enum tree_kind)i);
    chart_deinit(&core.charts[CHART_TIME]);
    functions_deinit(&core.functions);
    search_deinit(&core.search);
    graph_deinit(&core.graph);
    waits_deinit(&core.waits);
    arena_deinit(&core.tone_arena);
    core.tones = core.shared_tones = core.categories = NULL;
    core.chosen = 0;
    forget_samples();
    shown_deinit(&core.shown);
    profile_destroy(core.retired);
    core.retired = NULL;
    if (core.retired_opened)
        free_condensed(&core.shown_condensed);
    profile_destroy(core.retired_opened);
    core.retired_opened = NULL;
    core.shown_condensed = NULL;
    row_index_deinit(&core.retired_rows);
    forget_unused_aside();
}

const struct profile *whole_profile(void)
{
    return core.condensed && core.condensed->made ? &core.condensed->rows
                                                  : core.opened[0];
}

void retire(struct profile **p)
{
    if (*p && *p == core.shown.p)
        core.retired = *p;
    else
        profile_destroy(*p);
    *p = NULL;
}

void close_opened(unsigned slot)
{
    if (slot == 0) {
        forget_aside();
        row_index_deinit(&core.retired_rows);
        core.retired_rows = core.rows;
        core.rows = (struct row_index){0};
    }
    tracks_deinit(&core.tracks[slot]);
    if (slot == 0 && core.shown_condensed && core.shown_condensed == core.condensed)
        core.retired_opened = core.opened[0];
    else if (slot == 0)
        free_condensed(&core.condensed);
    if (slot == 0)
        core.condensed = NULL;
    if (slot == 0 && core.retired_opened == core.opened[0])
        core.opened[0] = NULL;
    else
        retire(&core.opened[slot]);
}

bool need_shown(void)
{
    return core.shown.p || error_set(&core.err, "nothing is shown");
}

bool need_rows(void)
{
    if (!core.opened[0])
        return error_set(&core.err, "nothing is open");
    if (core.rows.p == core.opened[0] && core.rows.first)
        return true;
    row_index_deinit(&core.rows);
    return row_index_init(&core.rows, core.opened[0], &core.err);
}

bool need_condensed(void)
{
    if (core.plain)
        return false;
    if (core.condensed)
        return core.condensed->made;
    core.condensed = calloc(1, sizeof *core.condensed);
    if (core.condensed)
        condensed_init(core.condensed, core.opened[0]);
    return core.condensed && core.condensed->made;
}

const struct profile *need_samples(void)
{
    if (!need_shown())
        return NULL;
    const struct condensed *c = core.shown_condensed;
    if (!c)
        return core.shown.p;
    if (core.shown.p == &c->rows)
        return c->p;
    bool ok = core.detailed.samples ||
              condensed_expand(c, core.shown.p, core.range.from, core.range.to,
                               &core.detailed, &core.detailed_arena, &core.err);
    return ok ? &core.detailed : NULL;
}

const struct profile *need_compact(struct profile **compacted)
{
    const struct profile *p = core.shown.p;
    *compacted = NULL;
    if (!condensed_has_span(core.shown_condensed, p))
        return p;
    *compacted = profile_compact(p, &core.err);
    return *compacted;
}

bool need_tree(enum tree_kind kind)
{
    struct tree *t = &core.trees[kind];
    if (!need_shown())
        return false;
    const struct tree_options options = {kind, core.chosen, core.orders[kind],
                                         whole_tree(kind)};
    return t->made || tree_init(t, &core.shown, &options, &core.err);
}

/* The shown profile with its samples. */
static bool time_chart(struct chart *c)
{
    struct shown timed = core.shown;
    timed.p = need_samples();
    if (!timed.p)
        return false;
    const struct row_index *index = NULL;
    if (timed.p == core.opened[0] && need_rows())
        index = &core.rows;
    if (chart_of_time(c, &timed, core.shown.p, index, &core.err))
        return true;
    chart_deinit(c);
    return false;
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
            ? !time_chart(c)
            : !need_tree(tree) || !chart_of_tree(c, &core.trees[tree], before, &core.err))
        return false;
    if (kind == TREE_CALLEES && core.shown.owner_count)
        chart_hide_outermost(c); /* the processes are below the callers */
    bool waits = kind == CHART_TIME ? c->waits : core.trees[tree].waiting != NULL;
    return !waits || reasons_make(c, &core.shown) || error_memory(&core.err);
}

bool need_functions(void)
{
    return core.functions.made || (need_tree(TREE_DOWN) &&
                                   functions_init(&core.functions, &core.shown,
                                                  &core.trees[TREE_DOWN], &core.err) &&
                                   changes_test(&core.shown, &core.functions, &core.err));
}

bool need_waits(void)
{
    if (core.waits.made)
        return true;
    return need_shown() && waits_init(&core.waits, &core.shown, core.shown_condensed,
                                      &core.range, &core.err);
}

/* The number of the process with that name among the tracks; 255: of none. */
static uint8_t track_named(struct str name)
{
    const struct tracks *t = &core.tracks[0];
    for (size_t i = 0; name.len && i < t->process_count && i < 255; i++)
        if (str_equal(profile_string(core.opened[0], t->processes[i].name), name))
            return (uint8_t)i;
    return 255;
}

/* The number of its process among the tracks; 255: of none. */
static uint8_t track_of(const struct owner *o)
{
    const struct shown *s = &core.shown;
    const struct thread *first = &s->p->threads[s->owner_threads[o->first]];
    if (s->base) /* its processes have names only */
        return track_named(profile_string(s->p, label_process_name(s->p, first->pid)));
    const uint64_t *process =
        core.tracks[0].timed && o->count
            ? idmap_find(&core.tracks[0].process_of_pid, (uint64_t)first->pid)
            : NULL;
    return process && *process < 255 ? (uint8_t)(*process - 1) : 255;
}

/* What the colour by module depends on: frames of scripts have only a file. */
static string_id module_of(const struct profile *p, const struct frame *f)
{
    string_id path = p->modules[f->module].path;
    return path ? path : f->file;
}

static bool more_stacks(const void *context, uint32_t a, uint32_t b)
{
    const uint32_t *stacks = context;
    return stacks[a] > stacks[b] || (stacks[a] == stacks[b] && a < b);
}

#define NO_CATEGORY 255
#define MOST 0.8 /* of the stacks */

/* The process whose program the module is; SIZE_MAX if there is none. Names of processes
 * are truncated. */
static size_t process_of(struct str path)
{
    enum { NAME_MOST = 15 };
    struct str name = str_basename(path);
    for (size_t i = 0; core.tracks[0].timed && i < core.tracks[0].process_count; i++) {
        struct str process =
            profile_string(core.opened[0], core.tracks[0].processes[i].name);
        if (str_equal(process, name) ||
            (process.len == NAME_MOST && str_starts(name, process)))
            return i;
    }
    return SIZE_MAX;
}

/* The next category that no program of a process has, as long as there is one. */
static uint8_t next_category(uint32_t *used)
{
    uint8_t i = 0;
    if (*used + 1 == 1U << CATEGORIES)
        *used = 0;
    while (*used & 1U << i)
        i++;
    *used |= 1U << i;
    return i;
}

/* Whether the first module has most stacks; colours by module would then be one colour. */
static bool has_most(const uint32_t *stacks, const uint32_t *order, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += stacks[order[i]];
    return stacks[order[0]] > MOST * (double)all;
}

/* The program of a process has the colour of its track. The other modules have the next
 * ones, by the number of their stacks in the opened profile: filters do not change
 * colours. */
static bool sort_modules(const struct profile *opened, uint8_t *category_of)
{
    uint32_t used = 0; /* bits of categories */
    struct arena arena = {0};
    size_t strings = opened->strings.count, count = 0;
    uint32_t *stacks = arena_zalloc(&arena, strings, sizeof *stacks);
    uint32_t *order = arena_alloc(&arena, 2 * (strings + 1) * sizeof *order);
    bool ok = stacks && order;
    for (size_t i = 1; ok && i < opened->stack_count; i++) {
        const struct frame *f = &opened->frames[opened->stacks[i].frame];
        if (f->kind != FRAME_KERNEL)
            stacks[module_of(opened, f)]++;
    }
    for (string_id i = 1; ok && i < strings; i++)
        if (stacks[i])
            order[count++] = i;
    if (ok)
        sort_u32(order, count, order + strings + 1, more_stacks, stacks);
    core.one_module = ok && count && has_most(stacks, order, count);
    for (size_t i = 0; ok && i < count; i++) {
        size_t process = process_of(profile_string(opened, order[i]));
        category_of[order[i]] = process < CATEGORIES ? (uint8_t)process : NO_CATEGORY;
        used |= process < CATEGORIES ? 1U << process : 0;
    }
    for (size_t i = 0; ok && i < count; i++)
        if (category_of[order[i]] == NO_CATEGORY)
            category_of[order[i]] = next_category(&used);
    arena_deinit(&arena);
    return ok;
}

/* Sets core.categories, by string of the shown profile. */
static bool need_categories(void)
{
    const struct profile *opened = core.opened[0], *p = core.shown.p;
    struct arena arena = {0};
    uint8_t *of_opened = arena_zalloc(&arena, opened->strings.count, 1);
    core.categories = arena_zalloc(&core.tone_arena, p->strings.count, 1);
    bool ok = of_opened && core.categories && sort_modules(opened, of_opened);
    for (size_t i = 1; ok && i < p->frame_count; i++) {
        string_id module = module_of(p, &p->frames[i]);
        string_id same = p == opened
                             ? module
                             : strings_find(&opened->strings, profile_string(p, module));
        core.categories[module] = of_opened[same];
    }
    arena_deinit(&arena);
    return ok;
}

/* JIT code has a category of its own, and the kernel one that recedes. */
static uint8_t category_of(uint8_t kind, const struct frame *f, uint32_t hash)
{
    uint32_t variant = (hash >> 8) % 3 << VARIANT_SHIFT;
    string_id module = module_of(core.shown.p, f);
    switch (kind) {
    case FRAME_KERNEL:
        return (uint8_t)(CATEGORIES | variant);
    case FRAME_JIT:
        return (uint8_t)(9 | variant);
    default:
        break;
    }
    bool by_module = module && (core.tone_by == TONE_MODULE ||
                                (core.tone_by == TONE_AUTO && !core.one_module));
    return (uint8_t)((by_module ? core.categories[module] : (hash >> 16) % CATEGORIES) |
                     variant);
}

/* `frame`: one of the label's; `kind`: of it. */
static uint8_t tone_of(string_id label, frame_id frame, uint8_t kind)
{
    const struct shown *s = &core.shown;
    if (kind >= KIND_PROCESS && core.tone_by != TONE_CHANGE)
        return track_of(owner_of(s, label));
    struct str text = strings_get(&s->paths.labels, label);
    if (s->marks_of_label[label] & DRAWN_OFF)
        return (uint8_t)(activity_of_marker(text) - ACTIVITY_LOCK);
    if (core.tone_by == TONE_KIND)
        return kind;
    if (core.tone_by == TONE_CHANGE && s->changes.made && core.functions.base_total) {
        struct change change =
            change_of(s, label, PART_TOTAL, core.functions.base_total[label],
                      core.functions.total[label]);
        return (uint8_t)change_tone(&change);
    }
    return category_of(kind, &s->p->frames[frame],
                       (uint32_t)hash_fixed(text.ptr, text.len));
}

static bool make_tones(void)
{
    const struct shown *s = &core.shown;
    size_t labels = s->paths.labels.count;
    core.tones = arena_zalloc(&core.tone_arena, labels, 1);
    core.shared_tones = arena_zalloc(&core.tone_arena, s->shared.count + 1, 1);
    if (!core.tones || !core.shared_tones)
        return false;
    for (string_id label = 1; label < labels; label++)
        core.tones[label] =
            tone_of(label, s->frame_of_label[label], s->kind_of_label[label]);
    for (size_t i = 0; i < s->shared.count; i++) {
        frame_id frame = s->shared.frames[i];
        core.shared_tones[i] = tone_of(s->paths.label_of_frame[frame], frame,
                                       (uint8_t)s->p->frames[frame].kind);
    }
    return true;
}

bool need_tones(void)
{
    if (core.tones)
        return true;
    if (!need_shown())
        return false;
    if (core.tone_by == TONE_CHANGE && !need_functions())
        return false;
    bool modules = core.tone_by == TONE_MODULE || core.tone_by == TONE_AUTO;
    if (modules && !core.categories && !need_categories())
        return error_memory(&core.err);
    return make_tones() || error_memory(&core.err);
}
