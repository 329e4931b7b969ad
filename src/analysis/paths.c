/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/paths.h"
#include "base/trie.h"

/* A path is a stack: the columns may be shared. */
_Static_assert(sizeof(struct path_node) == sizeof(struct stack), "paths alias stacks");

/* The stacks are the paths. */
static void share_stacks(struct paths *t, const struct profile *p)
{
    t->nodes = (const struct path_node *)(const void *)p->stacks;
    t->count = p->stack_count;
}

/* Labels all frames; *distinct tells whether no two frames share one. */
static bool label_frames(struct paths *t, const struct profile *p,
                         const struct label_style *style, bool *distinct)
{
    struct output text = OUTPUT_KEEP;
    *distinct = true;
    t->label_of_frame = arena_zalloc(&t->arena, p->frame_count, sizeof(string_id));
    for (frame_id f = 1; t->label_of_frame && f < p->frame_count; f++) {
        size_t before = t->labels.count;
        text.used = 0;
        label_frame(&text, p, f, style);
        t->label_of_frame[f] = strings_add(&t->labels, output_kept(&text));
        *distinct &= t->labels.count > before;
    }
    bool ok = t->label_of_frame && !text.failed && !t->arena.failed;
    output_deinit(&text);
    return ok;
}

/* Two stacks are one path where they have the same label, and callers that are one path
 * themselves. Labels that frames share are few, most often: so those stacks are looked
 * for that can be another's, and all others are paths by themselves. */
struct merging {
    const struct profile *p;
    const string_id *labels;  /* by frame */
    const uint8_t *is_shared; /* by frame: another one has its label */
    uint8_t *is_many;         /* by stack: there are others of its path */
    uint32_t *same;     /* by stack: the first of its path, 0 where that is itself */
    size_t many;        /* stacks that are marked so */
    struct index index; /* of the first ones, by the first of the caller and label */
};

/* The search goes over all stacks as long as it finds more, but not more often than this:
 * then each is compared. */
#define ROUNDS_MOST 4

/* By frame, whether another one has the same label. NULL when memory is short. */
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

struct wanted_path {
    const struct merging *m;
    stack_id caller;
    string_id label;
};

static bool same_path(const void *context, uint32_t id)
{
    const struct wanted_path *w = context;
    const struct stack *s = &w->m->p->stacks[id];
    return first_of(w->m, s->parent) == w->caller && w->m->labels[s->frame] == w->label;
}

/* The first stack of the same path, which may be s. As in a trie (base/trie.h), the one
 * behind its caller is not indexed. The index has room. */
static stack_id find_first(struct merging *m, stack_id s)
{
    const struct stack *stacks = m->p->stacks;
    stack_id caller = first_of(m, stacks[s].parent);
    struct wanted_path wanted = {m, caller, m->labels[stacks[s].frame]};
    if (caller + 1 == s || (stacks[caller + 1].parent == caller &&
                            m->labels[stacks[caller + 1].frame] == wanted.label))
        return caller + 1;
    uint32_t hash = (uint32_t)hash_pair(caller, wanted.label);
    struct index_slot *slot = index_find(&m->index, hash, same_path, &wanted);
    if (!slot->id)
        index_fill(&m->index, slot, hash, s);
    return slot->id;
}

/* Compares the stacks of frames that share their label, and the callees of those that are
 * not alone in their path. False when memory is short. */
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

/* A stack is seen not to be alone only when the second of the path comes, and its callees
 * may have come before: another round compares them. */
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

/* Numbers the paths in the order of their first stacks, in place of which the numbers are
 * put. */
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

/* Makes the paths of a profile in which frames share labels. */
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
