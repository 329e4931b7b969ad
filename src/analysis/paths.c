/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/paths.h"
#include "base/trie.h"

/* A path has the layout of a stack, so that the columns can be shared. */
_Static_assert(sizeof(struct path_node) == sizeof(struct stack), "paths alias stacks");

/* Uses the stacks as paths. */
static void share_stacks(struct paths *t, const struct profile *p)
{
    t->nodes = (const struct path_node *)(const void *)p->stacks;
    t->count = p->stack_count;
}

/* Makes the labels of all frames; *distinct: no two frames share one. */
static bool label_frames(struct paths *t, const struct profile *p,
                         const struct label_style *style, bool *distinct)
{
    struct output text = OUTPUT_BUFFER;
    *distinct = true;
    t->label_of_frame = arena_zalloc(&t->arena, p->frame_count, sizeof(string_id));
    for (frame_id f = 1; t->label_of_frame && f < p->frame_count; f++) {
        size_t before = t->labels.count;
        text.used = 0;
        label_frame(&text, p, f, style);
        t->label_of_frame[f] = strings_add(&t->labels, output_contents(&text));
        *distinct &= t->labels.count > before;
    }
    bool ok = t->label_of_frame && !text.failed && !t->arena.failed;
    output_deinit(&text);
    return ok;
}

/* Two stacks are one path if they have the same label and their callers are one path. Few
 * frames share a label in most profiles. So the search covers only stacks that may equal
 * another one; all others are paths of their own. */
struct merging {
    const struct profile *p;
    const string_id *labels;  /* by frame */
    const uint8_t *is_shared; /* by frame: another frame has its label */
    uint8_t *is_many;         /* by stack: others have the same path */
    uint32_t *same;     /* by stack: the first one of its path, 0 if that is itself */
    size_t many;        /* number of marked stacks */
    struct index index; /* the first ones, by the first one of the caller and the label */
};

/* The search repeats over all stacks while it finds more, at most this often; then each
 * stack is compared. */
#define ROUNDS_MOST 4

/* By frame: another frame has the same label. NULL when out of memory. */
static uint8_t *find_shared_labels(const struct paths *t, const struct profile *p,
                                   struct arena *scratch)
{
    uint8_t *shared = arena_zalloc(scratch, p->frame_count, sizeof *shared);
    frame_id *first = arena_zalloc(scratch, t->labels.count, sizeof *first);
    for (frame_id f = 1; shared && first && f < p->frame_count; f++) {
        frame_id *other = &first[t->label_of_frame[f]];
        if (*other)
            shared[f] = shared[*other] = 1;
        else
            *other = f;
    }
    return first ? shared : NULL;
}

static stack_id first_of(const struct merging *m, stack_id s)
{
    return m->same[s] ? m->same[s] : s;
}

struct path_lookup {
    const struct merging *m;
    stack_id caller;
    string_id label;
};

static bool same_path(const void *context, uint32_t id)
{
    const struct path_lookup *w = context;
    const struct stack *s = &w->m->p->stacks[id];
    return first_of(w->m, s->parent) == w->caller && w->m->labels[s->frame] == w->label;
}

/* The first stack of the same path, which may be s. As in a trie (base/trie.h), a stack
 * that directly follows its caller is not indexed. The index must have room. */
static stack_id find_first(struct merging *m, stack_id s)
{
    const struct stack *stacks = m->p->stacks;
    stack_id caller = first_of(m, stacks[s].parent);
    struct path_lookup requested = {m, caller, m->labels[stacks[s].frame]};
    if (caller + 1 == s || (stacks[caller + 1].parent == caller &&
                            m->labels[stacks[caller + 1].frame] == requested.label))
        return caller + 1;
    uint32_t hash = (uint32_t)hash_pair(caller, requested.label);
    struct index_slot *slot = index_find(&m->index, hash, same_path, &requested);
    if (!slot->id)
        index_fill(&m->index, slot, hash, s);
    return slot->id;
}

/* Compares the stacks of frames with shared labels, and the callees of stacks with shared
 * paths. False when out of memory. */
static bool compare_stacks(struct merging *m, struct arena *scratch)
{
    const struct stack *stacks = m->p->stacks;
    m->index = (struct index){0};
    for (stack_id s = 1; s < m->p->stack_count; s++) {
        if (!m->is_shared[stacks[s].frame] && !m->is_many[stacks[s].parent])
            continue;
        if (!index_reserve(&m->index, scratch, 1))
            return false;
        stack_id first = find_first(m, s);
        m->same[s] = first == s ? 0 : first;
        if (first == s)
            continue;
        m->many += (size_t)!m->is_many[s] + !m->is_many[first];
        m->is_many[s] = m->is_many[first] = 1;
    }
    return true;
}

/* A shared path is found only with its second stack, which may come after its callees:
 * another round compares those. */
static bool find_same(struct merging *m, struct arena *scratch)
{
    size_t before;
    unsigned round = 0;
    do {
        before = m->many;
        if (++round > ROUNDS_MOST) {
            memset(m->is_many, 1, m->p->stack_count);
            before = m->many = m->p->stack_count;
        }
        if (!compare_stacks(m, scratch))
            return false;
    } while (m->many > before);
    return true;
}

/* Assigns IDs to paths in the order of their first stacks, in place. */
static bool number_paths(struct paths *t, struct merging *m)
{
    const struct stack *stacks = m->p->stacks;
    size_t count = m->p->stack_count;
    struct path_node *nodes = arena_alloc(&t->arena, count * sizeof *nodes);
    if (!nodes)
        return false;
    nodes[0] = (struct path_node){0, 0};
    t->count = 1;
    t->of_stack = m->same;
    for (stack_id s = 1; s < count; s++) {
        if (m->same[s]) {
            t->of_stack[s] = t->of_stack[m->same[s]];
            continue;
        }
        nodes[t->count] =
            (struct path_node){t->of_stack[stacks[s].parent], stacks[s].frame};
        t->of_stack[s] = (uint32_t)t->count++;
    }
    t->nodes = nodes;
    return true;
}

/* Makes the paths of a profile whose frames share labels. */
static bool make_paths(struct paths *t, const struct profile *p)
{
    struct arena scratch = ARENA_INIT;
    struct merging m = {.p = p, .labels = t->label_of_frame};
    m.is_shared = find_shared_labels(t, p, &scratch);
    m.is_many = arena_zalloc(&scratch, p->stack_count, sizeof *m.is_many);
    m.same = arena_zalloc(&t->arena, p->stack_count, sizeof *m.same);
    bool ok = m.is_shared && m.is_many && m.same && find_same(&m, &scratch);
    if (ok && m.many)
        ok = number_paths(t, &m);
    else if (ok)
        share_stacks(t, p);
    arena_deinit(&scratch);
    return ok;
}

bool paths_init(struct paths *t, const struct profile *p, const struct label_style *style,
                struct error *err)
{
    bool distinct;
    *t = (struct paths){0};
    if (!strings_init(&t->labels, &t->arena) || !label_frames(t, p, style, &distinct))
        return error_memory(err);
    if (!distinct)
        return make_paths(t, p) || error_memory(err);
    share_stacks(t, p);
    return true;
}

void paths_deinit(struct paths *t)
{
    arena_deinit(&t->arena);
}

bool children_init(struct children *c, struct arena *a, size_t count,
                   uint32_t (*parent)(const void *context, uint32_t node),
                   const void *context)
{
    c->first = arena_zalloc(a, count + 2, sizeof *c->first);
    c->items = arena_alloc(a, (count + 1) * sizeof *c->items);
    if (!c->first || !c->items)
        return false;
    for (uint32_t n = 1; n < count; n++) {
        uint32_t p = parent(context, n);
        if (p != UINT32_MAX)
            c->first[p + 2]++;
    }
    for (size_t n = 2; n < count + 2; n++)
        c->first[n] += c->first[n - 1];
    for (uint32_t n = 1; n < count; n++) {
        uint32_t p = parent(context, n);
        if (p != UINT32_MAX)
            c->items[c->first[p + 1]++] = n;
    }
    return true;
}
