/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of processes, threads, services and containers: a tree of at most three levels. */
#include "base/array.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/sort.h"
#include "engine/live_tasks.h"

enum level { OF_ALL, OF_GROUP, OF_PROCESS, OF_ENDED_PROCESSES, OF_THREAD };

/* A row before it is sorted. Nodes refer to each other by index; 0 is the root. */
struct node {
    uint64_t key;
    enum level level;
    uint32_t parent, first, next; /* first part, next part of the same */
    uint32_t parts, threads, processes;
    unsigned depth;
    uint32_t id; /* of the process or thread */
    struct str name;
    bool has_times;
    double weight, ready, waits;
};

struct tree {
    struct live_rows *rows;
    const struct live_tasks *tasks;
    const struct live_request *request;
    struct node *nodes;
    size_t count, cap;
    struct idmap by_key;
};

/* --- Weights ----------------------------------------------------------------------- */

/* An id of the profile as the kernel has it. */
static uint32_t id_of(int64_t id)
{
    return id >= 0 && id < UINT32_MAX ? (uint32_t)id : UINT32_MAX;
}

static bool weigh_thread(struct live_tasks *t, const struct profile *p,
                         const struct thread *thread, double weight)
{
    uint32_t pid = id_of(thread->pid), tid = id_of(thread->tid);
    struct live_task *task = live_tasks_find(t, tid);
    if (!task)
        task = live_tasks_add_ended(t, pid, tid, profile_string(p, thread->name));
    if (task)
        task->weight += weight;
    return task;
}

/* The samples of the first event by thread. */
static bool weigh(struct live_tasks *t, struct live_rows *r, const struct profile *p)
{
    for (size_t i = 1; i <= t->count; i++)
        t->items[i].weight = 0;
    if (!p || p->event_count < 2)
        return true;
    double *weights = arena_zalloc(&r->arena, p->thread_count, sizeof *weights);
    if (!weights)
        return false;
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == 1)
            weights[p->samples[i].thread] += p->samples[i].weight;
    bool ok = true;
    for (size_t i = 0; ok && i < p->thread_count; i++) {
        r->total += weights[i];
        ok = weights[i] <= 0 || weigh_thread(t, p, &p->threads[i], weights[i]);
    }
    return ok;
}

/* --- The tree ---------------------------------------------------------------------- */

static uint32_t part_of(struct tree *t, uint32_t parent, enum level level, uint64_t id,
                        struct str name)
{
    uint64_t key = hash_mix(hash_mix(t->nodes[parent].key ^ HASH_A, level), id ^ HASH_B);
    uint64_t *at = idmap_put(&t->by_key, &t->rows->arena, key);
    if (!at || *at)
        return at ? (uint32_t)*at : 0;
    struct node *node = ARRAY_APPEND(&t->rows->arena, t->nodes, t->count, t->cap);
    if (!node)
        return 0;
    struct node *above = &t->nodes[parent];
    *node = (struct node){.key = key,
                          .level = level,
                          .parent = parent,
                          .depth = above->level == OF_ALL ? 0 : above->depth + 1,
                          .id = (uint32_t)id,
                          .name = name};
    above->parts++;
    *at = t->count - 1;
    return (uint32_t)*at;
}

static uint64_t hash_of(struct str name)
{
    return hash_bytes128(name.ptr, name.len).lo;
}

/* The node of the thread, below those that it is part of. Processes that have ended are one node
 * by name, without threads: of short programs there are many. */
static uint32_t node_of(struct tree *t, const struct live_task *task)
{
    const struct live_process *p = &t->tasks->processes[task->process];
    enum live_group by = t->request->by;
    uint32_t node = 0;
    if (by == LIVE_SERVICES || by == LIVE_CONTAINERS) {
        struct str group = by == LIVE_SERVICES ? p->service : p->container;
        node = part_of(t, node, OF_GROUP, hash_of(group), group);
    }
    if (p->ended) {
        struct str name = by == LIVE_THREADS ? task->name : p->name;
        return part_of(t, node, OF_ENDED_PROCESSES, hash_of(name), name);
    }
    if (by != LIVE_THREADS)
        node = part_of(t, node, OF_PROCESS, p->pid, p->name);
    return part_of(t, node, OF_THREAD, task->tid, task->name);
}

static void add_task(struct tree *t, const struct live_task *task)
{
    bool leads = t->tasks->processes[task->process].pid == task->tid;
    for (uint32_t at = node_of(t, task); at; at = t->nodes[at].parent) {
        struct node *node = &t->nodes[at];
        node->threads++;
        node->processes += leads;
        node->weight += task->weight;
        node->has_times |= task->has_times;
        node->ready += task->ready;
        node->waits += task->waits;
    }
}

static bool is_shown(const struct tree *t, const struct live_task *task)
{
    const struct live_process *p = &t->tasks->processes[task->process];
    const char *filter = t->request->filter;
    enum live_group by = t->request->by;
    if (task->weight <= 0 && (!task->is_target || task->ended))
        return false;
    return !filter[0] || live_rows_has_part(task->name, filter) ||
           live_rows_has_part(p->name, filter) ||
           (by == LIVE_SERVICES && live_rows_has_part(p->service, filter)) ||
           (by == LIVE_CONTAINERS && live_rows_has_part(p->container, filter));
}

/* --- Order ------------------------------------------------------------------------- */

static bool before(const void *context, uint32_t i, uint32_t j)
{
    const struct tree *t = context;
    const struct node *a = &t->nodes[i], *b = &t->nodes[j];
    enum live_sort sort = t->request->sort;
    int by_text = sort == LIVE_BY_NAME ? str_compare(a->name, b->name) : 0;
    if (by_text)
        return by_text < 0;
    if (sort == LIVE_BY_READY && a->ready != b->ready)
        return a->ready > b->ready;
    if (sort == LIVE_BY_WAITS && a->waits != b->waits)
        return a->waits > b->waits;
    return a->weight != b->weight ? a->weight > b->weight : a->ready > b->ready;
}

/* Links the parts of each node in order. */
static void sort_nodes(struct tree *t)
{
    uint32_t *order = arena_alloc(&t->rows->arena, 2 * t->count * sizeof *order);
    if (!order)
        return;
    for (size_t i = 1; i < t->count; i++)
        order[i - 1] = (uint32_t)i;
    sort_u32(order, t->count - 1, order + t->count, before, t);
    for (size_t i = t->count - 1; i-- > 0;) {
        struct node *node = &t->nodes[order[i]], *above = &t->nodes[node->parent];
        node->next = above->first;
        above->first = order[i];
    }
}

/* --- Rows -------------------------------------------------------------------------- */

static struct str describe(const struct tree *t, const struct node *node)
{
    char text[64] = "";
    uint32_t count = node->processes;
    switch (node->level) {
    case OF_GROUP:
        if (node->processes < node->parts) /* main threads can end first */
            count = node->parts;
        format_text(text, sizeof text, count == 1 ? "%u process" : "%u processes", count);
        break;
    case OF_PROCESS:
        format_text(text, sizeof text, node->threads == 1 ? "%u" : "%u, %u threads",
                    node->id, node->threads);
        break;
    case OF_ENDED_PROCESSES:
        format_text(text, sizeof text, "%u ended", node->threads);
        break;
    default:
        format_text(text, sizeof text, "%u", node->id);
    }
    return arena_str(&t->rows->arena, str_of(text));
}

static bool is_open(const struct tree *t, const struct node *node)
{
    return live_rows_expanded(t->request, node->key);
}

static void add_row(struct tree *t, const struct node *node)
{
    struct live_row *row = live_rows_add(t->rows);
    bool has_parts = node->parts > 1 || (node->parts && node->level == OF_GROUP);
    if (!row)
        return;
    row->name = arena_str(&t->rows->arena, node->name);
    row->module = describe(t, node);
    row->key = node->key;
    row->self = row->total = node->weight;
    row->ready = node->has_times ? node->ready : -1;
    row->waits = node->has_times ? node->waits : -1;
    row->depth = node->depth;
    row->mark = has_parts ? is_open(t, node) ? '-' : '+' : ' ';
}

static bool has_row(const struct tree *t, const struct node *node)
{
    return 100 * node->weight >= t->request->min_percent * t->rows->total;
}

static void add_rows(struct tree *t)
{
    for (uint32_t at = t->nodes[0].first; at;) {
        const struct node *node = &t->nodes[at];
        bool shown = has_row(t, node),
             single = node->parts == 1 && node->level == OF_PROCESS;
        if (shown)
            add_row(t, node);
        uint32_t next = shown && !single && is_open(t, node) ? node->first : 0;
        while (!next && at) {
            next = t->nodes[at].next;
            at = t->nodes[at].parent;
        }
        at = next;
    }
}

bool live_tasks_rows(struct live_tasks *t, struct live_rows *r, const struct profile *p,
                     const struct live_request *request, struct error *err)
{
    struct tree tree = {.rows = r, .tasks = t, .request = request};
    *r = (struct live_rows){0};
    bool ok =
        weigh(t, r, p) && ARRAY_RESERVE(&r->arena, tree.nodes, tree.cap, t->count + 1);
    if (ok) {
        tree.nodes[0] = (struct node){.level = OF_ALL};
        tree.count = 1;
        for (size_t i = 1; i <= t->count; i++)
            if (is_shown(&tree, &t->items[i]))
                add_task(&tree, &t->items[i]);
        sort_nodes(&tree);
        add_rows(&tree);
    }
    return (ok && !r->arena.failed && !t->arena.failed) || error_memory(err);
}
