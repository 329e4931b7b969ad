/* SPDX-License-Identifier: Apache-2.0 */
#include "web/core/waits.h"
#include "base/array.h"
#include "base/sort.h"
#include "model/lock_kind.h"
#include "model/sample_labels.h"
#include "web/core/tracks.h"

#define KINDS_MOST 32 /* kinds of locks */

/* What is needed only until the waits are grouped. */
struct grouping {
    struct waits *w;
    const struct shown *s;
    const struct profile *p; /* its rows */
    struct arena arena;
    struct trie causes;      /* reason, function, waker, kind */
    struct trie trie;        /* thread, cause, lock or file */
    label_id *locks, *files; /* by set of labels */
    uint32_t *group_of_node; /* number + 1 */
    size_t node_cap;
    uint32_t *cause_of_stack; /* 0: not known yet, nor is the following */
    uint8_t *reasons;         /* by stack: activity, as the following */
    string_id *functions;
    uint8_t *kinds; /* of locks: indexes of kind_names */
    const char *kind_names[KINDS_MOST];
    uint8_t kind_count;
};

/* The innermost function, also of the kernel or not; not of the waker. */
static stack_id innermost(const struct profile *p, stack_id at, bool kernel)
{
    for (; at; at = p->stacks[at].parent) {
        uint32_t kind = p->frames[p->stacks[at].frame].kind;
        if (kind != FRAME_WAKER && kind != FRAME_MARKER &&
            (kernel || kind != FRAME_KERNEL))
            break;
    }
    return at;
}

/* The index of the kind of lock; they are few. Of too many, the last ones have the first. */
static uint8_t kind_of(struct grouping *g, const char *kind)
{
    uint8_t i = 0;
    while (i < g->kind_count && strcmp(g->kind_names[i], kind) != 0)
        i++;
    if (i == KINDS_MOST)
        return 0;
    if (i == g->kind_count)
        g->kind_names[g->kind_count++] = kind;
    return i;
}

/* The function of the program that waits. Where only those are known through which it waits, the
 * innermost one. Sets the kind of the lock. */
static string_id function_of(const struct grouping *g, stack_id stack, const char **kind)
{
    *kind = "";
    stack_id at = lock_user(g->p, stack, kind);
    if (!at)
        at = innermost(g->p, stack, false);
    if (!at)
        at = innermost(g->p, stack, true);
    return g->s->paths.label_of_frame[g->p->stacks[at].frame];
}

/* The leaf of a stack with a waker is the waker's name. */
static frame_id waker_of(const struct profile *p, stack_id stack)
{
    frame_id leaf = p->stacks[stack].frame;
    return p->frames[leaf].kind == FRAME_WAKER ? leaf : 0;
}

/* A wait for a lock or a file is one, also if its stack does not show it. */
static uint8_t reason_of(const struct profile *p, uint8_t by_stack, label_id lock,
                         label_id file, const char *kind)
{
    if (lock)
        return lock_kind_is_idle(kind) ? ACTIVITY_SLEEP : ACTIVITY_LOCK;
    if (!file || by_stack != ACTIVITY_SLEEP)
        return by_stack;
    struct str name = profile_string(p, p->labels[file].text);
    if (str_starts(name, STR("anon_inode:")))
        return by_stack;
    return str_starts(name, STR("/")) ? ACTIVITY_DISK : ACTIVITY_NETWORK;
}

/* Waits with equal ones are of one cause. */
static uint32_t cause_of(struct grouping *g, stack_id stack, uint8_t reason)
{
    uint32_t node = trie_child(&g->causes, 0, reason);
    node = trie_child(&g->causes, node, g->functions[stack]);
    node = trie_child(&g->causes, node, waker_of(g->p, stack));
    return trie_child(&g->causes, node, g->kinds[stack]);
}

static void learn_stack(struct grouping *g, stack_id stack)
{
    const char *kind;
    g->reasons[stack] = wait_activity(g->p, stack);
    g->functions[stack] = function_of(g, stack, &kind);
    g->kinds[stack] = kind_of(g, kind);
    g->cause_of_stack[stack] = cause_of(g, stack, g->reasons[stack]);
}

/* The number of the row's group, plus one; 0 if out of memory. */
static uint32_t group_of(struct grouping *g, size_t row)
{
    const struct sample *sample = &g->p->samples[row];
    struct waits *w = g->w;
    stack_id stack = sample->stack;
    if (!g->cause_of_stack[stack])
        learn_stack(g, stack);
    label_id lock = g->locks[profile_labels(g->p, row)];
    label_id file = lock ? 0 : g->files[profile_labels(g->p, row)];
    const char *kind = g->kind_names[g->kinds[stack]];
    uint8_t reason = reason_of(g->p, g->reasons[stack], lock, file, kind);
    uint32_t cause = reason == g->reasons[stack] ? g->cause_of_stack[stack]
                                                 : cause_of(g, stack, reason);
    uint32_t node = trie_child(&g->trie, 0, sample->thread);
    node = trie_child(&g->trie, node, cause);
    if (lock || file) /* different labels */
        node = trie_child(&g->trie, node, lock ? lock : file);
    if (!ARRAY_RESERVE_ZEROED(&g->arena, g->group_of_node, g->node_cap, node + 1))
        return 0;
    if (!g->group_of_node[node]) {
        if (!ARRAY_RESERVE(&w->arena, w->groups, w->cap, w->count + 1))
            return 0;
        w->groups[w->count++] = (struct wait_group){.thread = sample->thread,
                                                    .reason = reason,
                                                    .function = g->functions[stack],
                                                    .waker = waker_of(g->p, stack),
                                                    .lock = lock,
                                                    .kind = kind,
                                                    .file = file};
        g->group_of_node[node] = (uint32_t)w->count;
    }
    return g->group_of_node[node];
}

/* A sample of a wait has the time of its end. */
static void note_longest(const struct grouping *g, const struct sample *sample,
                         struct wait_group *group)
{
    uint64_t first = g->p->facts.time_first;
    if (sample->weight <= 0 || sample->weight < group->longest)
        return;
    double end = sample->time != TIME_NONE && sample->time >= first
                     ? (double)(sample->time - first)
                     : 0;
    double begin = end > sample->weight ? end - sample->weight : 0;
    if (sample->weight == group->longest && begin >= group->begin)
        return; /* of equally long ones, the first */
    group->longest = sample->weight;
    group->begin = begin;
}

/* Adds a row: a sample, or the sum of several. Returns what group_of does. */
static uint32_t add_row(struct grouping *g, size_t row)
{
    uint32_t group = group_of(g, row);
    if (group) {
        g->w->groups[group - 1].count += g->p->samples[row].count;
        g->w->groups[group - 1].total += g->p->samples[row].weight;
    }
    return group;
}

static bool add_samples(struct grouping *g, event_id off)
{
    const struct profile *p = g->p;
    for (size_t i = 0; i < p->sample_count; i++) {
        if (p->samples[i].event != off)
            continue;
        uint32_t group = add_row(g, i);
        if (!group)
            return false;
        note_longest(g, &p->samples[i], &g->w->groups[group - 1]);
    }
    return true;
}

/* Few of the samples are waits: only those are read; of the whole profile, only the
 * longest ones. */
static bool add_condensed(struct grouping *g, event_id off, const struct condensed *c,
                          const struct sample_range *range)
{
    const struct profile *p = g->p;
    bool whole = range->from == 0 && range->to == c->p->sample_count;
    uint32_t *groups = arena_zalloc(&g->arena, c->rows.sample_count + 1, sizeof *groups);
    for (size_t i = 0; groups && i < p->sample_count; i++) {
        const struct sample *row = &p->samples[i];
        if (row->event != off)
            continue;
        uint32_t group = groups[row->cpu] = add_row(g, i);
        if (!group)
            return false;
        if (whole)
            note_longest(g, &c->p->samples[c->longest[row->cpu]],
                         &g->w->groups[group - 1]);
    }
    if (whole)
        return groups != NULL;
    for (size_t i = range->from; groups && i < range->to; i++) {
        uint32_t group = groups[c->row_of[i]];
        if (group)
            note_longest(g, &c->p->samples[i], &g->w->groups[group - 1]);
    }
    return groups != NULL;
}

static bool begin_grouping(struct grouping *g)
{
    const struct profile *p = g->p;
    g->cause_of_stack =
        arena_zalloc(&g->arena, p->stack_count + 1, sizeof *g->cause_of_stack);
    g->reasons = arena_zalloc(&g->arena, p->stack_count + 1, 1);
    g->functions = arena_zalloc(&g->arena, p->stack_count + 1, sizeof *g->functions);
    g->kinds = arena_zalloc(&g->arena, p->stack_count + 1, 1);
    kind_of(g, "");
    g->locks = label_sets_find(p, STR("lock"), &g->arena);
    g->files = label_sets_find(p, STR("file"), &g->arena);
    return !g->arena.failed && trie_init(&g->causes, &g->arena) &&
           trie_init(&g->trie, &g->arena);
}

static bool comes_first(const void *context, uint32_t a, uint32_t b)
{
    const struct wait_group *groups = context;
    bool left = groups[a].reason == ACTIVITY_SLEEP,
         right = groups[b].reason == ACTIVITY_SLEEP;
    return left != right ? right : groups[a].total > groups[b].total;
}

/* The usual order, and what is known of all groups. */
static bool sum_up(struct waits *w)
{
    w->usual = arena_alloc(&w->arena, 3 * (w->count + 1) * sizeof *w->usual);
    if (!w->usual)
        return false;
    w->order = w->usual + w->count;
    w->scratch = w->order + w->count;
    for (uint32_t i = 0; i < w->count; i++) {
        w->usual[i] = i;
        w->most = w->groups[i].total > w->most ? w->groups[i].total : w->most;
        w->woken |= w->groups[i].waker != 0;
    }
    sort_u32(w->usual, w->count, w->scratch, comes_first, w->groups);
    memcpy(w->order, w->usual, w->count * sizeof *w->order);
    w->by = WAITS_USUAL;
    return true;
}

bool waits_init(struct waits *w, const struct shown *s, const struct condensed *c,
                const struct sample_range *range, struct error *err)
{
    struct grouping g = {.w = w, .s = s, .p = s->p};
    event_id off = profile_find_kind(s->p, EVENT_WAITING);
    *w = (struct waits){0};
    if (off && s->p->events[off].unit == UNIT_NANOSECONDS)
        w->made = begin_grouping(&g) &&
                  (c ? add_condensed(&g, off, c, range) : add_samples(&g, off)) &&
                  !g.arena.failed;
    else
        w->made = true;
    w->made = w->made && sum_up(w);
    arena_deinit(&g.arena);
    if (!w->made)
        waits_deinit(w);
    return w->made || error_memory(err);
}

void waits_deinit(struct waits *w)
{
    arena_deinit(&w->arena);
    *w = (struct waits){0};
}
