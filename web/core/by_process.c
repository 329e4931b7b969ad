/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and threads as the outermost levels of the trees: no node then has callees of
 * two programs. Only the trees have them; the samples keep their stacks. */
#include "base/array.h"
#include "base/sort.h"
#include "base/trie.h"
#include "web/core/core.h"
#include "web/core/label_process.h"

struct grouping {
    struct shown *shown;
    struct arena scratch;
    uint64_t *samples; /* by thread of the profile: samples of the event */
    uint32_t *order;   /* threads with samples; twice their number */
    size_t count;
    string_id *name;    /* by thread: the name of its process */
    string_id *process; /* by thread: labels of the levels, or 0 */
    string_id *thread;
};

static const struct thread *thread_of(const struct grouping *g, size_t i)
{
    return &g->shown->p->threads[g->order[i]];
}

static bool same_process(const struct thread *a, const struct thread *b)
{
    return a->pid == b->pid && a->pid != ID_NONE;
}

/* A thread that changes its name is one thread; those without an ID differ by name. */
static bool same_thread(const struct thread *a, const struct thread *b)
{
    return a->pid == b->pid && a->tid == b->tid &&
           (a->tid != ID_NONE || a->name == b->name);
}

static bool before_by_id(const void *context, uint32_t x, uint32_t y)
{
    const struct grouping *g = context;
    const struct thread *a = &g->shown->p->threads[x], *b = &g->shown->p->threads[y];
    if (g->name[x] != g->name[y])
        return g->name[x] < g->name[y];
    if (a->pid != b->pid)
        return a->pid < b->pid;
    return a->tid != b->tid ? a->tid < b->tid : a->name < b->name;
}

static bool list_threads(struct grouping *g)
{
    const struct profile *p = g->shown->p;
    size_t n = p->thread_count;
    g->samples = arena_zalloc(&g->scratch, n + 1, sizeof *g->samples);
    g->order = arena_alloc(&g->scratch, 2 * (n + 1) * sizeof *g->order);
    g->name = arena_zalloc(&g->scratch, n + 1, sizeof *g->name);
    g->process = arena_zalloc(&g->scratch, n + 1, sizeof *g->process);
    g->thread = arena_zalloc(&g->scratch, n + 1, sizeof *g->thread);
    if (g->scratch.failed)
        return false;
    for (size_t i = 0; i < p->sample_count; i++)
        if (shown_has(g->shown, p->samples[i].event))
            g->samples[p->samples[i].thread] += p->samples[i].count;
    for (uint32_t i = 1; i < n; i++)
        if (g->samples[i])
            g->order[g->count++] = i;
    sort_u32(g->order, g->count, g->order + g->count, before_by_id, g);
    return true;
}

/* Sets the name of each process: that of its main thread, otherwise of the thread with
 * the most samples. Returns the number of processes with an ID. */
static size_t name_processes(struct grouping *g)
{
    size_t processes = 0;
    for (size_t i = 0, end; i < g->count; i = end) {
        uint32_t best = g->order[i];
        bool main = false;
        for (end = i; end < g->count &&
                      (end == i || same_process(thread_of(g, end), thread_of(g, i)));
             end++) {
            const struct thread *t = thread_of(g, end);
            bool is_main = t->tid == t->pid && t->tid != ID_NONE;
            if (is_main > main ||
                (is_main == main && g->samples[g->order[end]] > g->samples[best])) {
                best = g->order[end];
                main = is_main;
            }
        }
        int64_t pid = thread_of(g, i)->pid;
        string_id name = is_label_process(pid) ? label_process_name(g->shown->p, pid) : 0;
        if (!name)
            name = g->shown->p->threads[best].name;
        for (size_t k = i; k < end; k++)
            g->name[g->order[k]] = name;
        processes += thread_of(g, i)->pid != ID_NONE;
    }
    return processes;
}

/* A label that no function, process or thread has: the text, with a suffix if it is in use. */
static string_id add_label(struct grouping *g, struct output *text, const char *suffix)
{
    struct strings *labels = &g->shown->paths.labels;
    while (strings_find(labels, output_contents(text)))
        output_text(text, suffix);
    return strings_add(labels, output_contents(text));
}

static void write_name(struct grouping *g, struct output *text, string_id name)
{
    struct str s = profile_string(g->shown->p, name);
    text->used = 0;
    output_str(text, s.len ? s : STR("(no name)"));
}

/* The names of an instruction trace say what the IDs say. */
static void write_id(const struct grouping *g, struct output *text, int64_t id)
{
    if (!has_id(id) || clock_is_cycles(g->shown->p))
        return;
    output_text(text, " ");
    output_u64(text, (uint64_t)id);
}

static bool add_owner(struct grouping *g, string_id label, bool process, size_t first,
                      size_t count)
{
    struct shown *s = g->shown;
    size_t cap = s->owner_cap;
    if (!label || !ARRAY_RESERVE(&s->arena, s->owners, cap, s->owner_count + 1))
        return false;
    s->owner_cap = cap;
    s->owners[s->owner_count++] =
        (struct owner){label, process, (uint32_t)first, (uint32_t)count};
    return true;
}

/* Processes of one name that have a level for each. Of more, which are mostly short-lived, the
 * functions would be spread over boxes that are too narrow to read. */
#define PIDS_MOST 8

/* The threads of `order` from `first` to `stop`, which are one process or several with
 * the same name. A process with one thread has no level for it. */
static bool label_process(struct grouping *g, size_t first, size_t stop,
                          struct output *text)
{
    size_t pids = 1, threads = 1;
    for (size_t i = first + 1; i < stop; i++) {
        pids += !same_process(thread_of(g, i), thread_of(g, i - 1));
        threads += !same_thread(thread_of(g, i), thread_of(g, i - 1));
    }
    write_name(g, text, g->name[g->order[first]]);
    if (pids == 1) {
        write_id(g, text, thread_of(g, first)->pid);
    } else {
        output_text(text, " \xc3\x97"); /* a multiplication sign */
        output_u64(text, pids);
    }
    string_id process = add_label(g, text, " (process)");
    if (!add_owner(g, process, true, first, stop - first))
        return false;
    for (size_t i = first, end; i < stop; i = end) {
        uint32_t best = g->order[i];
        for (end = i; end < stop && same_thread(thread_of(g, end), thread_of(g, i));
             end++)
            if (g->samples[g->order[end]] > g->samples[best])
                best = g->order[end];
        string_id label = 0;
        write_name(g, text, g->shown->p->threads[best].name);
        write_id(g, text, thread_of(g, i)->tid);
        if (threads > 1 && pids <= PIDS_MOST &&
            (!(label = add_label(g, text, " (thread)")) ||
             !add_owner(g, label, false, i, end - i)))
            return false;
        for (size_t k = i; k < end; k++) {
            g->process[g->order[k]] = process;
            g->thread[g->order[k]] = label;
        }
    }
    return true;
}

static bool label_all(struct grouping *g)
{
    struct output text = OUTPUT_BUFFER;
    bool ok = true;
    sort_u32(g->order, g->count, g->order + g->count, before_by_id, g); /* now by name */
    for (size_t i = 0, end; ok && i < g->count; i = end) {
        for (end = i; end < g->count && g->name[g->order[end]] == g->name[g->order[i]];)
            end++;
        ok = label_process(g, i, end, &text);
    }
    ok = ok && !text.failed;
    output_deinit(&text);
    struct shown *s = g->shown;
    s->owner_threads = arena_alloc(&s->arena, (g->count + 1) * sizeof *s->owner_threads);
    s->process_of_thread =
        arena_zalloc(&s->arena, s->p->thread_count + 1, sizeof *s->process_of_thread);
    s->thread_label_of_thread = arena_zalloc(&s->arena, s->p->thread_count + 1,
                                             sizeof *s->thread_label_of_thread);
    if (!ok || s->arena.failed)
        return false;
    memcpy(s->owner_threads, g->order, g->count * sizeof *g->order);
    memcpy(s->process_of_thread, g->process, s->p->thread_count * sizeof *g->process);
    memcpy(s->thread_label_of_thread, g->thread, s->p->thread_count * sizeof *g->thread);
    return true;
}

bool owners_init(struct shown *s)
{
    struct grouping g = {.shown = s};
    bool ok = list_threads(&g);
    if (ok && name_processes(&g) > 1)
        ok = label_all(&g);
    arena_deinit(&g.scratch);
    return ok;
}

size_t process_numbers(const struct profile *p, event_id event, int64_t *numbers)
{
    struct shown s = {.p = p, .event = event};
    struct grouping g = {.shown = &s};
    size_t processes = list_threads(&g) ? name_processes(&g) : 0;
    for (size_t i = 0; i < p->thread_count; i++)
        numbers[i] = ID_NONE;
    for (size_t i = 0; processes && i < g.count; i++) {
        struct str name = profile_string(p, g.name[g.order[i]]);
        if (thread_of(&g, i)->pid != ID_NONE)
            numbers[g.order[i]] =
                label_process_number(name.len ? name : STR("(no name)"));
    }
    arena_deinit(&g.scratch);
    return processes;
}

const struct owner *owner_of(const struct shown *s, string_id label)
{
    for (size_t i = 0; i < s->owner_count; i++)
        if (s->owners[i].label == label)
            return &s->owners[i];
    return NULL;
}

/* --- The tree ------------------------------------------------------------------------- */

struct grafting {
    struct shown *shown;
    struct arena scratch;
    struct trie nodes; /* keys are labels */
    bool caches; /* condensed rows, which have a CPU but no time, are pairs already */
    struct trie pairs; /* outermost node and path */
    uint32_t *node_of_pair;
    size_t pair_cap;
    string_id *climb; /* labels, leaf first */
    size_t climb_cap;
    uint32_t *root_of_thread; /* node + 1; 0: not made yet */
    uint32_t last_thread, last_path, last_node;
};

/* The node of the thread, or of its process. */
static uint32_t root_of(struct grafting *g, thread_id thread)
{
    const struct shown *s = g->shown;
    uint32_t root = 0;
    if (g->root_of_thread[thread])
        return g->root_of_thread[thread] - 1;
    if (s->process_of_thread[thread])
        root = trie_child(&g->nodes, root, s->process_of_thread[thread]);
    if (s->thread_label_of_thread[thread])
        root = trie_child(&g->nodes, root, s->thread_label_of_thread[thread]);
    g->root_of_thread[thread] = root + 1;
    return root;
}

/* The path below the outermost node. */
static uint32_t climb_path(struct grafting *g, uint32_t node, uint32_t path)
{
    const struct paths *paths = &g->shown->paths;
    size_t depth = 0;
    for (uint32_t at = path; at; at = paths->nodes[at].parent) {
        if (!ARRAY_RESERVE(&g->scratch, g->climb, g->climb_cap, depth + 1))
            return node;
        g->climb[depth++] = path_label(paths, at);
    }
    while (depth-- > 0)
        node = trie_child(&g->nodes, node, g->climb[depth]);
    return node;
}

static uint32_t node_of(struct grafting *g, thread_id thread, uint32_t path)
{
    if (thread == g->last_thread && path == g->last_path)
        return g->last_node;
    uint32_t root = root_of(g, thread);
    if (!g->caches)
        return climb_path(g, root, path);
    uint32_t pair = trie_child(&g->pairs, root, path);
    if (!ARRAY_RESERVE_ZEROED(&g->scratch, g->node_of_pair, g->pair_cap, pair + 1))
        return root;
    if (!g->node_of_pair[pair])
        g->node_of_pair[pair] = climb_path(g, root, path);
    g->last_thread = thread;
    g->last_path = path;
    return g->last_node = g->node_of_pair[pair];
}

static bool reserve_weights(struct shown *s, size_t nodes, size_t *cap, size_t *base_cap)
{
    return ARRAY_RESERVE_ZEROED(&s->arena, s->self, *cap, nodes) &&
           (!s->base || ARRAY_RESERVE_ZEROED(&s->arena, s->base_self, *base_cap, nodes));
}

bool owners_graft(struct shown *s, shown_add add)
{
    struct grafting g = {.shown = s, .last_thread = NONE};
    const struct sample *first = s->p->samples;
    g.caches = s->p->sample_count && (first->time != TIME_NONE || first->cpu == CPU_NONE);
    size_t cap = 0, base_cap = 0;
    g.root_of_thread =
        arena_zalloc(&g.scratch, s->p->thread_count + 1, sizeof *g.root_of_thread);
    bool ok = g.root_of_thread && trie_init(&g.nodes, &s->arena) &&
              trie_init(&g.pairs, &g.scratch) && reserve_weights(s, 1, &cap, &base_cap);
    for (size_t i = 0; ok && i < s->p->sample_count; i++) {
        const struct sample *sample = &s->p->samples[i];
        if (!shown_has(s, sample->event))
            continue;
        uint32_t path = path_of_stack(&s->paths, sample->stack);
        uint32_t node = node_of(&g, sample->thread, path);
        ok = reserve_weights(s, g.nodes.count, &cap, &base_cap);
        if (ok)
            add(s, sample, node);
    }
    trie_seal(&g.nodes);
    trie_seal(&g.pairs);
    s->nodes = g.nodes.nodes;
    s->node_count = g.nodes.count;
    s->label_of_key = NULL;
    ok = ok && !s->arena.failed && !g.scratch.failed;
    arena_deinit(&g.scratch);
    return ok;
}
