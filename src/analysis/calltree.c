/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/calltree.h"
#include "analysis/idle.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/sort.h"

/* A node before the tree is pruned and sorted; a parent comes before its child. */
struct draft_node {
    uint32_t parent;
    uint32_t path; /* of the profile; 0 for the root and for threads */
    uint32_t root; /* the thread's node above, or 0 */
    string_id thread_label;
    double self, total;
};

/* The weight of a node before, in a differential profile. */
struct base_weight {
    double self, total;
};

struct draft {
    struct arena arena;
    const struct profile *profile;
    const struct calltree_options *options;
    struct calltree *tree;
    struct draft_node *nodes;
    struct base_weight *base; /* by node; NULL without an event before */
    double *
        starts; /* by node: the weight of its thread before it; NULL: not in time order */
    double *clock; /* by node of a thread, and 0: its weight so far */
    size_t count, cap, base_cap, start_cap;
    struct index index;     /* of nodes, by root and path */
    uint32_t *thread_nodes; /* by thread: its node, or 0 */
    bool *closed;           /* by node of a thread: it is omitted; NULL: none is */
    uint32_t *tops;         /* by path: the one whose node has its weight; NULL: itself */
    uint32_t *climb, *open; /* scratch: paths above a sample; nodes of the last sample */
    size_t climb_cap, open_cap, open_count;
    uint32_t *rank;    /* by label: its rank in bytewise order */
    uint32_t *scratch; /* for sorting */
    struct children children;
};

static uint32_t draft_add(struct draft *d, struct draft_node node)
{
    if (!ARRAY_RESERVE(&d->arena, d->nodes, d->cap, d->count + 1))
        return 0;
    d->nodes[d->count] = node;
    if (d->tree->base) {
        if (!ARRAY_RESERVE(&d->arena, d->base, d->base_cap, d->count + 1))
            return 0;
        d->base[d->count] = (struct base_weight){0};
    }
    return (uint32_t)d->count++;
}

static struct base_weight base_of(const struct draft *d, uint32_t node)
{
    return d->base ? d->base[node] : (struct base_weight){0};
}

/* --- Which nodes there are ------------------------------------------------------- */

/* Makes a node for each distinct thread label, as children of the root. */
static bool add_threads(struct draft *d)
{
    const struct profile *p = d->profile;
    struct strings *labels = &d->tree->paths.labels;
    struct output text = OUTPUT_BUFFER;
    size_t cap = 0;
    uint32_t *node_of_label = NULL;
    d->thread_nodes = arena_zalloc(&d->arena, p->thread_count, sizeof(uint32_t));
    for (thread_id t = 1; d->thread_nodes && t < p->thread_count; t++) {
        text.used = 0;
        label_thread(&text, p, t, d->options->threads);
        string_id label = strings_add(labels, output_contents(&text));
        if (label == 0) /* without a name: its stacks start at the root */
            continue;
        size_t before = cap;
        if (!ARRAY_RESERVE(&d->arena, node_of_label, cap, label + 1))
            break;
        uint32_t *node = &node_of_label[label];
        memset(node_of_label + before, 0, (cap - before) * sizeof *node_of_label);
        if (!*node) {
            *node = draft_add(d, (struct draft_node){.thread_label = label});
            d->nodes[*node].root = *node;
        }
        d->thread_nodes[t] = *node;
    }
    bool ok = !d->arena.failed && !labels->arena->failed && !text.failed;
    output_deinit(&text);
    return ok;
}

/* The weights of the stacks of a thread, of the event and of the event before. */
struct thread_weight {
    double now, before;
};

/* The same of a path and its callees, in all threads. */
struct path_weight {
    double now, before;
};

/* Adds up the weights by the nodes of the threads, and all of them at the root; false if
 * a weight is negative, since a callee may then weigh more than its caller. */
static bool weigh_threads(const struct draft *d, struct thread_weight *weights)
{
    const struct calltree *t = d->tree;
    bool samples = d->options->weight == CALLTREE_SAMPLES;
    for (size_t i = 0; i < d->profile->sample_count; i++) {
        const struct sample *s = &d->profile->samples[i];
        if (sample_is_idle(d->profile, s, d->options->idle))
            continue;
        double weight = samples ? (double)s->count : s->weight;
        uint32_t node = d->thread_nodes[s->thread];
        if (weight < 0)
            return false;
        if (s->event == t->event) {
            weights[0].now += weight;
            weights[node].now += node ? weight : 0;
        } else if (t->base && s->event == t->base) {
            weights[0].before += weight;
            weights[node].before += node ? weight : 0;
        }
    }
    return true;
}

static bool is_under(double part, double share, double all)
{
    return part <= 0 || part < share * all;
}

static void weigh_paths(const struct draft *d, struct path_weight *weights)
{
    const struct calltree *t = d->tree;
    bool samples = d->options->weight == CALLTREE_SAMPLES;
    for (size_t i = 0; i < d->profile->sample_count; i++) {
        const struct sample *s = &d->profile->samples[i];
        if (sample_is_idle(d->profile, s, d->options->idle))
            continue;
        double weight = samples ? (double)s->count : s->weight;
        struct path_weight *w = &weights[path_of_stack(&t->paths, s->stack)];
        if (s->event == t->event)
            w->now += weight;
        else if (t->base && s->event == t->base)
            w->before += weight;
    }
    for (size_t i = t->paths.count; i-- > 1;) {
        struct path_weight *above = &weights[t->paths.nodes[i].parent];
        above->now += weights[i].now;
        above->before += weights[i].before;
    }
}

/* A path that is below the limit in all threads is omitted in each. Its callees need no nodes:
 * they are not counted, and their weight is part of its total. */
static bool close_paths(struct draft *d, double share)
{
    const struct paths *paths = &d->tree->paths;
    struct path_weight *weights = arena_zalloc(&d->arena, paths->count, sizeof *weights);
    bool *closed = arena_zalloc(&d->arena, paths->count, sizeof *closed);
    d->tops = arena_zalloc(&d->arena, paths->count, sizeof *d->tops);
    if (!weights || !closed || !d->tops)
        return false;
    weigh_paths(d, weights);
    for (uint32_t i = 1; i < paths->count; i++) {
        uint32_t parent = paths->nodes[i].parent;
        closed[i] = is_under(weights[i].now, share, weights[0].now) &&
                    is_under(weights[i].before, share, weights[0].before);
        d->tops[i] = closed[i] && closed[parent] ? d->tops[parent] : i;
    }
    arena_release(&d->arena, weights, paths->count * sizeof *weights);
    arena_release(&d->arena, closed, paths->count * sizeof *closed);
    return true;
}

/* Threads below the limit need no nodes for their stacks. Of thousands of short-lived
 * processes, most are below it. The same weights, added up later in another order, may
 * differ in the last digits; remains() decides for those near the limit. */
static bool close_threads(struct draft *d)
{
    double share = d->options->min_share * (1 - 1e-9);
    if (share <= 0)
        return true;
    struct thread_weight *weights = arena_zalloc(&d->arena, d->count, sizeof *weights);
    bool *closed = arena_zalloc(&d->arena, d->count, sizeof *closed);
    if (!weights || !closed)
        return false;
    if (!weigh_threads(d, weights))
        return true;
    for (uint32_t n = 1; n < d->count; n++)
        closed[n] = is_under(weights[n].now, share, weights[0].now) &&
                    is_under(weights[n].before, share, weights[0].before);
    d->closed = closed;
    return close_paths(d, share);
}

struct lookup {
    const struct draft *draft;
    uint32_t root, path;
};

static bool same_node(const void *context, uint32_t id)
{
    const struct lookup *w = context;
    const struct draft_node *n = &w->draft->nodes[id];
    return n->path == w->path && n->root == w->root;
}

static struct index_slot *find_node(struct draft *d, uint32_t root, uint32_t path,
                                    uint32_t *hash)
{
    if (!index_reserve(&d->index, &d->arena, 1))
        return NULL;
    *hash = (uint32_t)hash_pair(root, path);
    return index_find(&d->index, *hash, same_node, &(struct lookup){d, root, path});
}

/* Collects the paths from `path` up to the outermost one in d->climb; false when out of memory.
 * With `known`, stops below the first path that has a node, and returns the
 * node. */
static bool climb_up(struct draft *d, uint32_t root, uint32_t path, uint32_t *known,
                     size_t *count)
{
    uint32_t hash;
    for (*count = 0; path; path = d->tree->paths.nodes[path].parent) {
        if (!ARRAY_RESERVE(&d->arena, d->climb, d->climb_cap, *count + 1))
            return false;
        if (known) {
            struct index_slot *slot = find_node(d, root, path, &hash);
            if (!slot)
                return false;
            if (slot->id) {
                *known = slot->id;
                return true;
            }
        }
        d->climb[(*count)++] = path;
    }
    return true;
}

/* The node of a path below a thread; makes missing nodes, including those of callers. 0
 * is the root, or is returned when out of memory. */
static uint32_t node_for(struct draft *d, uint32_t root, uint32_t path)
{
    uint32_t node = root, hash;
    size_t count;
    if (!climb_up(d, root, path, &node, &count))
        return 0;
    while (count-- > 0) {
        uint32_t made = draft_add(
            d,
            (struct draft_node){.parent = node, .path = d->climb[count], .root = root});
        struct index_slot *slot = find_node(d, root, d->climb[count], &hash);
        if (!made || !slot)
            return 0;
        index_fill(&d->index, slot, hash, made);
        node = made;
    }
    return node;
}

static void note_start(struct draft *d, uint32_t node, double start)
{
    if (ARRAY_RESERVE(&d->arena, d->starts, d->start_cap, d->count))
        d->starts[node] = start;
}

/* In time order, the frames that this sample shares with the last one, from the root,
 * remain the same nodes. */
static uint32_t node_in_time(struct draft *d, uint32_t root, uint32_t path)
{
    size_t count, shared = 0;
    if (!climb_up(d, root, path, NULL, &count))
        return 0;
    size_t want = count + 1, old = d->open_count;
    if (!ARRAY_RESERVE(&d->arena, d->open, d->open_cap, want))
        return 0;
    uint32_t *open = d->open;
    while (shared < old && shared < count &&
           d->nodes[open[shared]].path == d->climb[count - 1 - shared] &&
           d->nodes[open[shared]].root == root)
        shared++;
    d->open_count = count;
    for (size_t i = shared; i < count; i++) {
        open[i] = draft_add(d, (struct draft_node){.parent = i ? open[i - 1] : root,
                                                   .path = d->climb[count - 1 - i],
                                                   .root = root});
        note_start(d, open[i], d->clock[root]);
    }
    return count ? open[count - 1] : root;
}

/* Without threads, each path is a node with the same ID. */
static bool add_all_paths(struct draft *d)
{
    const struct paths *paths = &d->tree->paths;
    d->nodes = arena_zalloc(&d->arena, paths->count, sizeof *d->nodes);
    if (d->tree->base)
        d->base = arena_zalloc(&d->arena, paths->count, sizeof *d->base);
    if (d->arena.failed)
        return false;
    d->count = d->cap = paths->count;
    for (uint32_t i = 1; i < paths->count; i++) {
        d->nodes[i].parent = paths->nodes[i].parent;
        d->nodes[i].path = i;
    }
    return true;
}

static bool has_threads(const struct draft *d)
{
    return d->options->threads != THREAD_NONE && d->profile->thread_count > 1;
}

static uint32_t root_of_sample(const struct draft *d, const struct sample *s)
{
    return d->thread_nodes ? d->thread_nodes[s->thread] : 0;
}

static uint32_t node_of_sample(struct draft *d, const struct sample *s)
{
    uint32_t path = path_of_stack(&d->tree->paths, s->stack);
    uint32_t root = root_of_sample(d, s);
    if (d->options->order == CALLTREE_BY_TIME)
        return node_in_time(d, root, path);
    if (!d->thread_nodes)
        return path;
    if (d->closed && d->closed[root])
        return root;
    return node_for(d, root, d->tops ? d->tops[path] : path);
}

static bool add_nodes(struct draft *d)
{
    bool by_time = d->options->order == CALLTREE_BY_TIME;
    if (!has_threads(d) && !by_time)
        return add_all_paths(d);
    draft_add(d, (struct draft_node){0});
    if (d->arena.failed || (has_threads(d) && !add_threads(d)))
        return false;
    if (!by_time)
        return close_threads(d);
    d->clock = arena_zalloc(&d->arena, d->count, sizeof *d->clock);
    return d->clock != NULL;
}

/* --- What they weigh ------------------------------------------------------------- */

/* All nodes exist: frees what is needed to find them. */
static void release_search(struct draft *d)
{
    struct arena *a = &d->arena;
    arena_release(a, d->index.slots, (d->index.mask + 1) * sizeof *d->index.slots);
    arena_release(a, d->climb, d->climb_cap * sizeof *d->climb);
    arena_release(a, d->open, d->open_cap * sizeof *d->open);
}

static bool add_weights(struct draft *d)
{
    const struct calltree *t = d->tree;
    bool samples = d->options->weight == CALLTREE_SAMPLES;
    for (size_t i = 0; i < d->profile->sample_count; i++) {
        const struct sample *s = &d->profile->samples[i];
        if ((s->event != t->event && (s->event != t->base || t->base == 0)) ||
            sample_is_idle(d->profile, s, d->options->idle))
            continue;
        uint32_t node = node_of_sample(d, s);
        double weight = samples ? (double)s->count : s->weight;
        if (s->event == t->event)
            d->nodes[node].self += weight;
        else
            d->base[node].self += weight;
        if (d->clock && s->event == t->event && weight > 0)
            d->clock[root_of_sample(d, s)] += weight;
        if (d->arena.failed)
            return false;
    }
    release_search(d);
    for (size_t i = d->count; i-- > 0;) {
        struct draft_node *n = &d->nodes[i];
        n->total += n->self;
        if (i)
            d->nodes[n->parent].total += n->total;
    }
    for (size_t i = d->base ? d->count : 0; i-- > 0;) {
        d->base[i].total += d->base[i].self;
        if (i)
            d->base[d->nodes[i].parent].total += d->base[i].total;
    }
    return true;
}

/* --- Which nodes remain, in which order ------------------------------------------- */

static bool remains(const struct draft *d, uint32_t node)
{
    double total = d->nodes[node].total, base = base_of(d, node).total;
    double share = d->options->min_share;
    if (total <= 0 && base <= 0)
        return total < 0 || base < 0;
    return (total > 0 && total >= share * d->nodes[0].total) ||
           (base > 0 && base >= share * base_of(d, 0).total);
}

static uint32_t remaining_parent(const void *context, uint32_t node)
{
    const struct draft *d = context;
    return remains(d, node) ? d->nodes[node].parent : UINT32_MAX;
}

static string_id draft_label(const struct draft *d, uint32_t node)
{
    const struct draft_node *n = &d->nodes[node];
    return n->path ? path_label(&d->tree->paths, n->path) : n->thread_label;
}

/* Ranks the labels of the nodes that remain. */
static bool rank_labels(struct draft *d)
{
    const struct strings *labels = &d->tree->paths.labels;
    size_t count = 0;
    uint32_t *used = arena_alloc(&d->arena, labels->count * sizeof *used);
    d->rank = arena_zalloc(&d->arena, labels->count, sizeof *d->rank);
    if (!used || !d->rank)
        return false;
    for (uint32_t n = 1; n < d->count; n++) {
        string_id label = draft_label(d, n);
        if (!remains(d, n) || d->rank[label])
            continue;
        d->rank[label] = 1;
        used[count++] = label;
    }
    if (!strings_sort(labels, used, count, &d->arena))
        return false;
    for (size_t i = 0; i < count; i++)
        d->rank[used[i]] = (uint32_t)i + 1;
    return true;
}

static bool before_by_name(const void *context, uint32_t a, uint32_t b)
{
    const struct draft *d = context;
    return d->rank[draft_label(d, a)] < d->rank[draft_label(d, b)];
}

static double largest(const struct draft *d, uint32_t node)
{
    double total = d->nodes[node].total, base = base_of(d, node).total;
    return total > base ? total : base;
}

static bool before_by_size(const void *context, uint32_t a, uint32_t b)
{
    const struct draft *d = context;
    double size_a = largest(d, a), size_b = largest(d, b);
    return size_a > size_b || (size_a >= size_b && before_by_name(context, a, b));
}

static bool sort_children(struct draft *d)
{
    struct children *c = &d->children;
    if (!children_init(c, &d->arena, d->count, remaining_parent, d))
        return false;
    if (d->options->order == CALLTREE_BY_TIME || d->options->order == CALLTREE_AS_READ)
        return true;
    d->scratch = arena_alloc(&d->arena, (d->count + 1) * sizeof *d->scratch);
    if (!d->scratch || !rank_labels(d))
        return false;
    bool by_size = d->options->order == CALLTREE_BY_SIZE;
    for (uint32_t n = 0; n < d->count; n++)
        if (c->first[n + 1] - c->first[n] > 1)
            sort_u32(c->items + c->first[n], c->first[n + 1] - c->first[n], d->scratch,
                     by_size ? before_by_size : before_by_name, d);
    return true;
}

/* --- The tree -------------------------------------------------------------------- */

static void fill_node(const struct draft *d, struct calltree_node *to, uint32_t from)
{
    const struct draft_node *n = &d->nodes[from];
    *to = (struct calltree_node){.label = from ? draft_label(d, from) : 0,
                                 .frame = d->tree->paths.nodes[n->path].frame,
                                 .self = n->self,
                                 .total = n->total,
                                 .base_self = base_of(d, from).self,
                                 .base_total = base_of(d, from).total};
}

/* Threads are side by side, each with its own time. */
static double offset_in_time(const struct draft *d, uint32_t node)
{
    const struct draft_node *n = &d->nodes[node];
    if (!n->path || d->base || (d->thread_nodes && !n->parent))
        return -1;
    return d->starts[node] - (n->parent == n->root ? 0 : d->starts[n->parent]);
}

/* Writes the remaining nodes in preorder: the next child of the innermost open node,
 * until there is none. `number` maps draft nodes to nodes of the tree. */
static void emit_preorder(struct draft *d, uint32_t *number, uint32_t *next)
{
    struct calltree *t = d->tree;
    const struct children *c = &d->children;
    uint32_t at = 0, depth = 0;
    fill_node(d, &t->nodes[0], 0);
    t->count = 1;
    for (uint32_t n = 0; n < d->count; n++)
        next[n] = c->first[n];
    for (;;) {
        if (next[at] == c->first[at + 1]) {
            t->nodes[number[at]].end = (uint32_t)t->count;
            if (at == 0)
                return;
            at = d->nodes[at].parent;
            depth--;
            continue;
        }
        uint32_t child = c->items[next[at]++];
        number[child] = (uint32_t)t->count;
        struct calltree_node *node = &t->nodes[t->count++];
        fill_node(d, node, child);
        node->parent = number[at];
        if (t->offsets)
            t->offsets[number[child]] = offset_in_time(d, child);
        node->depth = ++depth;
        if (depth > t->depth)
            t->depth = depth;
        at = child;
    }
}

/* Adds up the omitted nodes at their innermost caller that remains. */
static bool add_elided(struct draft *d, const uint32_t *number)
{
    struct calltree *t = d->tree;
    size_t cap = 0;
    t->elided = arena_grow(&t->arena, NULL, &cap, 1, sizeof *t->elided);
    if (!t->elided)
        return false;
    t->elided[t->elided_count++] = (struct calltree_elided){0};
    for (uint32_t n = 1; n < d->count; n++) {
        const struct draft_node *from = &d->nodes[n];
        if (number[n] || (from->parent && !number[from->parent]))
            continue;
        double base = base_of(d, n).total;
        if (from->total <= 0 && base <= 0)
            continue;
        struct calltree_node *to = &t->nodes[number[from->parent]];
        if (!ARRAY_RESERVE(&t->arena, t->elided, cap, t->elided_count + 1))
            return false;
        if (!to->elided_at) {
            t->elided[t->elided_count] = (struct calltree_elided){0};
            to->elided_at = (uint32_t)t->elided_count++;
        }
        struct calltree_elided *elided = &t->elided[to->elided_at];
        elided->count++;
        elided->total += from->total;
        elided->base_total += base;
    }
    return true;
}

static bool emit_tree(struct draft *d)
{
    struct calltree *t = d->tree;
    size_t remaining = d->children.first[d->count] + 1;
    uint32_t *number = arena_zalloc(&d->arena, d->count, sizeof *number);
    uint32_t *next = d->scratch; /* sorting is done */
    if (!next)
        next = arena_alloc(&d->arena, d->count * sizeof *next);
    t->nodes = arena_alloc(&t->arena, remaining * sizeof *t->nodes);
    if (d->clock)
        t->offsets = arena_zalloc(&t->arena, remaining, sizeof *t->offsets);
    if (!number || !next || !t->nodes || (d->clock && !t->offsets))
        return false;
    emit_preorder(d, number, next);
    return add_elided(d, number);
}

void calltree_events(const struct profile *p, const struct calltree_options *options,
                     event_id *event, event_id *base)
{
    *base = 0;
    *event = options->event ? options->event : profile_default_event(p);
    if (p->facts.differential && p->event_count > 2) {
        *base = 1;
        *event = 2;
    }
}

bool calltree_init(struct calltree *t, const struct profile *p,
                   const struct calltree_options *options, struct error *err)
{
    struct draft d = {.profile = p, .options = options, .tree = t};
    *t = (struct calltree){0};
    if (!paths_init(&t->paths, p, &options->label, err)) {
        calltree_deinit(t);
        return false;
    }
    calltree_events(p, options, &t->event, &t->base);
    bool ok = add_nodes(&d) && add_weights(&d) && sort_children(&d) && emit_tree(&d);
    arena_deinit(&d.arena);
    if (!ok) {
        calltree_deinit(t);
        return error_memory(err);
    }
    return true;
}

void calltree_deinit(struct calltree *t)
{
    paths_deinit(&t->paths);
    arena_deinit(&t->arena);
    *t = (struct calltree){0};
}

/* --- Functions ------------------------------------------------------------------- */

struct function *calltree_functions(struct calltree *t, size_t *count, struct error *err)
{
    size_t labels = t->paths.labels.count;
    struct function *rows = arena_alloc(&t->arena, (labels + 1) * sizeof *rows);
    uint32_t *row_of = arena_zalloc(&t->arena, labels, sizeof *row_of);
    uint32_t *until = arena_zalloc(&t->arena, labels, sizeof *until);
    *count = 0;
    if (!rows || !row_of || !until) {
        error_memory(err);
        return NULL;
    }
    for (uint32_t n = 1; n < t->count; n++) {
        const struct calltree_node *node = &t->nodes[n];
        if (!node->frame)
            continue;
        if (!row_of[node->label]) {
            rows[*count] = (struct function){.label = node->label, .frame = node->frame};
            row_of[node->label] = (uint32_t)++ * count;
        }
        struct function *f = &rows[row_of[node->label] - 1];
        f->self += node->self;
        f->base_self += node->base_self;
        if (n < until[node->label]) /* inside a subtree that is counted already */
            continue;
        f->total += node->total;
        f->base_total += node->base_total;
        until[node->label] = node->end;
    }
    return rows;
}
