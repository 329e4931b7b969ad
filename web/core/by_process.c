/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and threads as the outermost levels of the trees: no node then has callees of
 * two programs. Only the trees have them; the samples keep their stacks. */
#include "base/array.h"
#include "base/limits.h"
#include "base/sort.h"
#include "web/core/core.h"
#include "web/core/label_process.h"

struct grouping {
    struct shown *shown;
    struct arena scratch;
    uint64_t *samples; /* by thread of the profile: samples of the event */
    uint64_t *all_samples;
    struct idmap mains; /* by process ID: its main thread, plus 1 */
    uint32_t *order;    /* threads with samples; twice their number */
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

static bool is_main(const struct thread *t)
{
    return t->tid == t->pid && t->tid != ID_NONE;
}

/* Main threads with the name that they had in most samples. One may have no sample of the event: it
 * waited. */
static bool find_mains(struct grouping *g)
{
    const struct profile *p = g->shown->p;
    for (uint32_t i = 1; i < p->thread_count; i++) {
        if (!is_main(&p->threads[i]))
            continue;
        uint64_t *known = idmap_put(&g->mains, &g->scratch, (uint64_t)p->threads[i].pid);
        if (!known)
            return false;
        if (!*known || g->all_samples[i] > g->all_samples[*known - 1])
            *known = i + 1U;
    }
    return true;
}

static bool list_threads(struct grouping *g)
{
    const struct profile *p = g->shown->p;
    size_t n = p->thread_count;
    g->samples = arena_zalloc(&g->scratch, n + 1, sizeof *g->samples);
    g->all_samples = arena_zalloc(&g->scratch, n + 1, sizeof *g->all_samples);
    g->order = arena_alloc(&g->scratch, 2 * (n + 1) * sizeof *g->order);
    g->name = arena_zalloc(&g->scratch, n + 1, sizeof *g->name);
    g->process = arena_zalloc(&g->scratch, n + 1, sizeof *g->process);
    g->thread = arena_zalloc(&g->scratch, n + 1, sizeof *g->thread);
    if (g->scratch.failed)
        return false;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        g->all_samples[s->thread] += s->count;
        if (shown_has(g->shown, s->event))
            g->samples[s->thread] += s->count;
    }
    for (uint32_t i = 1; i < n; i++)
        if (g->samples[i])
            g->order[g->count++] = i;
    sort_u32(g->order, g->count, g->order + g->count, before_by_id, g);
    return find_mains(g);
}

/* Sets the name of each process: that of its main thread, otherwise of the thread with
 * the most samples. Returns the number of processes with an ID. */
static size_t name_processes(struct grouping *g)
{
    size_t processes = 0;
    for (size_t i = 0, end; i < g->count; i = end) {
        uint32_t best = g->order[i];
        for (end = i; end < g->count &&
                      (end == i || same_process(thread_of(g, end), thread_of(g, i)));
             end++)
            if (g->samples[g->order[end]] > g->samples[best])
                best = g->order[end];
        int64_t pid = thread_of(g, i)->pid;
        const uint64_t *main = idmap_find(&g->mains, (uint64_t)pid);
        if (main)
            best = (uint32_t)*main - 1;
        string_id name = is_label_process(pid) ? label_process_name(g->shown->p, pid) : 0;
        if (!name)
            name = g->shown->p->threads[best].name;
        for (size_t k = i; k < end; k++)
            g->name[g->order[k]] = name;
        processes += thread_of(g, i)->pid != ID_NONE;
    }
    return processes;
}

/* A label that no function, process or thread has: the text; if it is in use, with
 * " (thread)", then with " (thread 2)". */
static string_id add_label(struct grouping *g, struct output *text, const char *kind)
{
    struct strings *labels = &g->shown->paths.labels;
    size_t name = text->used;
    for (unsigned n = 1; strings_find(labels, output_contents(text)); n++) {
        text->used = name;
        output_text(text, " (");
        output_text(text, kind);
        if (n > 1) {
            output_text(text, " ");
            output_u64(text, n);
        }
        output_text(text, ")");
    }
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
    string_id process = add_label(g, text, "process");
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
            (!(label = add_label(g, text, "thread")) ||
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

/* Their labels are ascending: each was new when its owner was added. */
const struct owner *owner_of(const struct shown *s, string_id label)
{
    size_t low = 0, high = s->owner_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->owners[middle].label < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->owner_count && s->owners[low].label == label ? &s->owners[low] : NULL;
}

/* --- The tree ------------------------------------------------------------------------- */

struct path_in_root {
    uint32_t root; /* number + 1 */
    uint32_t node;
};

struct rooted {
    uint32_t sample, path;
};

/* The nodes are made root by root: a path is then one node, found without a search. */
struct grafting {
    struct shown *shown;
    bool has_parts;
    struct arena scratch;
    struct trie_node *nodes; /* keys are labels */
    size_t count, cap;
    uint32_t *node_of_label;  /* of processes and threads; 0: not made yet */
    uint32_t *root_of_thread; /* number + 1; 0: none of its samples is shown */
    uint32_t *nodes_of_roots;
    size_t root_count;
    struct rooted *rooted; /* by root, then as they come */
    size_t *first;         /* by root */
    uint32_t *node_of_sample;
    struct path_in_root *of_path;
    uint32_t *climb; /* paths without a node, innermost first */
};

#define NODES_FIRST ((size_t)1 << 18) /* room that is made at once, at most */

/* Returns the parent if there are too many nodes, or out of memory. */
static uint32_t add_node(struct grafting *g, uint32_t parent, string_id label)
{
    if (g->count >= limits_default.frames ||
        !ARRAY_RESERVE(&g->shown->arena, g->nodes, g->cap, g->count + 1))
        return parent;
    g->nodes[g->count] = (struct trie_node){parent, label};
    return (uint32_t)g->count++;
}

/* The node of a process or thread; a label of 0 has none. */
static uint32_t owner_node(struct grafting *g, uint32_t parent, string_id label)
{
    if (!label)
        return parent;
    if (!g->node_of_label[label])
        g->node_of_label[label] = add_node(g, parent, label);
    return g->node_of_label[label];
}

/* Threads with the same node, such as those of short-lived processes, have one root. */
static void add_root(struct grafting *g, thread_id thread, uint32_t *root_of_node)
{
    const struct shown *s = g->shown;
    uint32_t node = owner_node(g, 0, s->process_of_thread[thread]);
    node = owner_node(g, node, s->thread_label_of_thread[thread]);
    if (!root_of_node[node]) {
        g->nodes_of_roots[g->root_count++] = node;
        root_of_node[node] = (uint32_t)g->root_count;
    }
    g->root_of_thread[thread] = root_of_node[node];
}

/* Makes the roots, in the order of their first samples, and counts their samples, in
 * first[root + 1]. */
static bool add_roots(struct grafting *g)
{
    const struct profile *p = g->shown->p;
    size_t threads = p->thread_count + 1;
    size_t most = p->sample_count < NODES_FIRST ? p->sample_count : NODES_FIRST;
    uint32_t *root_of_node = arena_zalloc(&g->scratch, 2 * threads, sizeof *root_of_node);
    g->root_of_thread = arena_zalloc(&g->scratch, threads, sizeof *g->root_of_thread);
    g->nodes_of_roots = arena_zalloc(&g->scratch, threads, sizeof *g->nodes_of_roots);
    g->first = arena_zalloc(&g->scratch, threads + 2, sizeof *g->first);
    g->node_of_label =
        arena_zalloc(&g->scratch, g->shown->paths.labels.count, sizeof *g->node_of_label);
    if (g->scratch.failed || !ARRAY_RESERVE(&g->shown->arena, g->nodes, g->cap, most + 1))
        return false;
    add_node(g, 0, 0);
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *sample = &p->samples[i];
        if (!shown_has(g->shown, sample->event))
            continue;
        if (!g->root_of_thread[sample->thread])
            add_root(g, sample->thread, root_of_node);
        g->first[g->root_of_thread[sample->thread] + 1]++;
    }
    return !g->shown->arena.failed;
}

static bool sort_by_root(struct grafting *g)
{
    const struct shown *s = g->shown;
    const struct profile *p = s->p;
    g->rooted = arena_alloc(&g->scratch, (p->sample_count + 1) * sizeof *g->rooted);
    for (size_t r = 1; r < g->root_count + 2; r++)
        g->first[r] += g->first[r - 1];
    for (size_t i = 0; g->rooted && i < p->sample_count; i++) {
        const struct sample *sample = &p->samples[i];
        if (shown_has(s, sample->event))
            g->rooted[g->first[g->root_of_thread[sample->thread]]++] =
                (struct rooted){(uint32_t)i, path_of_stack(&s->paths, sample->stack)};
    }
    return g->rooted != NULL;
}

/* The node of a path below the root. */
static uint32_t node_of(struct grafting *g, uint32_t root, uint32_t path)
{
    const struct paths *paths = &g->shown->paths;
    size_t depth = 0;
    uint32_t at = path;
    for (; at && g->of_path[at].root != root; at = paths->nodes[at].parent)
        g->climb[depth++] = at;
    uint32_t node = at ? g->of_path[at].node : g->nodes_of_roots[root - 1];
    while (depth-- > 0) {
        node = add_node(g, node, path_label(paths, g->climb[depth]));
        g->of_path[g->climb[depth]] = (struct path_in_root){root, node};
    }
    return node;
}

static bool make_nodes(struct grafting *g)
{
    const struct shown *s = g->shown;
    g->of_path = arena_zalloc(&g->scratch, s->paths.count, sizeof *g->of_path);
    g->climb = arena_alloc(&g->scratch, s->paths.count * sizeof *g->climb);
    g->node_of_sample = arena_zalloc(g->has_parts ? &g->shown->arena : &g->scratch,
                                     s->p->sample_count + 1, sizeof *g->node_of_sample);
    if (!g->of_path || !g->climb || !g->node_of_sample)
        return false;
    size_t i = 0;
    for (uint32_t root = 1; root <= g->root_count; root++)
        for (; i < g->first[root]; i++)
            g->node_of_sample[g->rooted[i].sample] = node_of(g, root, g->rooted[i].path);
    return !s->arena.failed;
}

static bool add_weights(struct grafting *g, shown_add add)
{
    struct shown *s = g->shown;
    s->self = arena_zalloc(&s->arena, g->count, sizeof *s->self);
    if (s->base)
        s->base_self = arena_zalloc(&s->arena, g->count, sizeof *s->base_self);
    if (s->arena.failed)
        return false;
    for (size_t i = 0; i < s->p->sample_count; i++)
        if (shown_has(s, s->p->samples[i].event))
            add(s, &s->p->samples[i], g->node_of_sample[i]);
    return true;
}

bool owners_graft(struct shown *s, bool has_parts, shown_add add)
{
    struct grafting g = {.shown = s, .has_parts = has_parts};
    bool ok = add_roots(&g) && sort_by_root(&g) && make_nodes(&g) && add_weights(&g, add);
    s->nodes = g.nodes;
    s->node_count = g.count;
    s->label_of_key = NULL;
    struct nodes nodes = {g.nodes, s->self, g.count, g.node_of_sample,
                          s->p->sample_count};
    ok = ok && (!has_parts || nodes_order(&nodes));
    s->node_of_row = has_parts ? g.node_of_sample : NULL;
    arena_deinit(&g.scratch);
    return ok;
}
