/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/breakdown.h"
#include "base/array.h"
#include "base/glob.h"
#include "base/hash.h"
#include "base/sort.h"
#include "model/frame_label.h"
#include "model/sample_labels.h"

/* Names by key, in the order of the enum. Alternatives are those of perf. */
static const struct key_facts {
    const char *name, *other;
    bool of_frame, lines, samples, branches;
    const char *label; /* the key of a sample's label */
} facts[] = {
    {"comm", "command", .of_frame = false},
    {"pid", "process", .of_frame = false},
    {"tid", "thread", .of_frame = false},
    {"cpu", "cpu", .samples = true},
    {"time", "time", .samples = true},
    {"cgroup", "cgroup", .label = "cgroup"},
    {"parent", "parent", .of_frame = false},
    {"dso", "shared_object", .of_frame = true},
    {"sym", "symbol", .of_frame = true},
    {"srcfile", "file", .of_frame = true, .lines = true},
    {"srcline", "line", .of_frame = true, .lines = true},
    {"symbol_size", "symbol_size", .of_frame = true},
    {"symbol_from", "symbol_from", .of_frame = true, .branches = true},
    {"symbol_to", "symbol_to", .of_frame = true, .branches = true},
    {"dso_from", "dso_from", .of_frame = true, .branches = true},
    {"dso_to", "dso_to", .of_frame = true, .branches = true},
    {"mispredict", "mispredict", .branches = true, .label = "mispredict"},
    {"abort", "abort", .branches = true, .label = "abort"},
    {"in_tx", "in_tx", .branches = true, .label = "in_tx"},
    {"cycles", "cycles", .branches = true, .label = "cycles"},
};

enum breakdown_key breakdown_key_named(struct str name)
{
    unsigned k = 0;
    while (k < KEY_COUNT && !str_equal(name, str_of(facts[k].name)) &&
           !str_equal(name, str_of(facts[k].other)))
        k++;
    return (enum breakdown_key)k;
}

const char *breakdown_key_name(enum breakdown_key key)
{
    return facts[key].name;
}

bool breakdown_key_needs_lines(enum breakdown_key key)
{
    return facts[key].lines;
}

bool breakdown_key_needs_samples(enum breakdown_key key)
{
    return facts[key].samples;
}

bool breakdown_key_is_of_branch(enum breakdown_key key)
{
    return facts[key].branches;
}

bool breakdown_key_is_symbol(enum breakdown_key key)
{
    return key == KEY_SYM || key == KEY_SYM_FROM || key == KEY_SYM_TO;
}

/* --- Combinations of values -------------------------------------------------------- */

/* Distinct combinations; IDs start at 1. */
struct tuples {
    struct breakdown_values *items;
    size_t count, cap;
    struct index index;
};

struct tuple_lookup {
    const struct breakdown_values *items, *requested;
};

static bool same_tuple(const void *context, uint32_t id)
{
    const struct tuple_lookup *w = context;
    return memcmp(&w->items[id], w->requested, sizeof *w->requested) == 0;
}

/* The ID of the combination; 0 when out of memory. */
static uint32_t tuples_add(struct tuples *t, struct arena *a,
                           const struct breakdown_values *values)
{
    struct tuple_lookup w = {t->items, values};
    uint32_t hash = (uint32_t)hash_bytes(values, sizeof *values);
    if (t->count == 0)
        t->count = 1;
    if (!ARRAY_RESERVE(a, t->items, t->cap, t->count + 1) ||
        !index_reserve(&t->index, a, 1))
        return 0;
    w.items = t->items;
    struct index_slot *slot = index_find(&t->index, hash, same_tuple, &w);
    if (!slot->id) {
        t->items[t->count] = *values;
        index_fill(&t->index, slot, hash, (uint32_t)t->count++);
    }
    return slot->id;
}

static bool has_key(const struct breakdown *b, enum breakdown_key key)
{
    for (unsigned i = 0; i < b->o->key_count; i++)
        if (b->o->keys[i] == key)
            return true;
    return false;
}

static bool words_match(const struct breakdown_words *words, struct str name)
{
    for (size_t i = 0; i < words->count; i++)
        if (glob_match(words->items[i], name))
            return true;
    return words->count == 0;
}

/* --- Frames ------------------------------------------------------------------------ */

static char level_of(const struct profile *p, const struct frame *f)
{
    enum frame_kind kind = (enum frame_kind)f->kind;
    if (kind == FRAME_USER || kind == FRAME_INLINED)
        kind = module_kind(profile_string(p, p->modules[f->module].path));
    if (kind == FRAME_USER)
        kind = label_suffix_kind(profile_string(p, f->name));
    return kind == FRAME_KERNEL ? 'k' : kind == FRAME_GUEST ? 'g' : '.';
}

struct symbol_lookup {
    const struct breakdown_symbol *items, *requested;
};

static bool same_symbol(const void *context, uint32_t id)
{
    const struct symbol_lookup *w = context;
    const struct breakdown_symbol *s = &w->items[id];
    return s->name == w->requested->name && s->module == w->requested->module &&
           s->level == w->requested->level;
}

/* Assigns IDs to functions. There are at most as many as frames. */
static bool find_symbols(struct breakdown *b)
{
    const struct profile *p = b->p;
    struct index index = {0};
    b->symbols = arena_zalloc(&b->arena, p->frame_count + 1, sizeof *b->symbols);
    b->symbol_of_frame = arena_alloc(&b->arena, p->frame_count * sizeof(uint32_t));
    if (!b->symbols || !b->symbol_of_frame ||
        !index_reserve(&index, &b->arena, p->frame_count))
        return false;
    b->symbol_count = 1;
    for (frame_id f = 0; f < p->frame_count; f++) {
        const struct frame *frame = &p->frames[f];
        struct str path = profile_string(p, p->modules[frame->module].path);
        struct str name = label_without_suffix(profile_string(p, frame->name));
        char text[24];
        if (str_equal(name, STR("[unknown]")))
            name = STR("");
        if (b->o->addresses && !name.len && frame->address)
            name = (struct str){text, format_text(text, sizeof text, "0x%016llx",
                                                  (unsigned long long)frame->address)};
        struct breakdown_symbol s = {name.len ? strings_add(&b->names, name) : 0,
                                     strings_add(&b->names, str_basename(path)),
                                     level_of(p, frame)};
        struct symbol_lookup w = {b->symbols, &s};
        uint32_t hash =
            (uint32_t)hash_mix(hash_pair(s.name, s.module), (uint64_t)s.level ^ HASH_A);
        struct index_slot *slot = index_find(&index, hash, same_symbol, &w);
        if (!slot->id) {
            b->symbols[b->symbol_count] = s;
            index_fill(&index, slot, hash, (uint32_t)b->symbol_count++);
        }
        b->symbol_of_frame[f] = slot->id;
    }
    return !b->arena.failed;
}

static struct breakdown_values frame_values(const struct breakdown *b, frame_id f)
{
    const struct frame *frame = &b->p->frames[f];
    uint32_t symbol = b->symbol_of_frame[f];
    struct breakdown_values v = {{0}};
    if (has_key(b, KEY_DSO))
        v.by_key[KEY_DSO] = b->symbols[symbol].module;
    if (has_key(b, KEY_SYM))
        v.by_key[KEY_SYM] = symbol;
    if (has_key(b, KEY_SYMBOL_SIZE) && frame->name)
        v.by_key[KEY_SYMBOL_SIZE] = frame->offset;
    if (has_key(b, KEY_SRCFILE))
        v.by_key[KEY_SRCFILE] = frame->file;
    if (has_key(b, KEY_SRCLINE) && frame->file && frame->line)
        v.by_key[KEY_SRCLINE] = (uint64_t)frame->file << 32 | frame->line;
    return v;
}

static bool frame_matches(const struct breakdown *b, frame_id f)
{
    const struct breakdown_symbol *s = &b->symbols[b->symbol_of_frame[f]];
    struct str path = profile_string(b->p, b->p->modules[b->p->frames[f].module].path);
    return (words_match(&b->o->dsos, strings_get(&b->names, s->module)) ||
            words_match(&b->o->dsos, path)) &&
           (s->name || !b->o->resolved) &&
           words_match(&b->o->symbols, strings_get(&b->names, s->name));
}

/* Adds the ends of a branch: the frame of the stack and the one that calls it. */
static void add_ends(const struct breakdown *b, stack_id s, struct breakdown_values *v)
{
    const struct stack *stacks = b->p->stacks;
    uint32_t to = b->symbol_of_frame[stacks[s].frame];
    uint32_t from = b->symbol_of_frame[stacks[stacks[s].parent].frame];
    if (has_key(b, KEY_SYM_FROM))
        v->by_key[KEY_SYM_FROM] = from;
    if (has_key(b, KEY_SYM_TO))
        v->by_key[KEY_SYM_TO] = to;
    if (has_key(b, KEY_DSO_FROM))
        v->by_key[KEY_DSO_FROM] = b->symbols[from].module;
    if (has_key(b, KEY_DSO_TO))
        v->by_key[KEY_DSO_TO] = b->symbols[to].module;
}

/* By stack: the combination of its frame, 0 if filtered out. NULL when out of memory. */
static uint32_t *find_locations(struct breakdown *b, struct arena *scratch)
{
    const struct profile *p = b->p;
    struct tuples locations = {0};
    uint32_t *of_frame = arena_zalloc(scratch, p->frame_count, sizeof *of_frame);
    uint32_t *of_stack = arena_zalloc(&b->arena, p->stack_count, sizeof *of_stack);
    bool ends = has_key(b, KEY_SYM_FROM) || has_key(b, KEY_SYM_TO) ||
                has_key(b, KEY_DSO_FROM) || has_key(b, KEY_DSO_TO);
    for (frame_id f = 0; of_frame && f < p->frame_count; f++) {
        struct breakdown_values values = frame_values(b, f);
        if (frame_matches(b, f))
            of_frame[f] = tuples_add(&locations, &b->arena, &values);
    }
    for (stack_id s = 0; of_frame && of_stack && s < p->stack_count; s++) {
        of_stack[s] = of_frame[p->stacks[s].frame];
        if (!ends || !of_stack[s])
            continue;
        struct breakdown_values values = frame_values(b, p->stacks[s].frame);
        add_ends(b, s, &values);
        of_stack[s] = tuples_add(&locations, &b->arena, &values);
    }
    b->locations = locations.items;
    b->location_count = locations.count;
    return b->arena.failed || !of_frame ? NULL : of_stack;
}

/* --- Stacks ------------------------------------------------------------------------ */

/* By stack: its index in preorder, its combination, and whether no caller has the same
 * one. */
struct stacks {
    uint32_t *number, *location;
    bool *outermost;
};

/* The stacks as a tree, for the traversal only. */
struct family {
    uint32_t *child, *sibling;
    uint32_t *open; /* by location: frames with it on the path to the current stack */
};

static void enter_stack(struct stacks *s, struct family *f, stack_id n)
{
    s->outermost[n] = s->location[n] && f->open[s->location[n]] == 0;
    f->open[s->location[n]]++;
}

/* The next stack after n in preorder; 0 at the end. */
static stack_id next_stack(const struct profile *p, const struct stacks *s,
                           struct family *f, stack_id n)
{
    if (f->child[n])
        return f->child[n];
    while (n && !f->sibling[n]) {
        f->open[s->location[n]]--;
        n = p->stacks[n].parent;
    }
    if (n == 0)
        return 0;
    f->open[s->location[n]]--;
    return f->sibling[n];
}

static bool find_stacks(struct breakdown *b, struct stacks *s, struct arena *scratch,
                        uint32_t *location_of_stack)
{
    const struct profile *p = b->p;
    struct family f = {arena_zalloc(scratch, p->stack_count, sizeof(uint32_t)),
                       arena_zalloc(scratch, p->stack_count, sizeof(uint32_t)),
                       arena_zalloc(scratch, b->location_count + 1, sizeof(uint32_t))};
    s->number = arena_zalloc(scratch, p->stack_count, sizeof *s->number);
    s->location = location_of_stack;
    s->outermost = arena_zalloc(scratch, p->stack_count, sizeof *s->outermost);
    b->location_of_stack = s->location;
    if (scratch->failed || !s->location)
        return false;
    for (stack_id i = (stack_id)p->stack_count; i-- > 0;) {
        if (i == 0)
            break;
        f.sibling[i] = f.child[p->stacks[i].parent];
        f.child[p->stacks[i].parent] = i;
        b->calls |= p->stacks[i].parent != 0;
    }
    s->outermost[0] = s->location[0] != 0;
    uint32_t number = 1;
    for (stack_id n = f.child[0]; n; n = next_stack(p, s, &f, n)) {
        s->number[n] = number++;
        enter_stack(s, &f, n);
    }
    return true;
}

/* --- Groups ------------------------------------------------------------------------ */

/* By stack: the name of its outermost frame. NULL when out of memory. */
static string_id *find_outermost(const struct profile *p, struct arena *scratch)
{
    string_id *names = arena_zalloc(scratch, p->stack_count, sizeof *names);
    for (stack_id s = 1; names && s < p->stack_count; s++) {
        stack_id parent = p->stacks[s].parent;
        names[s] = parent ? names[parent] : p->frames[p->stacks[s].frame].name;
    }
    return names;
}

/* What is found once for all samples. */
struct sample_facts {
    const string_id *outermost; /* by stack: the name of its outermost frame */
    const string_id *parent;    /* by stack: the key parent, in the breakdown's names */
    const label_id *labels[KEY_COUNT]; /* by key and label set; NULL: no labels */
};

/* By stack: the innermost function that the options select. NULL when out of memory. */
static string_id *find_parents(const struct breakdown *b, struct arena *scratch)
{
    const struct profile *p = b->p;
    string_id *names = arena_zalloc(scratch, p->stack_count, sizeof *names);
    for (stack_id s = 1; names && b->o->parents && s < p->stack_count; s++) {
        frame_id f = p->stacks[s].frame;
        names[s] = b->o->parents[f] ? b->symbols[b->symbol_of_frame[f]].name
                                    : names[p->stacks[s].parent];
    }
    return names;
}

static bool find_sample_facts(const struct breakdown *b, struct sample_facts *f,
                              struct arena *scratch)
{
    const struct profile *p = b->p;
    *f = (struct sample_facts){.outermost = find_outermost(p, scratch),
                               .parent = find_parents(b, scratch)};
    for (unsigned k = 0; k < KEY_COUNT && p->sample_labels; k++)
        if (facts[k].label && has_key(b, (enum breakdown_key)k))
            f->labels[k] = label_sets_find(p, str_of(facts[k].label), scratch);
    return f->outermost && f->parent && !scratch->failed;
}

/* 100 ms is the default of perf's --time-quantum. */
static uint64_t time_step(const struct breakdown *b)
{
    return b->o->time_step ? b->o->time_step : 100000000;
}

static struct breakdown_values sample_values(const struct breakdown *b,
                                             const struct sample_facts *known,
                                             uint32_t number, string_id comm)
{
    const struct sample *s = &b->p->samples[number];
    const struct thread *t = &b->p->threads[s->thread];
    struct breakdown_values v = {{0}};
    if (has_key(b, KEY_COMM))
        v.by_key[KEY_COMM] = comm;
    if (has_key(b, KEY_PID) && s->thread)
        v.by_key[KEY_PID] = (uint64_t)t->pid + 1;
    if (has_key(b, KEY_TID) && s->thread)
        v.by_key[KEY_TID] = (uint64_t)t->tid + 1;
    if (has_key(b, KEY_CPU))
        v.by_key[KEY_CPU] = (uint32_t)(s->cpu - CPU_NONE);
    if (has_key(b, KEY_TIME) && s->time != TIME_NONE)
        v.by_key[KEY_TIME] = s->time / time_step(b) + 1;
    for (unsigned i = 0; i < b->o->key_count; i++) {
        const label_id *labels = known->labels[b->o->keys[i]];
        if (labels)
            v.by_key[b->o->keys[i]] =
                b->p->labels[labels[b->p->sample_labels[number]]].text;
    }
    if (has_key(b, KEY_PARENT))
        v.by_key[KEY_PARENT] = known->parent[s->stack];
    return v;
}

/* Chooses the thread whose name a process or a thread ID is shown with: the main thread
 * if there is one. */
static bool name_numbers(struct breakdown *b)
{
    for (thread_id t = 1; t < b->p->thread_count; t++) {
        const struct thread *thread = &b->p->threads[t];
        uint64_t *pid = idmap_put(&b->pids, &b->arena, (uint64_t)thread->pid);
        if (pid && (*pid == 0 || thread->tid == thread->pid))
            *pid = t;
        uint64_t *tid = idmap_put(&b->tids, &b->arena, (uint64_t)thread->tid);
        if (tid && *tid == 0)
            *tid = t;
    }
    return !b->arena.failed;
}

static string_id comm_of(const struct breakdown *b, const struct sample_facts *known,
                         const struct sample *s)
{
    return s->thread ? b->p->threads[s->thread].name : known->outermost[s->stack];
}

/* Whether the options exclude the sample completely: its function has no name. */
static bool is_unresolved(const struct breakdown *b, const struct sample *s)
{
    frame_id leaf = b->p->stacks[s->stack].frame;
    return b->o->resolved && !b->symbols[b->symbol_of_frame[leaf]].name;
}

static bool is_in_group(const struct breakdown *b, const struct sample_facts *known,
                        const struct sample *s)
{
    struct str comm = profile_string(b->p, comm_of(b, known, s));
    return words_match(&b->o->comms, comm) &&
           (!b->o->threads || b->o->threads[s->thread]) &&
           (!b->o->only_parents || known->parent[s->stack]);
}

/* The samples of the event, by group and then by stack in preorder. Samples that the
 * options exclude are in no group. In an input without threads, such as folded stacks, the
 * outermost frame is the comm. NULL when out of memory. */
static struct sort_key *group_samples(struct breakdown *b, const struct stacks *s,
                                      struct arena *scratch, size_t *count)
{
    const struct profile *p = b->p;
    struct tuples groups = {0};
    struct sort_key *keys = arena_alloc(scratch, (p->sample_count + 1) * sizeof *keys);
    struct sort_key *other = arena_alloc(scratch, (p->sample_count + 1) * sizeof *keys);
    struct sample_facts known;
    *count = 0;
    bool ok = find_sample_facts(b, &known, scratch) && keys && other;
    for (uint32_t i = 0; ok && i < p->sample_count; i++) {
        const struct sample *sample = &p->samples[i];
        if (sample->event != b->event || is_unresolved(b, sample))
            continue;
        b->total += sample->weight;
        b->samples += sample->count;
        if (!is_in_group(b, &known, sample)) {
            b->left_out += sample->weight;
            continue;
        }
        struct breakdown_values values =
            sample_values(b, &known, i, comm_of(b, &known, sample));
        uint64_t group = tuples_add(&groups, &b->arena, &values);
        keys[(*count)++] = (struct sort_key){group << 32 | s->number[sample->stack], i};
    }
    b->groups = groups.items;
    b->group_count = groups.count;
    b->group_cap = groups.cap;
    if (b->arena.failed || scratch->failed)
        return NULL;
    sort_keys(keys, *count, other);
    return keys;
}

/* --- Nodes ------------------------------------------------------------------------- */

/* The nodes so far; those of the current group start at `first`. */
struct growing {
    struct breakdown *b;
    const struct stacks *stacks;
    uint32_t *of_stack; /* the last node of the stack */
    size_t cap;
    uint32_t first, group;
    uint32_t *groups; /* by node */
    size_t groups_cap;
};

static bool is_there(const struct growing *g, stack_id s)
{
    uint32_t n = g->of_stack[s];
    return n >= g->first && n < g->b->node_count && g->b->nodes[n].stack == s;
}

/* Adds the node of the stack and, with `children`, those of its callers that are missing.
 * Stacks come in preorder, so nodes are in preorder, too. */
static bool add_path(struct growing *g, stack_id stack)
{
    struct breakdown *b = g->b;
    const struct stack *stacks = b->p->stacks;
    size_t missing = 1;
    stack_id above = stacks[stack].parent;
    for (; b->o->children && above && !is_there(g, above); above = stacks[above].parent)
        missing++;
    size_t count = b->node_count + missing;
    if (!ARRAY_RESERVE(&b->arena, b->nodes, g->cap, count) ||
        !ARRAY_RESERVE(&b->arena, g->groups, g->groups_cap, count) || count > UINT32_MAX)
        return false;
    uint32_t top = b->o->children && above ? g->of_stack[above] : 0;
    uint32_t depth = b->nodes[top].depth + (uint32_t)missing;
    for (size_t i = count; i-- > b->node_count; stack = stacks[stack].parent) {
        uint32_t parent = i > b->node_count ? (uint32_t)i - 1 : top;
        b->nodes[i] = (struct breakdown_node){
            .stack = stack, .parent = parent, .end = (uint32_t)i + 1, .depth = depth--};
        g->groups[i] = g->group;
        g->of_stack[stack] = (uint32_t)i;
    }
    b->node_count = count;
    return true;
}

static void add_up(struct breakdown *b)
{
    for (size_t i = b->node_count; i-- > 1;) {
        struct breakdown_node *n = &b->nodes[i], *parent = &b->nodes[n->parent];
        n->total += n->self;
        if (n->parent == 0)
            continue;
        parent->total += n->total;
        parent->end = n->end > parent->end ? n->end : parent->end;
    }
}

/* Returns the groups by node, in the scratch arena. */
static bool make_nodes(struct growing *g, const struct sort_key *keys, size_t count,
                       struct arena *scratch)
{
    struct breakdown *b = g->b;
    g->of_stack = arena_zalloc(scratch, b->p->stack_count, sizeof *g->of_stack);
    b->nodes = arena_grow(&b->arena, NULL, &g->cap, 64, sizeof *b->nodes);
    if (!g->of_stack || !b->nodes)
        return false;
    b->nodes[0] = (struct breakdown_node){0};
    b->node_count = 1;
    for (size_t i = 0; i < count; i++) {
        const struct sample *s = &b->p->samples[keys[i].id];
        uint32_t group = (uint32_t)(keys[i].key >> 32);
        if (group != g->group)
            g->first = (uint32_t)b->node_count;
        g->group = group;
        if (!is_there(g, s->stack) && !add_path(g, s->stack))
            return false;
        struct breakdown_node *n = &b->nodes[g->of_stack[s->stack]];
        n->self += s->weight;
        n->samples += s->count;
    }
    add_up(b);
    return true;
}

/* --- Rows -------------------------------------------------------------------------- */

struct row_lookup {
    const struct breakdown_row *rows;
    uint32_t group, location;
};

static bool same_row(const void *context, uint32_t id)
{
    const struct row_lookup *w = context;
    return w->rows[id].group == w->group && w->rows[id].location == w->location;
}

struct row_table {
    struct index index;
    size_t cap;
};

/* The index of the row; 0 when out of memory. */
static uint32_t find_row(struct breakdown *b, struct row_table *t, uint32_t group,
                         uint32_t location)
{
    uint32_t hash = (uint32_t)hash_pair(group, location);
    if (!ARRAY_RESERVE(&b->arena, b->rows, t->cap, b->row_count + 1) ||
        !index_reserve(&t->index, &b->arena, 1))
        return 0;
    struct row_lookup w = {b->rows, group, location};
    struct index_slot *slot = index_find(&t->index, hash, same_row, &w);
    if (!slot->id) {
        b->rows[b->row_count] =
            (struct breakdown_row){.group = group, .location = location};
        index_fill(&t->index, slot, hash, (uint32_t)b->row_count++);
    }
    return slot->id;
}

/* Selects the nodes of a row's call tree: those that its weight was counted at. */
static bool list_nodes(struct breakdown *b)
{
    uint32_t at = 0;
    b->row_nodes = arena_alloc(&b->arena, b->node_count * sizeof *b->row_nodes);
    if (!b->row_nodes)
        return false;
    for (size_t r = 1; r < b->row_count; r++) {
        b->rows[r].first = at;
        at += b->rows[r].count;
        b->rows[r].count = 0;
    }
    for (uint32_t n = 1; n < b->node_count; n++) {
        struct breakdown_row *r = &b->rows[b->nodes[n].row];
        if (b->nodes[n].row)
            b->row_nodes[r->first + r->count++] = n;
    }
    return true;
}

static bool make_rows(struct breakdown *b, const struct growing *g)
{
    struct row_table table = {0};
    b->rows = arena_grow(&b->arena, NULL, &table.cap, 64, sizeof *b->rows);
    if (!b->rows)
        return false;
    b->rows[0] = (struct breakdown_row){0};
    b->row_count = 1;
    for (uint32_t i = 1; i < b->node_count; i++) {
        struct breakdown_node *n = &b->nodes[i];
        uint32_t location = g->stacks->location[n->stack];
        bool counts = b->o->children && g->stacks->outermost[n->stack];
        if (!location)
            b->left_out += n->self;
        if (!location || (!counts && !n->samples))
            continue;
        uint32_t number = find_row(b, &table, g->groups[i], location);
        if (!number)
            return false;
        struct breakdown_row *row = &b->rows[number];
        row->self += n->self;
        row->samples += n->samples;
        if (counts || !b->o->children) {
            row->total += b->o->children ? n->total : n->self;
            row->count++;
            n->row = number;
        }
    }
    b->row_cap = table.cap;
    return list_nodes(b);
}

/* --- Order ------------------------------------------------------------------------- */

uint64_t breakdown_value(const struct breakdown *b, const struct breakdown_row *row,
                         enum breakdown_key key)
{
    const struct breakdown_values *v =
        facts[key].of_frame ? &b->locations[row->location] : &b->groups[row->group];
    return v->by_key[key];
}

struct str breakdown_symbol_name(const struct breakdown *b, uint32_t symbol)
{
    string_id name = b->symbols[symbol].name;
    return name ? strings_get(&b->names, name) : STR("[unknown]");
}

/* The text of a value, if it has one. */
static struct str value_text(const struct breakdown *b, enum breakdown_key key,
                             uint64_t value)
{
    switch (key) {
    case KEY_COMM:
    case KEY_CGROUP:
    case KEY_SRCFILE:
    case KEY_MISPREDICT:
    case KEY_ABORT:
    case KEY_IN_TX:
    case KEY_CYCLES:
        return profile_string(b->p, (string_id)value);
    case KEY_SRCLINE:
        return profile_string(b->p, (string_id)(value >> 32));
    case KEY_DSO:
    case KEY_DSO_FROM:
    case KEY_DSO_TO:
    case KEY_PARENT:
        return strings_get(&b->names, (string_id)value);
    case KEY_SYM:
    case KEY_SYM_FROM:
    case KEY_SYM_TO:
        return breakdown_symbol_name(b, (uint32_t)value);
    default:
        return STR("");
    }
}

uint64_t breakdown_known_value(const struct breakdown *b, const struct breakdown_row *row,
                               enum breakdown_key key)
{
    uint64_t value = breakdown_value(b, row, key);
    return breakdown_key_is_symbol(key) && b->symbols[value].name == 0 ? 0 : value;
}

/* Order of rows of equal weight by their values, unknown ones last: the same in each run. */
static int compare_values(const struct breakdown *b, const struct breakdown_row *x,
                          const struct breakdown_row *y)
{
    for (unsigned i = 0; i < b->o->key_count; i++) {
        enum breakdown_key key = b->o->keys[i];
        uint64_t v = breakdown_known_value(b, x, key);
        uint64_t w = breakdown_known_value(b, y, key);
        if (!v || !w) {
            if (v != w)
                return v ? -1 : 1;
            continue;
        }
        int order = str_compare(value_text(b, key, v), value_text(b, key, w));
        if (order)
            return order;
        if (key == KEY_SRCLINE) { /* of the same file: the lines */
            v = (uint32_t)v;
            w = (uint32_t)w;
        }
        if (v != w && !breakdown_key_is_symbol(key))
            return v < w ? -1 : 1;
    }
    return 0;
}

struct breakdown_figures breakdown_figures(const struct breakdown *b,
                                           const struct breakdown_row *row, size_t number)
{
    size_t at = (size_t)(row - b->rows);
    if (number == 0)
        return (struct breakdown_figures){row->samples, row->self, row->total};
    const struct breakdown_other *o = &b->others[number - 1];
    return at < o->row_count ? o->rows[at] : (struct breakdown_figures){.samples = 0};
}

static int compare_figures(const struct breakdown *b, const struct breakdown_row *x,
                           const struct breakdown_row *y, size_t number)
{
    struct breakdown_figures v = breakdown_figures(b, x, number);
    struct breakdown_figures w = breakdown_figures(b, y, number);
    int order = (v.total < w.total) - (v.total > w.total);
    return order ? order : (v.self < w.self) - (v.self > w.self);
}

static bool row_before(const void *context, uint32_t a, uint32_t z)
{
    const struct breakdown *b = context;
    const struct breakdown_row *x = &b->rows[a], *y = &b->rows[z];
    int order = compare_figures(b, x, y, b->sorted_by);
    for (size_t i = 0; order == 0 && i <= b->other_count; i++)
        order = compare_figures(b, x, y, i);
    return order ? order < 0 : compare_values(b, x, y) < 0;
}

static bool sort_rows(struct breakdown *b, struct arena *scratch)
{
    uint32_t *other = arena_alloc(scratch, b->row_count * sizeof *other);
    b->order = arena_alloc(&b->arena, b->row_count * sizeof *b->order);
    if (!other || !b->order)
        return false;
    for (uint32_t i = 1; i < b->row_count; i++)
        b->order[i - 1] = i;
    sort_u32(b->order, b->row_count - 1, other, row_before, b);
    return true;
}

bool breakdown_sort(struct breakdown *b, size_t sorted_by, struct error *err)
{
    struct arena scratch = ARENA_INIT;
    b->sorted_by = sorted_by;
    bool ok = sort_rows(b, &scratch);
    arena_deinit(&scratch);
    return ok || error_memory(err);
}

/* --- The whole --------------------------------------------------------------------- */

static bool break_down(struct breakdown *b, struct arena *scratch)
{
    struct stacks stacks;
    struct growing g = {.b = b, .stacks = &stacks};
    size_t count;
    if (!strings_init(&b->names, &b->arena) || !find_symbols(b))
        return false;
    uint32_t *location_of_stack = find_locations(b, scratch);
    if ((has_key(b, KEY_PID) || has_key(b, KEY_TID)) && !name_numbers(b))
        return false;
    if (!location_of_stack || !find_stacks(b, &stacks, scratch, location_of_stack))
        return false;
    const struct sort_key *keys = group_samples(b, &stacks, scratch, &count);
    return keys && make_nodes(&g, keys, count, scratch) && make_rows(b, &g) &&
           sort_rows(b, scratch);
}

bool breakdown_init(struct breakdown *b, const struct profile *p,
                    const struct breakdown_options *o, event_id event, struct error *err)
{
    struct arena scratch = ARENA_INIT;
    *b = (struct breakdown){.p = p, .o = o, .event = event};
    bool ok = break_down(b, &scratch);
    arena_deinit(&scratch);
    return ok || error_memory(err);
}

void breakdown_deinit(struct breakdown *b)
{
    arena_deinit(&b->arena);
}

/* The name of the process or thread with that number. */
static struct str name_of_number(const struct breakdown *b, enum breakdown_key key,
                                 int64_t number)
{
    const uint64_t *thread =
        idmap_find(key == KEY_PID ? &b->pids : &b->tids, (uint64_t)number);
    return thread ? profile_string(b->p, b->p->threads[*thread].name) : STR("");
}

/* In seconds, as perf prints times: with microseconds, or with nanoseconds if they are
 * requested or the step has them. */
static void write_time(const struct breakdown *b, struct output *out, uint64_t time)
{
    bool ns = b->o->nanoseconds || time_step(b) % 1000;
    unsigned long long fraction = time % 1000000000;
    output_format(out, "%llu.%0*llu", (unsigned long long)(time / 1000000000), ns ? 9 : 6,
                  ns ? fraction : fraction / 1000);
}

void breakdown_write(const struct breakdown *b, const struct breakdown_row *row,
                     enum breakdown_key key, bool whole, struct output *out)
{
    uint64_t value = breakdown_value(b, row, key);
    struct str text = value_text(b, key, value);
    if (!whole && !b->o->full_paths && (key == KEY_SRCFILE || key == KEY_SRCLINE))
        text = str_basename(text);
    bool number = key == KEY_PID || key == KEY_TID || key == KEY_CPU || key == KEY_TIME ||
                  key == KEY_SYMBOL_SIZE;
    if (value == 0 || (text.len == 0 && !number)) {
        output_text(out, whole ? "" : key == KEY_PARENT ? "[other]" : "[unknown]");
        return;
    }
    output_str(out, text);
    if (key == KEY_SRCLINE)
        output_format(out, ":%u", (unsigned)value);
    else if (key == KEY_TIME)
        write_time(b, out, (value - 1) * time_step(b));
    else if (key == KEY_CPU && !whole) /* as in perf */
        output_format(out, "%03llu", (unsigned long long)(value - 1));
    else if (key == KEY_SYMBOL_SIZE)
        output_u64(out, value);
    else if (number)
        output_u64(out, value - 1);
    if (whole || (key != KEY_PID && key != KEY_TID))
        return;
    text = name_of_number(b, key, (int64_t)(value - 1));
    if (text.len) {
        output_char(out, ':');
        output_str(out, text);
    }
}
