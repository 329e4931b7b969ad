/* SPDX-License-Identifier: Apache-2.0 */
#include "model/builder.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/limits.h"
#include "model/sample_labels.h"
#include <stdlib.h>

/* Each table is a column and an index over it. This is the row to search for. */
struct lookup {
    const struct profile *profile;
    const void *row;
    label_set_id labels; /* of a sample */
};

#define LABELS_FACTOR 0x9e3779b1u /* odd: label sets have different products */

_Static_assert(sizeof(struct stack) == sizeof(struct trie_node) &&
                   offsetof(struct stack, frame) == offsetof(struct trie_node, key),
               "the nodes of the tree are the stacks");

#define TOO_DEEP \
    "a stack that is deeper than the limit was truncated; --limits x8 raises it"
#define TOO_MANY \
    "a frame above the limit of all stacks was left out; --limits x8 raises it"

static void note_refused(struct builder *b)
{
    builder_warn_times(b, TOO_MANY, b->stack_tree.refused);
    b->profile->facts.truncated++;
    b->stack_tree.refused = 0;
}

/* The profile's stacks are the nodes of the tree. The tree may have moved them. */
static void show_stacks(struct builder *b)
{
    if (b->stack_tree.refused)
        note_refused(b);
    b->profile->stacks = (struct stack *)(void *)b->stack_tree.nodes;
    b->profile->stack_count = b->stack_tree.count;
}

static bool columns_init(struct builder *b)
{
    struct profile *p = b->profile;
    struct arena *a = &p->arena;
    static const struct module no_module;
    static const struct frame no_frame;
    static const struct event no_event;
    p->modules = arena_grow(a, NULL, &b->module_cap, 16, sizeof no_module);
    p->frames = arena_grow(a, NULL, &b->frame_cap, 64, sizeof no_frame);
    p->threads = arena_grow(a, NULL, &b->thread_cap, 16, sizeof *p->threads);
    p->events = arena_grow(a, NULL, &b->event_cap, 4, sizeof no_event);
    if (!trie_init(&b->stack_tree, a))
        return false;
    show_stacks(b);
    p->modules[0] = no_module;
    p->frames[0] = no_frame;
    p->threads[0] = (struct thread){.pid = ID_NONE, .tid = ID_NONE};
    p->events[0] = no_event;
    p->module_count = p->frame_count = 1;
    p->thread_count = p->event_count = 1;
    p->facts.time_first = p->facts.time_last = TIME_NONE;
    return true;
}

bool builder_init(struct builder *b, enum build_mode mode)
{
    *b = (struct builder){.mode = mode, .limits = &limits_default};
    b->profile = calloc(1, sizeof *b->profile);
    if (!b->profile)
        return false;
    b->profile->all_samples = mode == BUILD_KEEP;
    return strings_init(&b->profile->strings, &b->profile->arena) && columns_init(b);
}

void builder_set_limits(struct builder *b, const struct limits *limits)
{
    b->limits = limits ? limits : &limits_default;
    b->stack_tree.limit = (size_t)b->limits->frames;
}

void builder_deinit(struct builder *b)
{
    profile_destroy(b->profile);
    b->profile = NULL;
}

/* Frees what only building needs. */
static void release_indexes(struct builder *b)
{
    struct arena *a = &b->profile->arena;
    struct index *const indexes[] = {&b->modules, &b->frames, &b->threads,
                                     &b->events,  &b->labels, &b->samples};
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++)
        arena_release(a, indexes[i]->slots,
                      (indexes[i]->mask + 1) * sizeof *indexes[i]->slots);
    trie_seal(&b->stack_tree);
    if (b->label_tree.arena)
        trie_seal(&b->label_tree);
    arena_release(a, b->path.items, b->path.cap * sizeof *b->path.items);
}

/* Whether there is a stack with more than `most` frames. Fills `depths`. */
static bool has_deep_stack(const struct profile *p, uint64_t most, uint32_t *depths)
{
    uint32_t deepest = 0;
    for (size_t i = 1; i < p->stack_count; i++) {
        depths[i] = depths[p->stacks[i].parent] + 1;
        deepest = depths[i] > deepest ? depths[i] : deepest;
    }
    return deepest > most;
}

/* Renumbers the stacks that are not too deep. `renumbered` maps each stack to its new number,
 * and a stack that is too deep to its deepest caller that remains. Returns the number of
 * stacks that remain. */
static size_t bound_stacks(struct profile *p, uint64_t most, uint32_t *depths,
                           stack_id *renumbered)
{
    size_t count = 1;
    for (size_t i = 1; i < p->stack_count; i++) {
        struct stack s = p->stacks[i];
        depths[i] = depths[s.parent] < most ? depths[s.parent] + 1 : UINT32_MAX;
        renumbered[i] = depths[i] == UINT32_MAX ? renumbered[s.parent] : (stack_id)count;
        if (depths[i] != UINT32_MAX)
            p->stacks[count++] = (struct stack){renumbered[s.parent], s.frame};
    }
    return count;
}

/* Moves the samples of stacks that are too deep to their deepest caller that remains. */
static void cut_deep_stacks(struct builder *b, uint32_t *depths, stack_id *renumbered)
{
    struct profile *p = b->profile;
    p->stack_count = bound_stacks(p, b->limits->depth, depths, renumbered);
    for (size_t i = 0; i < p->sample_count; i++) {
        if (depths[p->samples[i].stack] == UINT32_MAX)
            builder_cut(b);
        p->samples[i].stack = renumbered[p->samples[i].stack];
    }
}

/* Stacks may be built frame by frame, so their depth is checked at the end. This is rare:
 * a stack that is too deep has more frames than most profiles. If out of memory, the arena
 * has the error. */
static void bound_depth(struct builder *b)
{
    struct profile *p = b->profile;
    size_t count = p->stack_count, size = count * sizeof(uint32_t);
    if (count <= b->limits->depth)
        return;
    uint32_t *depths = arena_zalloc(&p->arena, count, sizeof *depths);
    if (!depths)
        return;
    if (has_deep_stack(p, b->limits->depth, depths)) {
        stack_id *renumbered = arena_zalloc(&p->arena, count, sizeof *renumbered);
        if (!renumbered)
            return;
        cut_deep_stacks(b, depths, renumbered);
        arena_release(&p->arena, renumbered, size);
    }
    arena_release(&p->arena, depths, size);
}

struct profile *builder_finish(struct builder *b, struct error *err)
{
    struct profile *p = b->profile;
    if (builder_failed(b)) {
        error_memory(err);
        return NULL;
    }
    release_indexes(b);
    bound_depth(b);
    if (builder_failed(b)) {
        error_memory(err);
        return NULL;
    }
    b->profile = NULL;
    return p;
}

string_id builder_string(struct builder *b, struct str s)
{
    return strings_add(&b->profile->strings, s);
}

static bool same_module(const void *context, uint32_t id)
{
    const struct lookup *w = context;
    const struct module *a = &w->profile->modules[id], *m = w->row;
    return a->path == m->path && a->build_id == m->build_id;
}

module_id builder_module(struct builder *b, struct str path, struct str build_id)
{
    struct profile *p = b->profile;
    struct module m = {builder_string(b, path), builder_string(b, build_id)};
    if (builder_failed(b) || (m.path == 0 && m.build_id == 0))
        return 0;
    if (!index_reserve(&b->modules, &p->arena, 1))
        return 0;
    uint32_t hash = (uint32_t)hash_pair(m.path, m.build_id);
    struct index_slot *slot =
        index_find(&b->modules, hash, same_module, &(struct lookup){p, &m});
    if (slot->id)
        return slot->id;
    struct module *row =
        ARRAY_APPEND(&p->arena, p->modules, p->module_count, b->module_cap);
    if (!row)
        return 0;
    *row = m;
    index_fill(&b->modules, slot, hash, (uint32_t)(row - p->modules));
    return slot->id;
}

static bool same_frame(const void *context, uint32_t id)
{
    const struct lookup *w = context;
    const struct frame *a = &w->profile->frames[id], *f = w->row;
    return a->name == f->name && a->module == f->module && a->file == f->file &&
           a->line == f->line && a->kind == f->kind && a->address == f->address &&
           a->offset == f->offset;
}

frame_id builder_frame(struct builder *b, const struct frame *frame)
{
    struct profile *p = b->profile;
    struct frame f = *frame;
    if (b->modules_alike && f.name)
        f.module = 0;
    if (builder_failed(b) || !index_reserve(&b->frames, &p->arena, 1))
        return 0;
    uint64_t position = hash_mix(f.address ^ HASH_D, f.offset ^ HASH_B);
    uint64_t name = hash_pair(f.name, f.module) + f.kind;
    uint32_t hash =
        (uint32_t)hash_mix(name ^ position, hash_pair(f.file, f.line) ^ HASH_C);
    struct index_slot *slot =
        index_find(&b->frames, hash, same_frame, &(struct lookup){p, &f});
    if (slot->id)
        return slot->id;
    struct frame *row = ARRAY_APPEND(&p->arena, p->frames, p->frame_count, b->frame_cap);
    if (!row)
        return 0;
    *row = f;
    index_fill(&b->frames, slot, hash, (uint32_t)(row - p->frames));
    return slot->id;
}

frame_id builder_named_frame(struct builder *b, struct str name)
{
    return builder_frame(b, &(struct frame){.name = builder_string(b, name)});
}

static bool same_thread(const void *context, uint32_t id)
{
    const struct lookup *w = context;
    const struct thread *a = &w->profile->threads[id], *t = w->row;
    return a->pid == t->pid && a->tid == t->tid && a->name == t->name;
}

thread_id builder_thread(struct builder *b, int64_t pid, int64_t tid, struct str name)
{
    struct profile *p = b->profile;
    struct thread t = {pid, tid, builder_string(b, name)};
    if (builder_failed(b) || !index_reserve(&b->threads, &p->arena, 1))
        return 0;
    if (pid == ID_NONE && tid == ID_NONE && t.name == 0)
        return 0;
    uint32_t hash = (uint32_t)hash_mix(hash_ids(pid, tid) ^ t.name, HASH_D);
    struct index_slot *slot =
        index_find(&b->threads, hash, same_thread, &(struct lookup){p, &t});
    if (slot->id)
        return slot->id;
    struct thread *row =
        ARRAY_APPEND(&p->arena, p->threads, p->thread_count, b->thread_cap);
    if (!row)
        return 0;
    *row = t;
    index_fill(&b->threads, slot, hash, (uint32_t)(row - p->threads));
    return slot->id;
}

static bool same_event(const void *context, uint32_t id)
{
    const struct lookup *w = context;
    return w->profile->events[id].name == ((const struct event *)w->row)->name;
}

event_id builder_event(struct builder *b, struct str name, enum unit unit)
{
    struct profile *p = b->profile;
    struct event e = {builder_string(b, name), unit, event_kind_of(name, unit), 0};
    if (builder_failed(b) || !index_reserve(&b->events, &p->arena, 1))
        return 0;
    uint32_t hash = (uint32_t)hash_pair(e.name, 0);
    struct index_slot *slot =
        index_find(&b->events, hash, same_event, &(struct lookup){p, &e});
    if (slot->id)
        return slot->id;
    struct event *row = ARRAY_APPEND(&p->arena, p->events, p->event_count, b->event_cap);
    if (!row)
        return 0;
    *row = e;
    index_fill(&b->events, slot, hash, (uint32_t)(row - p->events));
    return slot->id;
}

void builder_event_group(struct builder *b, event_id event, event_id group)
{
    if (event && group && !b->profile->events[event].group)
        b->profile->events[event].group = group;
}

stack_id builder_push(struct builder *b, stack_id parent, frame_id frame)
{
    return builder_push_run(b, parent, &frame, 1, NULL);
}

stack_id builder_push_run(struct builder *b, stack_id parent, const frame_id *frames,
                          size_t count, stack_id *stacks)
{
    stack_id stack = trie_descend(&b->stack_tree, parent, frames, count, stacks);
    show_stacks(b);
    return stack;
}

void builder_path_add(struct builder *b, frame_id frame)
{
    struct frame_path *path = &b->path;
    if (path->count >= b->limits->depth) {
        path->is_cut = true;
        return;
    }
    frame_id *item =
        ARRAY_APPEND(&b->profile->arena, path->items, path->count, path->cap);
    if (item)
        *item = frame;
}

void builder_path_reverse(struct builder *b, size_t from)
{
    frame_id *items = b->path.items;
    for (size_t i = from, j = b->path.count; i + 1 < j; i++) {
        frame_id swap = items[i];
        items[i] = items[--j];
        items[j] = swap;
    }
}

stack_id builder_path_from_leaf(struct builder *b)
{
    builder_path_reverse(b, 0);
    return builder_path_from_root(b);
}

stack_id builder_path_from_root(struct builder *b)
{
    if (b->path.is_cut)
        builder_cut(b);
    return builder_push_run(b, 0, b->path.items, b->path.count, NULL);
}

/* The index of the samples holds row + 1: rows start at 0, and 0 marks an empty slot. */
static bool same_sample(const void *context, uint32_t id)
{
    const struct lookup *w = context;
    const struct sample *a = &w->profile->samples[id - 1], *s = w->row;
    return a->stack == s->stack && a->thread == s->thread && a->event == s->event;
}

static uint32_t hash_sample(const struct sample *s)
{
    return (uint32_t)hash_mix(hash_pair(s->stack, s->thread), HASH_C ^ s->event);
}

/* The same where samples have labels. */
static bool same_labelled_sample(const void *context, uint32_t id)
{
    const struct lookup *w = context;
    return w->profile->sample_labels[id - 1] == w->labels && same_sample(context, id);
}

/* The slot that holds the number of the sample's row, plus one; it holds 0 where there is
 * no such row yet. NULL when out of memory. A sample without labels has the same hash
 * whether others have labels or not, so rows are found when the first labels come. */
static uint32_t *find_row(struct builder *b, const struct sample *s, label_set_id labels)
{
    if (!index_reserve(&b->samples, &b->profile->arena, 1))
        return NULL;
    uint32_t hash = hash_sample(s);
    struct lookup w = {b->profile, s, labels};
    struct index_slot *slot;
    if (b->profile->sample_labels) {
        hash ^= labels * LABELS_FACTOR;
        slot = index_find(&b->samples, hash, same_labelled_sample, &w);
    } else {
        slot = index_find(&b->samples, hash, same_sample, &w);
    }
    if (slot->id == 0)
        index_fill(&b->samples, slot, hash, 0);
    return &slot->id;
}

static void count_facts(struct facts *facts, const struct sample *s)
{
    facts->samples += s->count;
    if (s->time == TIME_NONE)
        return;
    if (facts->time_first == TIME_NONE || s->time < facts->time_first)
        facts->time_first = s->time;
    if (facts->time_last == TIME_NONE || s->time > facts->time_last)
        facts->time_last = s->time;
}

/* Sets the labels of the row that is added next. The column begins with the first labels:
 * the rows before have none. */
static bool set_labels(struct builder *b, label_set_id labels)
{
    struct profile *p = b->profile;
    size_t row = p->sample_count;
    bool is_first = !p->sample_labels;
    if (!ARRAY_RESERVE(&p->arena, p->sample_labels, b->sample_label_cap, row + 1))
        return false;
    if (is_first)
        memset(p->sample_labels, 0, row * sizeof *p->sample_labels);
    p->sample_labels[row] = labels;
    return true;
}

/* Makes room for a row of the samples; NULL when out of memory. */
static inline struct sample *append_row(struct builder *b, label_set_id labels)
{
    struct profile *p = b->profile;
    if (p->sample_count >= UINT32_MAX - 1) {
        p->arena.failed = true;
        return NULL;
    }
    if ((labels || p->sample_labels) && !set_labels(b, labels))
        return NULL;
    return ARRAY_APPEND(&p->arena, p->samples, p->sample_count, b->sample_cap);
}

void builder_reserve_samples(struct builder *b, size_t rows)
{
    struct profile *p = b->profile;
    if (b->mode == BUILD_KEEP && rows < UINT32_MAX - p->sample_count)
        (void)ARRAY_RESERVE(&p->arena, p->samples, b->sample_cap, p->sample_count + rows);
}

void builder_add_mapped_labelled(struct builder *b, const struct sample *s,
                                 label_set_id labels)
{
    struct profile *p = b->profile;
    if (b->mode == BUILD_KEEP) {
        struct sample *row = append_row(b, labels);
        if (row)
            *row = *s;
        return;
    }
    if (labels && !p->sample_labels && !set_labels(b, labels))
        return;
    uint32_t *number = find_row(b, s, labels);
    if (!number)
        return;
    if (*number) {
        struct sample *sum = &p->samples[*number - 1];
        weight_add(&sum->weight, &sum->rest, s->weight, s->rest);
        sum->count += s->count;
        return;
    }
    struct sample *row = append_row(b, labels);
    if (row) {
        *row = *s;
        row->time = TIME_NONE;
        row->cpu = CPU_NONE;
    }
    *number = (uint32_t)p->sample_count;
}

void builder_add_labelled(struct builder *b, const struct sample *s, label_set_id labels)
{
    if (builder_failed(b))
        return;
    if (!(s->weight - s->weight == 0)) {
        builder_warn(b, "a weight that is not a finite number", 0, 0, STR(""));
        return;
    }
    count_facts(&b->profile->facts, s);
    builder_add_mapped_labelled(b, s, labels);
}

void builder_add_stack(struct builder *b, event_id event, stack_id stack, double weight)
{
    builder_add(b, &(struct sample){.time = TIME_NONE,
                                    .cpu = CPU_NONE,
                                    .event = event,
                                    .stack = stack,
                                    .count = 1,
                                    .weight = weight});
}

void builder_add_call(struct builder *b, const struct stated_call *call)
{
    struct profile *p = b->profile;
    if (ARRAY_RESERVE(&p->arena, p->calls, b->call_cap, p->call_count + 1))
        p->calls[p->call_count++] = *call;
}

static struct warning *warning_of(struct facts *facts, const char *what, uint64_t count)
{
    for (unsigned i = 0; i < facts->warning_count; i++) {
        if (strcmp(facts->warnings[i].what, what) == 0) {
            facts->warnings[i].count += count;
            return NULL;
        }
    }
    if (facts->warning_count == WARNINGS_MAX) {
        facts->warnings[WARNINGS_MAX - 1].count += count;
        return NULL;
    }
    struct warning *w = &facts->warnings[facts->warning_count++];
    *w = (struct warning){what, count, false, LOCATION_NONE};
    return w;
}

void builder_warn(struct builder *b, const char *what, uint64_t line, uint64_t column,
                  struct str text)
{
    struct warning *w = warning_of(&b->profile->facts, what, 1);
    if (w && line)
        input_location_set_line(&w->first, line, column, text);
}

void builder_warn_times(struct builder *b, const char *what, uint64_t times)
{
    if (times)
        warning_of(&b->profile->facts, what, times);
}

void builder_cut(struct builder *b)
{
    b->profile->facts.truncated++;
    builder_warn_times(b, TOO_DEEP, 1);
}

void builder_infer_times(struct builder *b, const char *what, uint64_t times)
{
    struct warning *w = times ? warning_of(&b->profile->facts, what, times) : NULL;
    if (w)
        w->inferred = true;
}

void builder_warn_location(struct builder *b, const char *what, uint64_t times,
                           const struct input_location *first)
{
    struct warning *w = times ? warning_of(&b->profile->facts, what, times) : NULL;
    if (w)
        w->first = *first;
}

void builder_warn_offset(struct builder *b, const char *what, uint64_t offset)
{
    struct warning *w = warning_of(&b->profile->facts, what, 1);
    if (w)
        w->first = (struct input_location){.offset = offset};
}

/* An array with one ID per row of a table of another profile; [0] is 0. */
static uint32_t *map_alloc(struct builder *b, size_t count)
{
    return arena_zalloc(&b->profile->arena, count ? count : 1, sizeof(uint32_t));
}

module_id *builder_map_modules(struct builder *b, const struct profile *other)
{
    module_id *map = map_alloc(b, other->module_count);
    for (size_t i = 1; map && i < other->module_count; i++) {
        const struct module *m = &other->modules[i];
        map[i] = builder_module(b, profile_string(other, m->path),
                                profile_string(other, m->build_id));
    }
    return map;
}

frame_id *builder_map_frames(struct builder *b, const struct profile *other)
{
    module_id *modules = builder_map_modules(b, other);
    frame_id *map = map_alloc(b, other->frame_count);
    for (size_t i = 1; map && modules && i < other->frame_count; i++) {
        struct frame f = other->frames[i];
        f.name = builder_string(b, profile_string(other, f.name));
        f.file = builder_string(b, profile_string(other, f.file));
        f.module = modules[f.module];
        map[i] = builder_frame(b, &f);
    }
    return modules ? map : NULL;
}

thread_id *builder_map_threads(struct builder *b, const struct profile *other)
{
    thread_id *map = map_alloc(b, other->thread_count);
    for (size_t i = 1; map && i < other->thread_count; i++) {
        const struct thread *t = &other->threads[i];
        map[i] = builder_thread(b, t->pid, t->tid, profile_string(other, t->name));
    }
    return map;
}

event_id *builder_map_events(struct builder *b, const struct profile *other)
{
    event_id *map = map_alloc(b, other->event_count);
    for (size_t i = 1; map && i < other->event_count; i++)
        map[i] = builder_event(b, profile_string(other, other->events[i].name),
                               other->events[i].unit);
    for (size_t i = 1; map && i < other->event_count; i++)
        builder_event_group(b, map[i], map[other->events[i].group]);
    return map;
}

/* Copies the text of a warning: its source may be freed before the profile. */
static const char *keep_text(struct builder *b, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_alloc(&b->profile->arena, size);
    return copy ? memcpy(copy, text, size) : "";
}

static void note_loss(struct facts *f, uint64_t time, uint64_t count)
{
    if (f->loss_count < LOSSES_MAX)
        f->losses[f->loss_count++] = (struct loss){time, count};
    else
        f->losses[LOSSES_MAX - 1].count += count;
}

void builder_lost(struct builder *b, uint64_t time, uint64_t count)
{
    struct facts *f = &b->profile->facts;
    f->lost = count > UINT64_MAX - f->lost ? UINT64_MAX : f->lost + count;
    if (time != TIME_NONE && count > 0)
        note_loss(f, time, count);
}

void builder_merge_facts(struct builder *b, const struct profile *other)
{
    struct facts *to = &b->profile->facts;
    const struct facts *from = &other->facts;
    if (!to->format)
        to->format = builder_string(b, profile_string(other, from->format));
    if (!to->interpreters)
        to->interpreters = builder_string(b, profile_string(other, from->interpreters));
    if (!to->header)
        to->header = builder_string(b, profile_string(other, from->header));
    if (!to->host)
        to->host = builder_string(b, profile_string(other, from->host));
    if (!to->command)
        to->command = builder_string(b, profile_string(other, from->command));
    to->samples += from->samples;
    to->lost += from->lost;
    for (unsigned i = 0; i < from->loss_count; i++)
        note_loss(to, from->losses[i].time, from->losses[i].count);
    to->truncated += from->truncated;
    to->grafted += from->grafted;
    unwind_gaps_merge(&to->unwind_gaps, &from->unwind_gaps);
    to->incomplete |= from->incomplete;
    if (to->time_first == TIME_NONE || from->time_first < to->time_first)
        to->time_first = from->time_first;
    if (from->time_last != TIME_NONE &&
        (to->time_last == TIME_NONE || from->time_last > to->time_last))
        to->time_last = from->time_last;
    if (from->rate > to->rate)
        to->rate = from->rate;
    if (from->sample_bytes > to->sample_bytes)
        to->sample_bytes = from->sample_bytes;
    to->filtered |= from->filtered;
    to->foreign_lines |= from->foreign_lines;
    to->differential |= from->differential;
    for (unsigned i = 0; i < from->warning_count; i++) {
        const struct warning *w = &from->warnings[i];
        struct warning *mine = warning_of(to, w->what, w->count);
        if (mine) {
            mine->what = keep_text(b, w->what);
            mine->first = w->first;
            mine->inferred = w->inferred;
        }
    }
}

#define ROWS_AHEAD ((size_t)8)
#define STACKS_AHEAD ((size_t)8)

/* Maps the IDs of another profile to the builder's. */
struct maps {
    const thread_id *threads;
    const event_id *events;
    const stack_id *stacks;
};

static struct sample mapped(const struct maps *m, const struct sample *sample)
{
    struct sample s = *sample;
    s.thread = m->threads[s.thread];
    s.event = m->events[s.event];
    s.stack = m->stacks[s.stack];
    return s;
}

/* Prefetches the index slot of a stack that comes soon, if its caller is mapped already
 * and it is not the first callee. */
static void fetch_stack(const struct builder *b, const struct profile *other,
                        const frame_id *frames, const stack_id *stacks, size_t i)
{
    size_t ahead = i + STACKS_AHEAD;
    if (ahead >= other->stack_count)
        return;
    struct stack s = other->stacks[ahead];
    if (s.parent < i && s.parent + 1 != ahead)
        trie_prefetch(&b->stack_tree, stacks[s.parent], frames[s.frame]);
}

/* Maps the stacks of the other profile: a caller comes before its callees. */
static void map_stacks(struct builder *b, const struct profile *other,
                       const frame_id *frames, stack_id *stacks)
{
    for (size_t i = 1; i < other->stack_count; i++) {
        struct stack s = other->stacks[i];
        fetch_stack(b, other, frames, stacks, i);
        stacks[i] = trie_child(&b->stack_tree, stacks[s.parent], frames[s.frame]);
    }
    show_stacks(b);
}

/* Prefetches the index slot of the row of a sample that comes soon. */
static void fetch_row(const struct builder *b, const struct profile *other,
                      const struct maps *maps, size_t i)
{
    if (i + ROWS_AHEAD >= other->sample_count || !b->samples.slots)
        return;
    struct sample s = mapped(maps, &other->samples[i + ROWS_AHEAD]);
    index_prefetch(&b->samples, hash_sample(&s));
}

/* How many stacks ahead the run of a stack, its frames, and the index slot of its first
 * frame are prefetched. */
#define RUNS_AHEAD ((size_t)36)
#define FRAMES_AHEAD ((size_t)24)
#define BRANCHES_AHEAD ((size_t)12)

static void fetch_run(const struct builder *b, const struct profile *other,
                      const struct frame_run *runs, const frame_id *frames,
                      const stack_id *stacks, size_t i)
{
    const struct stack *soon = &other->stacks[i];
    if (i + RUNS_AHEAD >= other->stack_count)
        return;
    struct stack s = soon[BRANCHES_AHEAD];
    struct frame_run run = runs[s.frame];
    __builtin_prefetch(&runs[soon[RUNS_AHEAD].frame]);
    __builtin_prefetch(&frames[runs[soon[FRAMES_AHEAD].frame].first]);
    if (s.parent < i && run.count)
        trie_prefetch(&b->stack_tree, stacks[s.parent], frames[run.first]);
}

void builder_map_runs(struct builder *b, const struct profile *other,
                      const struct frame_run *runs, const frame_id *frames,
                      stack_id *stacks)
{
    stacks[0] = 0;
    for (size_t i = 1; i < other->stack_count; i++) {
        struct stack s = other->stacks[i];
        struct frame_run run = runs[s.frame];
        fetch_run(b, other, runs, frames, stacks, i);
        stacks[i] =
            trie_extend(&b->stack_tree, stacks[s.parent], frames + run.first, run.count);
    }
    show_stacks(b);
}

/* If only one of both states calls, they would not be those of all samples. */
static void merge_calls(struct builder *b, const struct profile *other,
                        const frame_id *frames, const event_id *events)
{
    struct profile *p = b->profile;
    if (p->sample_count && !p->call_count)
        return;
    if (other->sample_count && !other->call_count)
        p->call_count = 0;
    for (size_t i = 0; i < other->call_count; i++) {
        struct stated_call call = other->calls[i];
        call.caller = frames[call.caller];
        call.callee = frames[call.callee];
        call.event = events[call.event];
        builder_add_call(b, &call);
    }
}

void builder_merge(struct builder *b, const struct profile *other)
{
    frame_id *frames = builder_map_frames(b, other);
    thread_id *threads = builder_map_threads(b, other);
    event_id *events = builder_map_events(b, other);
    label_set_id *labels = other->sample_labels ? builder_map_label_sets(b, other) : NULL;
    stack_id *stacks = map_alloc(b, other->stack_count);
    if (!frames || !threads || !events || !stacks || (other->sample_labels && !labels))
        return;
    struct maps maps = {threads, events, stacks};
    map_stacks(b, other, frames, stacks);
    merge_calls(b, other, frames, events);
    for (size_t i = 0; i < other->sample_count; i++) {
        struct sample s = mapped(&maps, &other->samples[i]);
        fetch_row(b, other, &maps, i);
        builder_add_mapped_labelled(b, &s, labels ? labels[other->sample_labels[i]] : 0);
    }
    builder_merge_facts(b, other);
    b->profile->all_samples &= other->all_samples;
}

/* If nothing was added yet, merging is the same as taking over the other profile. */
static bool is_empty(const struct builder *b)
{
    return b->profile->sample_count == 0 && b->profile->stack_count == 1 &&
           b->profile->event_count == 1 && b->profile->facts.warning_count == 0;
}

void builder_absorb(struct builder *b, struct builder *other)
{
    if (is_empty(b)) {
        struct builder empty = *b;
        *b = *other;
        *other = empty;
    } else {
        builder_merge(b, other->profile);
    }
    builder_deinit(other);
}
