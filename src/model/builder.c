/* SPDX-License-Identifier: Apache-2.0 */
#include "model/builder.h"
#include "base/hash.h"
#include "base/limits.h"
#include <stdlib.h>

/* Every table is at home in a column and an index over it; this is the row under search.
 */
struct wanted {
    const struct profile *profile;
    const void *row;
};

_Static_assert(sizeof(struct stack) == sizeof(struct trie_node) &&
                   offsetof(struct stack, frame) == offsetof(struct trie_node, key),
               "the nodes of the tree are the stacks");

#define TOO_DEEP "a stack that is deeper than the limit was cut; --limits x8 raises it"
#define TOO_MANY \
    "a frame above the limit of all stacks was left out; --limits x8 raises it"

static void note_refused(struct builder *b)
{
    builder_warn_times(b, TOO_MANY, b->stack_tree.refused);
    b->profile->facts.truncated++;
    b->stack_tree.refused = 0;
}

/* The profile's stacks are the nodes of the tree, wherever they have moved. */
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
    *b = (struct builder){.mode = mode};
    b->profile = calloc(1, sizeof *b->profile);
    if (!b->profile)
        return false;
    b->profile->kept = mode == BUILD_KEEP;
    return strings_init(&b->profile->strings, &b->profile->arena) && columns_init(b);
}

void builder_deinit(struct builder *b)
{
    profile_destroy(b->profile);
    b->profile = NULL;
}

/* Gives back what only building needs. */
static void release_indexes(struct builder *b)
{
    struct arena *a = &b->profile->arena;
    struct index *const indexes[] = {&b->modules, &b->frames, &b->threads, &b->events,
                                     &b->samples};
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++)
        arena_release(a, indexes[i]->slots,
                      (indexes[i]->mask + 1) * sizeof *indexes[i]->slots);
    trie_seal(&b->stack_tree);
    arena_release(a, b->path.items, b->path.cap * sizeof *b->path.items);
}

/* The stacks that are not too deep, with the numbers that they have then: `kept` has the
 * deepest caller that stays for each that does not. Gives how many stay. */
static size_t bound_stacks(struct profile *p, uint32_t *depths, stack_id *kept)
{
    size_t count = 1;
    for (size_t i = 1; i < p->stack_count; i++) {
        struct stack s = p->stacks[i];
        depths[i] = depths[s.parent] < limits.depth ? depths[s.parent] + 1 : UINT32_MAX;
        kept[i] = depths[i] == UINT32_MAX ? kept[s.parent] : (stack_id)count;
        if (depths[i] != UINT32_MAX)
            p->stacks[count++] = (struct stack){kept[s.parent], s.frame};
    }
    return count;
}

/* Stacks may be built frame by frame, so how deep they are is looked at when all are
 * there: seldom, because one that is too deep takes more frames than most profiles have. */
static void bound_depth(struct builder *b)
{
    struct profile *p = b->profile;
    size_t before = p->stack_count, size = before * sizeof(uint32_t);
    if (before <= limits.depth)
        return;
    uint32_t *depths = arena_zalloc(&p->arena, before, sizeof *depths);
    stack_id *kept = arena_zalloc(&p->arena, before, sizeof *kept);
    if (!depths || !kept)
        return; /* which the arena knows */
    p->stack_count = bound_stacks(p, depths, kept);
    for (size_t i = 0; p->stack_count < before && i < p->sample_count; i++) {
        if (depths[p->samples[i].stack] == UINT32_MAX)
            builder_cut(b);
        p->samples[i].stack = kept[p->samples[i].stack];
    }
    arena_release(&p->arena, kept, size);
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

/* Appends *row to the column `items`, grown as need be; false when memory is short. */
#define COLUMN_APPEND(b, items, cap, count, row)                 \
    (column_room(b, (items), (cap), (count), sizeof *(row))      \
         ? ((items) = (b)->grown, (items)[count] = *(row), true) \
         : false)

static bool column_room(struct builder *b, void *items, size_t *cap, size_t count,
                        size_t size)
{
    b->grown = arena_grow(&b->profile->arena, items, cap, count + 1, size);
    return b->grown != NULL;
}

static bool same_module(const void *context, uint32_t id)
{
    const struct wanted *w = context;
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
        index_find(&b->modules, hash, same_module, &(struct wanted){p, &m});
    if (slot->id)
        return slot->id;
    if (!COLUMN_APPEND(b, p->modules, &b->module_cap, p->module_count, &m))
        return 0;
    index_fill(&b->modules, slot, hash, (uint32_t)p->module_count);
    return (module_id)p->module_count++;
}

static bool same_frame(const void *context, uint32_t id)
{
    const struct wanted *w = context;
    const struct frame *a = &w->profile->frames[id], *f = w->row;
    return a->name == f->name && a->module == f->module && a->file == f->file &&
           a->line == f->line && a->kind == f->kind && a->address == f->address;
}

frame_id builder_frame(struct builder *b, const struct frame *frame)
{
    struct profile *p = b->profile;
    struct frame f = *frame;
    if (b->modules_alike && f.name)
        f.module = 0;
    if (builder_failed(b) || !index_reserve(&b->frames, &p->arena, 1))
        return 0;
    uint64_t place = hash_pair(f.file, f.line) ^ f.address;
    uint32_t hash =
        (uint32_t)hash_mix(hash_pair(f.name, f.module) + f.kind, place ^ HASH_C);
    struct index_slot *slot =
        index_find(&b->frames, hash, same_frame, &(struct wanted){p, &f});
    if (slot->id)
        return slot->id;
    if (!COLUMN_APPEND(b, p->frames, &b->frame_cap, p->frame_count, &f))
        return 0;
    index_fill(&b->frames, slot, hash, (uint32_t)p->frame_count);
    return (frame_id)p->frame_count++;
}

frame_id builder_named_frame(struct builder *b, struct str name)
{
    return builder_frame(b, &(struct frame){.name = builder_string(b, name)});
}

static bool same_thread(const void *context, uint32_t id)
{
    const struct wanted *w = context;
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
    uint32_t hash =
        (uint32_t)hash_mix(hash_pair((uint32_t)pid, (uint32_t)tid) ^ t.name, HASH_D);
    struct index_slot *slot =
        index_find(&b->threads, hash, same_thread, &(struct wanted){p, &t});
    if (slot->id)
        return slot->id;
    if (!COLUMN_APPEND(b, p->threads, &b->thread_cap, p->thread_count, &t))
        return 0;
    index_fill(&b->threads, slot, hash, (uint32_t)p->thread_count);
    return (thread_id)p->thread_count++;
}

static bool same_event(const void *context, uint32_t id)
{
    const struct wanted *w = context;
    return w->profile->events[id].name == ((const struct event *)w->row)->name;
}

event_id builder_event(struct builder *b, struct str name, enum unit unit)
{
    struct profile *p = b->profile;
    struct event e = {builder_string(b, name), unit, event_kind_of(name, unit)};
    if (builder_failed(b) || !index_reserve(&b->events, &p->arena, 1))
        return 0;
    uint32_t hash = (uint32_t)hash_pair(e.name, 0);
    struct index_slot *slot =
        index_find(&b->events, hash, same_event, &(struct wanted){p, &e});
    if (slot->id)
        return slot->id;
    if (!COLUMN_APPEND(b, p->events, &b->event_cap, p->event_count, &e))
        return 0;
    index_fill(&b->events, slot, hash, (uint32_t)p->event_count);
    return (event_id)p->event_count++;
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
    if (path->count >= limits.depth) {
        path->is_cut = true;
        return;
    }
    frame_id *items = arena_grow(&b->profile->arena, path->items, &path->cap,
                                 path->count + 1, sizeof *items);
    if (!items)
        return;
    path->items = items;
    items[path->count++] = frame;
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

/* The index of the samples holds row + 1: rows begin at 0, and 0 marks an empty slot. */
static bool same_sample(const void *context, uint32_t id)
{
    const struct wanted *w = context;
    const struct sample *a = &w->profile->samples[id - 1], *s = w->row;
    return a->stack == s->stack && a->thread == s->thread && a->event == s->event;
}

static uint32_t hash_sample(const struct sample *s)
{
    return (uint32_t)hash_mix(hash_pair(s->stack, s->thread), HASH_C ^ s->event);
}

/* The place for the number of the sample's row, plus one; 0 stands there where the row is
 * not made yet. NULL when memory is short. */
static uint32_t *find_row(struct builder *b, const struct sample *s)
{
    if (!index_reserve(&b->samples, &b->profile->arena, 1))
        return NULL;
    uint32_t hash = hash_sample(s);
    struct wanted w = {b->profile, s};
    struct index_slot *slot = index_find(&b->samples, hash, same_sample, &w);
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

static void append_sample(struct builder *b, const struct sample *s)
{
    struct profile *p = b->profile;
    if (p->sample_count >= UINT32_MAX - 1)
        p->arena.failed = true;
    else if (COLUMN_APPEND(b, p->samples, &b->sample_cap, p->sample_count, s))
        p->sample_count++;
}

void builder_add_mapped(struct builder *b, const struct sample *s)
{
    struct profile *p = b->profile;
    if (b->mode == BUILD_KEEP) {
        append_sample(b, s);
        return;
    }
    uint32_t *row = find_row(b, s);
    if (!row)
        return;
    if (*row) {
        struct sample *sum = &p->samples[*row - 1];
        weight_add(&sum->weight, &sum->rest, s->weight, s->rest);
        sum->count += s->count;
        return;
    }
    struct sample counted = *s;
    counted.time = TIME_NONE;
    counted.cpu = CPU_NONE;
    append_sample(b, &counted);
    *row = (uint32_t)p->sample_count;
}

void builder_add(struct builder *b, const struct sample *s)
{
    if (builder_failed(b))
        return;
    if (!(s->weight - s->weight == 0)) {
        builder_warn(b, "a weight that is not a finite number", 0, 0, STR(""));
        return;
    }
    count_facts(&b->profile->facts, s);
    builder_add_mapped(b, s);
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
    *w = (struct warning){what, count, false, PLACE_NONE};
    return w;
}

void builder_warn(struct builder *b, const char *what, uint64_t line, uint64_t column,
                  struct str text)
{
    struct warning *w = warning_of(&b->profile->facts, what, 1);
    if (w && line)
        place_set_line(&w->first, line, column, text);
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

void builder_warn_place(struct builder *b, const char *what, uint64_t times,
                        const struct place *first)
{
    struct warning *w = times ? warning_of(&b->profile->facts, what, times) : NULL;
    if (w)
        w->first = *first;
}

void builder_warn_offset(struct builder *b, const char *what, uint64_t offset)
{
    struct warning *w = warning_of(&b->profile->facts, what, 1);
    if (w)
        w->first = (struct place){.offset = offset};
}

/* An array with one id per row of another profile's table; [0] is 0. */
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
    return map;
}

/* What a warning says, where it may have been read from a file that goes. */
static const char *keep_text(struct builder *b, const char *text)
{
    size_t size = strlen(text) + 1;
    char *kept = arena_alloc(&b->profile->arena, size);
    return kept ? memcpy(kept, text, size) : "";
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
    if (!to->host)
        to->host = builder_string(b, profile_string(other, from->host));
    if (!to->command)
        to->command = builder_string(b, profile_string(other, from->command));
    to->samples += from->samples;
    to->lost += from->lost;
    for (unsigned i = 0; i < from->loss_count; i++)
        note_loss(to, from->losses[i].time, from->losses[i].count);
    to->truncated += from->truncated;
    to->incomplete |= from->incomplete;
    if (to->time_first == TIME_NONE || from->time_first < to->time_first)
        to->time_first = from->time_first;
    if (from->time_last != TIME_NONE &&
        (to->time_last == TIME_NONE || from->time_last > to->time_last))
        to->time_last = from->time_last;
    if (from->rate > to->rate)
        to->rate = from->rate;
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

/* Another profile's numbers to the builder's. */
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

/* Asks the machine to fetch where a stack that comes soon is looked for, where its caller
 * is mapped already and it is not the first callee. */
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

/* The stacks of the other profile, each below its caller's. */
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

/* Asks the machine to fetch where the row of a sample that comes soon is looked for. */
static void fetch_row(const struct builder *b, const struct profile *other,
                      const struct maps *maps, size_t i)
{
    if (i + ROWS_AHEAD >= other->sample_count || !b->samples.slots)
        return;
    struct sample s = mapped(maps, &other->samples[i + ROWS_AHEAD]);
    index_prefetch(&b->samples, hash_sample(&s));
}

/* So far ahead a stack's run is fetched, its frames, and what the first of them is looked
 * for by. */
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

void builder_merge(struct builder *b, const struct profile *other)
{
    frame_id *frames = builder_map_frames(b, other);
    thread_id *threads = builder_map_threads(b, other);
    event_id *events = builder_map_events(b, other);
    stack_id *stacks = map_alloc(b, other->stack_count);
    if (!frames || !threads || !events || !stacks)
        return;
    struct maps maps = {threads, events, stacks};
    map_stacks(b, other, frames, stacks);
    for (size_t i = 0; i < other->sample_count; i++) {
        struct sample s = mapped(&maps, &other->samples[i]);
        fetch_row(b, other, &maps, i);
        builder_add_mapped(b, &s);
    }
    builder_merge_facts(b, other);
    b->profile->kept &= other->kept;
}

/* Nothing was added yet: merging into it is the same as taking the other in its place. */
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
