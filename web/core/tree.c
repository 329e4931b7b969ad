/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle.h"
#include "base/sort.h"
#include "base/trie.h"
#include "web/core/core.h"

_Static_assert(sizeof(struct path_node) == sizeof(struct trie_node), "paths are nodes");

/* --- The shown profile ----------------------------------------------------------- */

double shown_weight(const struct shown *s, const struct sample *sample)
{
    return s->count ? (double)sample->count : sample->weight;
}

static void add_sample(struct shown *s, const struct sample *sample, uint32_t node)
{
    double weight = shown_weight(s, sample);
    if (s->base && sample->event == s->base) {
        s->base_self[node] += weight;
        s->base_total += weight;
        return;
    }
    bool counts = s->event && s->p->events[s->event].unit == UNIT_COUNT;
    if (sample_is_idle(s->p, sample, s->idle_left)) {
        s->idle += weight;
        return;
    }
    s->self[node] += weight;
    s->total += weight;
    s->samples +=
        counts && weight >= 1 && weight < 1e15 ? (uint64_t)weight : sample->count;
}

/* The paths are the nodes. */
static bool share_paths(struct shown *s)
{
    const struct profile *p = s->p;
    s->nodes = (const struct trie_node *)(const void *)s->paths.nodes;
    s->label_of_key = s->paths.label_of_frame;
    s->node_count = s->paths.count;
    s->self = arena_zalloc(&s->arena, s->paths.count, sizeof *s->self);
    if (s->base)
        s->base_self = arena_zalloc(&s->arena, s->paths.count, sizeof *s->base_self);
    if (s->arena.failed)
        return false;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *sample = &p->samples[i];
        uint32_t path = path_of_stack(&s->paths, sample->stack);
        if (shown_has(s, sample->event))
            add_sample(s, sample, path);
    }
    return true;
}

/* A reason of a wait is a leaf above the frame that waits
 * (import/perf_data/wait_reason.h). */
static uint8_t marks_of(const struct profile *p, frame_id frame, struct str label)
{
    static const char *const waits[] = {"[io]",   "[lock]",      "[sleep]",
                                        "[idle]", "[preempted]", "[off-cpu]"};
    const struct frame *f = &p->frames[frame];
    struct str name = profile_string(p, f->name);
    if (f->kind == FRAME_MARKER && str_equal(name, STR(TRUNCATED_MARK)))
        return DRAWN_CUT;
    for (size_t i = 0; f->kind == FRAME_MARKER && i < sizeof waits / sizeof *waits; i++)
        if (str_equal(name, str_of(waits[i])))
            return DRAWN_OFF;
    bool unknown = frame && f->kind != FRAME_MARKER &&
                   (name.len == 0 || str_equal(label, STR("[unknown]")));
    return unknown ? DRAWN_UNKNOWN : 0;
}

static void mark_labels(struct shown *s)
{
    for (string_id label = 1; label < s->paths.labels.count; label++) {
        frame_id frame = s->frame_of_label[label];
        s->kind_of_label[label] =
            frame_is_idle(s->p, frame) ? FRAME_IDLE : (uint8_t)s->p->frames[frame].kind;
        s->marks_of_label[label] =
            marks_of(s->p, frame, strings_get(&s->paths.labels, label));
    }
    for (size_t i = 0; i < s->owner_count; i++)
        s->kind_of_label[s->owners[i].label] =
            s->owners[i].process ? KIND_PROCESS : KIND_THREAD;
}

/* A wait has its reason as its leaf. If all stacks wait, nothing is marked. */
static bool mark_waits(struct shown *s)
{
    double waiting = 0;
    bool any = false;
    for (string_id label = 1; label < s->paths.labels.count; label++)
        any |= (s->marks_of_label[label] & DRAWN_OFF) != 0;
    if (!any)
        return true;
    s->waits = arena_zalloc(&s->arena, s->node_count, 1);
    for (uint32_t node = 1; s->waits && node < s->node_count; node++) {
        bool reason = s->marks_of_label[shown_label(s, node)] & DRAWN_OFF;
        s->waits[node] = reason || s->waits[s->nodes[node].parent];
        waiting += s->waits[node] ? s->self[node] : 0;
    }
    if (s->waits && (waiting <= 0 || waiting >= s->total * (1 - 1e-9)))
        s->waits = NULL;
    return !s->arena.failed;
}

/* By frame: whether the shown event has it. NULL if out of memory. */
static uint8_t *frames_of_event(const struct shown *s, struct arena *a)
{
    const struct profile *p = s->p;
    uint8_t *stacks = arena_zalloc(a, p->stack_count, 1);
    uint8_t *frames = arena_zalloc(a, p->frame_count, 1);
    if (!stacks || !frames)
        return NULL;
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == s->event)
            stacks[p->samples[i].stack] = 1;
    for (size_t i = p->stack_count; i-- > 1;) {
        if (!stacks[i])
            continue;
        stacks[p->stacks[i].parent] = 1;
        frames[p->stacks[i].frame] = 1;
    }
    return frames;
}

/* The first frame of a label that has a file, otherwise the first. In a comparison, one of the
 * profile after is preferred: its file is the one to read. */
static bool frames_of_labels(struct shown *s)
{
    const struct profile *p = s->p;
    struct arena scratch = ARENA_INIT;
    const uint8_t *after = s->base ? frames_of_event(s, &scratch) : NULL;
    bool ok = !s->base || after;
    for (frame_id f = ok ? (frame_id)p->frame_count : 0; f-- > 1;) {
        frame_id *known = &s->frame_of_label[s->paths.label_of_frame[f]];
        bool has_file = p->frames[f].file, is_after = !after || after[f];
        bool had_file = p->frames[*known].file, was_after = after && after[*known];
        if (has_file != had_file ? has_file : is_after || !was_after)
            *known = f;
    }
    arena_deinit(&scratch);
    return ok;
}

static bool allocate_labels(struct shown *s)
{
    struct arena *a = &s->arena;
    s->frame_of_label = arena_zalloc(a, s->paths.labels.count, sizeof *s->frame_of_label);
    s->kind_of_label = arena_zalloc(a, s->paths.labels.count, 1);
    s->marks_of_label = arena_zalloc(a, s->paths.labels.count, 1);
    if (a->failed || !frames_of_labels(s))
        return false;
    mark_labels(s);
    return true;
}

/* Adds up what is in functions without a name, and in idle ones. */
static void add_leaves(struct shown *s)
{
    for (uint32_t node = 1; node < s->node_count; node++) {
        string_id label = shown_label(s, node);
        if (s->marks_of_label[label] & DRAWN_UNKNOWN)
            s->unnamed += s->self[node];
        if (s->kind_of_label[label] == FRAME_IDLE)
            s->idle += s->self[node];
    }
}

static bool init_all(struct shown *s, const struct profile *p,
                     const struct shown_options *o, struct error *err)
{
    static const struct label_style style = {.plain = true};
    *s = (struct shown){.p = p, .count = o->count};
    s->event =
        o->event && o->event < p->event_count ? o->event : profile_default_event(p);
    if (p->facts.differential && p->event_count > 2) {
        s->base = 1;
        s->event = 2;
    }
    if (o->without_idle && !s->base)
        s->idle_left = frames_idle(p, &s->arena);
    if (!paths_init(&s->paths, p, &style, err))
        return false;
    if (o->by_process && !owners_init(s))
        return error_memory(err);
    if (!allocate_labels(s) || (s->owner_count && !shared_names_init(s)) ||
        !(s->owner_count ? owners_graft(s, o->has_parts, add_sample) : share_paths(s)))
        return error_memory(err);
    add_leaves(s);
    return mark_waits(s) || error_memory(err);
}

bool shown_init(struct shown *s, const struct profile *p, const struct shown_options *o,
                struct error *err)
{
    struct shown_options all = *o;
    all.without_idle = false;
    if (!init_all(s, p, o, err))
        return false;
    if (!s->idle_left || s->total > 0)
        return true;
    shown_deinit(s);
    return init_all(s, p, &all, err);
}

static bool weigh_part(struct shown *s, const struct shown *whole)
{
    const struct profile *p = s->p;
    s->self = arena_zalloc(&s->arena, s->node_count, sizeof *s->self);
    for (size_t i = 0; s->self && i < p->sample_count; i++) {
        const struct sample *row = &p->samples[i];
        if (shown_has(s, row->event))
            add_sample(s, row,
                       whole->node_of_row ? whole->node_of_row[row->cpu]
                                          : path_of_stack(&s->paths, row->stack));
    }
    return s->self != NULL;
}

bool shown_part(struct shown *s, const struct shown *whole, const struct profile *part)
{
    const uint8_t *idle_left = whole->idle_left;
    for (;;) {
        *s = *whole;
        s->arena = ARENA_INIT;
        s->borrows = true;
        s->p = part;
        s->idle_left = idle_left;
        s->total = s->unnamed = s->idle = 0;
        s->samples = 0;
        s->waits = NULL;
        if (!weigh_part(s, whole))
            return false;
        if (!idle_left || s->total > 0)
            break;
        idle_left = NULL; /* all of it is idle */
        arena_deinit(&s->arena);
    }
    add_leaves(s);
    return mark_waits(s);
}

void shown_deinit(struct shown *s)
{
    changes_deinit(&s->changes);
    if (!s->borrows)
        paths_deinit(&s->paths);
    arena_deinit(&s->arena);
    *s = (struct shown){0};
}

/* --- Nodes ------------------------------------------------------------------------- */

struct growing {
    struct tree *tree;
    const struct shown *shown;
    struct trie trie;
    double *waiting; /* of the node itself */
    size_t self_cap, base_cap, waiting_cap;
};

static bool reach(struct arena *a, double **column, size_t *cap, uint32_t node)
{
    size_t before = *cap;
    double *grown = arena_grow(a, *column, cap, (size_t)node + 1, sizeof *grown);
    if (!grown)
        return false;
    memset(grown + before, 0, (*cap - before) * sizeof *grown);
    *column = grown;
    return true;
}

/* Makes room for the weights of the nodes up to this one. */
static bool make_room(struct growing *g, uint32_t node)
{
    struct tree *t = g->tree;
    const struct shown *s = g->shown;
    return reach(&t->arena, &t->self, &g->self_cap, node) &&
           (!s->base_self || reach(&t->arena, &t->base_self, &g->base_cap, node)) &&
           (!s->waits || reach(&t->arena, &g->waiting, &g->waiting_cap, node));
}

/* Adds the self weight of a node `from` of the tree from the root. */
static bool weigh(struct growing *g, uint32_t node, uint32_t from)
{
    struct tree *t = g->tree;
    const struct shown *s = g->shown;
    if (!make_room(g, node))
        return false;
    t->self[node] += s->self[from];
    if (s->base_self)
        t->base_self[node] += s->base_self[from];
    if (s->waits)
        g->waiting[node] += s->waits[from] ? s->self[from] : 0;
    return true;
}

/* From every node with a weight up to the root. Process and thread remain the outermost
 * levels: otherwise leaves and their callers would be boxes of several programs. */
static bool grow_up(struct growing *g, struct arena *scratch)
{
    const struct shown *s = g->shown;
    uint32_t *owner = arena_zalloc(scratch, s->node_count, sizeof *owner);
    for (uint32_t path = 1; owner && path < s->node_count; path++) {
        string_id own = shown_label(s, path);
        owner[path] = owner[s->nodes[path].parent];
        if (s->kind_of_label[own] >= KIND_PROCESS)
            owner[path] = trie_child(&g->trie, owner[path], own);
        if (!shown_weighs(s, path))
            continue;
        uint32_t node = owner[path];
        for (uint32_t at = path; at; at = s->nodes[at].parent) {
            string_id label = shown_label(s, at);
            if (s->kind_of_label[label] >= KIND_PROCESS)
                break;
            node = trie_child(&g->trie, node, label);
        }
        if (!weigh(g, node, path))
            return false;
    }
    return owner != NULL;
}

/* By node: the innermost node of the function on the way from the root to it; 0 for
 * none. */
static uint32_t *find_innermost(struct growing *g, struct arena *scratch, string_id label)
{
    const struct shown *s = g->shown;
    uint32_t *found = arena_zalloc(scratch, s->node_count, sizeof *found);
    for (uint32_t path = 1; found && path < s->node_count; path++)
        found[path] = shown_label(s, path) == label ? path : found[s->nodes[path].parent];
    return found;
}

static bool is_process(const struct shown *s, uint32_t node)
{
    return s->kind_of_label[shown_label(s, node)] == KIND_PROCESS;
}

/* By node: the label of its process, or 0. */
static string_id *find_processes(const struct shown *s, struct arena *scratch)
{
    string_id *process = arena_zalloc(scratch, s->node_count, sizeof *process);
    for (uint32_t n = 1; process && n < s->node_count; n++)
        process[n] = is_process(s, n) ? shown_label(s, n) : process[s->nodes[n].parent];
    return process;
}

/* The outermost node of the process: the function and its callers or callees are below it, so
 * that no node is of two programs. */
static uint32_t node_of_process(struct growing *g, string_id process)
{
    return process ? trie_child(&g->trie, 0, process) : 0;
}

static bool grow_callers(struct growing *g, struct arena *scratch, string_id label)
{
    const struct shown *s = g->shown;
    uint32_t *found = find_innermost(g, scratch, label);
    string_id *process = find_processes(s, scratch);
    for (uint32_t path = 1; found && process && path < s->node_count; path++) {
        if (!found[path] || !shown_weighs(s, path))
            continue;
        uint32_t node = node_of_process(g, process[path]);
        for (uint32_t at = found[path]; at && !is_process(s, at);
             at = s->nodes[at].parent)
            node = trie_child(&g->trie, node, shown_label(s, at));
        if (!weigh(g, node, path))
            return false;
    }
    return found && process;
}

/* Below the function's outermost occurrence. */
static bool grow_callees(struct growing *g, struct arena *scratch, string_id label)
{
    const struct shown *s = g->shown;
    uint32_t *node_of_path = arena_zalloc(scratch, s->node_count, sizeof *node_of_path);
    string_id *process = find_processes(s, scratch);
    for (uint32_t path = 1; node_of_path && process && path < s->node_count; path++) {
        uint32_t above = node_of_path[s->nodes[path].parent];
        string_id own = shown_label(s, path);
        if (!above && own != label)
            continue;
        if (!above && own != process[path])
            above = node_of_process(g, process[path]);
        node_of_path[path] = trie_child(&g->trie, above, own);
        if (!weigh(g, node_of_path[path], path))
            return false;
    }
    return node_of_path && process;
}

static bool grow(struct growing *g, enum tree_kind kind, string_id label)
{
    struct tree *t = g->tree;
    struct arena scratch = ARENA_INIT;
    bool ok = trie_init(&g->trie, &t->arena) && make_room(g, 0);
    if (ok && kind == TREE_UP)
        ok = weigh(g, 0, 0) && grow_up(g, &scratch); /* stacks without frames */
    else if (ok && kind == TREE_CALLERS)
        ok = grow_callers(g, &scratch, label);
    else if (ok)
        ok = grow_callees(g, &scratch, label);
    arena_deinit(&scratch);
    t->count = g->trie.count;
    if (ok) /* the last ones may have no weight */
        ok = make_room(g, (uint32_t)t->count - 1);
    trie_seal(&g->trie);
    t->nodes = g->trie.nodes;
    return ok && !t->arena.failed;
}

/* The tree from the root is that of the shown profile. */
static bool take_nodes(struct growing *g)
{
    struct tree *t = g->tree;
    const struct shown *s = g->shown;
    t->nodes = s->nodes;
    t->label_of_key = s->label_of_key;
    t->count = s->node_count;
    t->self = s->self;
    t->base_self = s->base_self;
    if (s->waits)
        g->waiting = arena_zalloc(&t->arena, t->count, sizeof *g->waiting);
    for (size_t n = 0; g->waiting && n < t->count; n++)
        g->waiting[n] = s->waits[n] ? s->self[n] : 0;
    return !t->arena.failed;
}

/* --- Totals and order -------------------------------------------------------------- */

static double *add_up(struct tree *t, const double *self)
{
    double *total = arena_zalloc(&t->arena, t->count, sizeof *total);
    for (size_t i = t->count; total && i-- > 0;) {
        total[i] += self[i];
        if (i)
            total[t->nodes[i].parent] += total[i];
    }
    return total;
}

/* A node without weight is not shown. */
static bool is_shown(const struct tree *t, uint32_t node)
{
    return t->total[node] > 0 || (t->base_total && t->base_total[node] > 0);
}

static uint32_t parent_shown(const void *context, uint32_t node)
{
    const struct tree *t = context;
    return is_shown(t, node) ? t->nodes[node].parent : NONE;
}

/* The children that are shown, from those of `whole`. False if it lacks some, or out of memory. */
static bool children_of_whole(struct tree *t, const struct tree *whole)
{
    const struct children *from = &whole->children;
    struct children *c = &t->children;
    uint32_t used = 0, shown = 0;
    for (uint32_t n = 1; n < t->count; n++)
        shown += is_shown(t, n);
    c->first = arena_alloc(&t->arena, (t->count + 2) * sizeof *c->first);
    c->items = arena_alloc(&t->arena, ((size_t)shown + 1) * sizeof *c->items);
    if (!c->first || !c->items)
        return false;
    for (uint32_t n = 0; n < t->count; n++) {
        c->first[n] = used;
        for (uint32_t i = from->first[n]; i < from->first[n + 1]; i++)
            if (is_shown(t, from->items[i]))
                c->items[used++] = from->items[i];
    }
    c->first[t->count] = c->first[t->count + 1] = used;
    return used == shown;
}

static double larger(const struct tree *t, uint32_t node)
{
    double base = t->base_total ? t->base_total[node] : 0;
    return t->total[node] > base ? t->total[node] : base;
}

static bool before_by_size(const void *context, uint32_t a, uint32_t b)
{
    double left = larger(context, a), right = larger(context, b);
    return left > right || (left == right && a < b);
}

struct named {
    const struct tree *tree;
    const struct strings *labels;
};

static bool before_by_name(const void *context, uint32_t a, uint32_t b)
{
    const struct named *n = context;
    return str_compare(strings_get(n->labels, tree_label(n->tree, a)),
                       strings_get(n->labels, tree_label(n->tree, b))) < 0;
}

static bool sort_children(struct tree *t, const struct shown *s, const struct tree *whole,
                          enum tree_order order)
{
    struct children *c = &t->children;
    struct named named = {t, &s->paths.labels};
    bool known = whole && order != ORDER_CAME && children_of_whole(t, whole);
    if (!known && !children_init(c, &t->arena, t->count, parent_shown, t))
        return false;
    if (order == ORDER_CAME)
        return true;
    uint32_t *scratch = arena_alloc(&t->arena, (t->count + 1) * sizeof *scratch);
    for (size_t n = 0; scratch && n < t->count; n++) {
        uint32_t *items = c->items + c->first[n];
        size_t count = c->first[n + 1] - c->first[n];
        if (count < 2)
            continue;
        if (order == ORDER_NAME)
            sort_u32(items, count, scratch, before_by_name, &named);
        else
            sort_u32(items, count, scratch, before_by_size, t);
    }
    if (scratch)
        arena_release(&t->arena, scratch, (t->count + 1) * sizeof *scratch);
    return scratch != NULL;
}

/* Sets t->process; the outermost level of the trees is the process. */
static bool name_processes(struct tree *t, const struct shown *s)
{
    if (!s->shared.count)
        return true;
    t->process = arena_zalloc(&t->arena, t->count, sizeof *t->process);
    for (uint32_t n = 1; t->process && n < t->count; n++) {
        string_id label = tree_label(t, n);
        bool process = s->kind_of_label[label] == KIND_PROCESS;
        t->process[n] = process ? label : t->process[t->nodes[n].parent];
    }
    return t->process != NULL;
}

bool tree_init(struct tree *t, const struct shown *s, const struct tree_options *o,
               struct error *err)
{
    struct growing g = {.tree = t, .shown = s};
    *t = (struct tree){0};
    bool ok = o->kind == TREE_DOWN ? take_nodes(&g) : grow(&g, o->kind, o->label);
    ok = ok && (t->total = add_up(t, t->self)) != NULL;
    if (ok && s->base_self)
        ok = (t->base_total = add_up(t, t->base_self)) != NULL;
    if (ok && g.waiting)
        ok = (t->waiting = add_up(t, g.waiting)) != NULL;
    bool same = o->whole && o->whole->made && o->whole->nodes == t->nodes;
    ok = ok && name_processes(t, s) &&
         sort_children(t, s, same ? o->whole : NULL, o->order);
    t->made = ok;
    return t->made || error_memory(err);
}

void tree_deinit(struct tree *t)
{
    arena_deinit(&t->arena);
    *t = (struct tree){0};
}
