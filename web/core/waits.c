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
    const struct profile *p; /* the samples */
    struct arena arena;
    struct trie trie;        /* thread, reason, function, waker, kind, lock or file */
    label_id *locks, *files; /* by set of labels */
    uint32_t *group_of_node; /* number + 1 */
    size_t node_cap;
    uint8_t *reasons;     /* by stack: activity + 1, or 0: not known yet */
    string_id *functions; /* by stack, as `kinds` */
    uint8_t *kinds;       /* of locks: indexes of kind_names */
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
    struct str name = profile_string(p, p->labels[file].text);
    if (lock)
        return lock_kind_is_idle(kind) ? ACTIVITY_SLEEP : ACTIVITY_LOCK;
    if (!file || by_stack != ACTIVITY_SLEEP || str_starts(name, STR("anon_inode:")))
        return by_stack;
    return str_starts(name, STR("/")) ? ACTIVITY_DISK : ACTIVITY_NETWORK;
}

static uint32_t node_of(struct grouping *g, const struct wait_group *found, uint8_t kind)
{
    uint32_t node = trie_child(&g->trie, 0, found->thread);
    node = trie_child(&g->trie, node, found->reason);
    node = trie_child(&g->trie, node, found->function);
    node = trie_child(&g->trie, node, found->waker);
    node = trie_child(&g->trie, node, kind);
    /* Locks and files are different labels. */
    return trie_child(&g->trie, node, found->lock ? found->lock : found->file);
}

static struct wait_group *group_of(struct grouping *g, size_t row)
{
    const struct sample *sample = &g->p->samples[row];
    struct waits *w = g->w;
    stack_id stack = sample->stack;
    if (!g->reasons[stack]) {
        g->reasons[stack] = (uint8_t)(wait_activity(g->p, stack) + 1);
        const char *found;
        g->functions[stack] = function_of(g, stack, &found);
        g->kinds[stack] = kind_of(g, found);
    }
    label_id lock = g->locks[profile_labels(g->p, row)];
    label_id file = lock ? 0 : g->files[profile_labels(g->p, row)];
    const char *kind = g->kind_names[g->kinds[stack]];
    const struct wait_group found = {
        .thread = sample->thread,
        .reason = reason_of(g->p, (uint8_t)(g->reasons[stack] - 1), lock, file, kind),
        .function = g->functions[stack],
        .waker = waker_of(g->p, stack),
        .lock = lock,
        .kind = kind,
        .file = file};
    uint32_t node = node_of(g, &found, g->kinds[stack]);
    if (!ARRAY_RESERVE_ZEROED(&g->arena, g->group_of_node, g->node_cap, node + 1))
        return NULL;
    if (!g->group_of_node[node]) {
        if (!ARRAY_RESERVE(&w->arena, w->groups, w->cap, w->count + 1))
            return NULL;
        w->groups[w->count++] = found;
        g->group_of_node[node] = (uint32_t)w->count;
    }
    return &w->groups[g->group_of_node[node] - 1];
}

/* A sample of a wait has the time of its end. */
static bool add_wait(struct grouping *g, size_t row)
{
    const struct sample *sample = &g->p->samples[row];
    struct wait_group *group = group_of(g, row);
    uint64_t first = g->p->facts.time_first;
    if (!group)
        return false;
    group->count += sample->count;
    group->total += sample->weight;
    if (sample->weight <= group->longest)
        return true;
    double end = sample->time != TIME_NONE && sample->time >= first
                     ? (double)(sample->time - first)
                     : 0;
    group->longest = sample->weight;
    group->begin = end > group->longest ? end - group->longest : 0;
    return true;
}

static bool collect(struct grouping *g, event_id off)
{
    const struct profile *p = g->p;
    g->reasons = arena_zalloc(&g->arena, p->stack_count + 1, 1);
    g->functions = arena_zalloc(&g->arena, p->stack_count + 1, sizeof *g->functions);
    g->kinds = arena_zalloc(&g->arena, p->stack_count + 1, 1);
    kind_of(g, "");
    g->locks = label_sets_find(p, STR("lock"), &g->arena);
    g->files = label_sets_find(p, STR("file"), &g->arena);
    if (!g->reasons || !g->functions || !g->kinds || !g->locks || !g->files ||
        !trie_init(&g->trie, &g->arena))
        return false;
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == off && !add_wait(g, i))
            return false;
    return !g->arena.failed;
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

bool waits_init(struct waits *w, const struct shown *s, const struct profile *samples,
                struct error *err)
{
    struct grouping g = {.w = w, .s = s, .p = samples};
    event_id off = profile_find_kind(samples, EVENT_WAITING);
    *w = (struct waits){0};
    w->made =
        (!off || samples->events[off].unit != UNIT_NANOSECONDS || collect(&g, off)) &&
        sum_up(w);
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
