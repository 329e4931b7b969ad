#include "model/paths.h"
#include "base/trie.h"

/* A path is a stack: the columns may be shared. */
_Static_assert(sizeof(struct path_node) == sizeof(struct stack), "paths alias stacks");

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

/* Gives every stack its path, made as it is first met. */
static bool merge_stacks(struct paths *t, const struct profile *p)
{
    struct trie by_label;
    struct path_node *nodes = arena_zalloc(&t->arena, p->stack_count, sizeof *nodes);
    uint32_t *of_stack = arena_zalloc(&t->arena, p->stack_count, sizeof *of_stack);
    if (!nodes || !of_stack || !trie_init(&by_label, &t->arena))
        return false;
    for (stack_id s = 1; s < p->stack_count; s++) {
        frame_id frame = p->stacks[s].frame;
        uint32_t parent = of_stack[p->stacks[s].parent], made = (uint32_t)by_label.count;
        of_stack[s] = trie_child(&by_label, parent, t->label_of_frame[frame]);
        if (of_stack[s] == made)
            nodes[made] = (struct path_node){parent, frame};
    }
    t->nodes = nodes;
    t->count = by_label.count;
    t->of_stack = of_stack;
    trie_seal(&by_label);
    return !t->arena.failed;
}

bool paths_init(struct paths *t, const struct profile *p, const struct label_style *style,
                struct error *err)
{
    bool distinct;
    *t = (struct paths){0};
    if (!strings_init(&t->labels, &t->arena) || !label_frames(t, p, style, &distinct))
        return error_memory(err);
    if (distinct) {
        t->nodes = (const struct path_node *)(const void *)p->stacks;
        t->count = p->stack_count;
        return true;
    }
    return merge_stacks(t, p) || error_memory(err);
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
