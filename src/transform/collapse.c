/* SPDX-License-Identifier: Apache-2.0 */
/* Shortens recursion: a frame that occurs again in its stack becomes the earlier frame.
 * Frames with the same name are the same; the address and line of the outer frame
 * remain. */
#include "analysis/paths.h"
#include "transform/rewrite.h"

static stack_id *collapse_adjacent(struct rewrite *r, const uint32_t *number)
{
    const struct profile *from = r->from;
    stack_id *instead = arena_zalloc(&r->arena, from->stack_count, sizeof *instead);
    for (stack_id i = 1; instead && i < from->stack_count; i++) {
        stack_id parent = from->stacks[i].parent;
        bool same =
            parent && number[from->stacks[i].frame] == number[from->stacks[parent].frame];
        instead[i] = same ? instead[parent] : i;
    }
    return instead;
}

/* A walk over the tree of stacks, from the root to the leaves and back. An array
 * contains the current stack after collapsing. A name is on this stack if the array
 * contains it at the index that is stored for the name. */
struct walk {
    const struct profile *from;
    const uint32_t *number;
    struct children children;
    uint32_t *next;       /* by stack: its next child to be visited */
    stack_id *instead;    /* by stack: the stack that replaces it */
    uint32_t *depth;      /* by stack: its number of frames after collapsing */
    stack_id *overridden; /* by stack: the entry of the array that it replaced */
    uint32_t *noted;      /* by stack: the index that was stored for its name before */
    stack_id *open;       /* the stack, outermost first, from 1 on */
    uint32_t *index;      /* by name: its index in `open` */
};

static uint32_t parent_of(const void *context, uint32_t stack)
{
    return ((const struct profile *)context)->stacks[stack].parent;
}

static bool walk_init(struct walk *w, struct rewrite *r, size_t names)
{
    struct arena *a = &r->arena;
    size_t count = r->from->stack_count;
    w->next = arena_zalloc(a, count, sizeof *w->next);
    w->instead = arena_zalloc(a, count, sizeof *w->instead);
    w->depth = arena_zalloc(a, count, sizeof *w->depth);
    w->overridden = arena_zalloc(a, count, sizeof *w->overridden);
    w->noted = arena_zalloc(a, count, sizeof *w->noted);
    w->open = arena_zalloc(a, count + 1, sizeof *w->open);
    w->index = arena_zalloc(a, names, sizeof *w->index);
    return !a->failed && children_init(&w->children, a, count, parent_of, r->from);
}

static uint32_t number_of(const struct walk *w, stack_id stack)
{
    return w->number[w->from->stacks[stack].frame];
}

static void enter(struct walk *w, stack_id stack)
{
    stack_id parent = w->from->stacks[stack].parent;
    uint32_t depth = w->depth[parent], number = number_of(w, stack);
    uint32_t index = w->index[number];
    if (index && index <= depth && number_of(w, w->open[index]) == number) {
        w->instead[stack] = w->open[index];
        w->depth[stack] = index;
        return;
    }
    w->depth[stack] = ++depth;
    w->instead[stack] = stack;
    w->overridden[stack] = w->open[depth];
    w->noted[stack] = index;
    w->open[depth] = stack;
    w->index[number] = depth;
}

static void leave(struct walk *w, stack_id stack)
{
    if (w->instead[stack] != stack)
        return;
    w->open[w->depth[stack]] = w->overridden[stack];
    w->index[number_of(w, stack)] = w->noted[stack];
}

static stack_id *collapse_cycles(struct rewrite *r, const uint32_t *number, size_t names)
{
    struct walk w = {.from = r->from, .number = number};
    if (!walk_init(&w, r, names))
        return NULL;
    memcpy(w.next, w.children.first, r->from->stack_count * sizeof *w.next);
    for (stack_id at = 0;;) {
        if (w.next[at] < w.children.first[at + 1]) {
            at = w.children.items[w.next[at]++];
            enter(&w, at);
        } else if (at) {
            leave(&w, at);
            at = r->from->stacks[at].parent;
        } else {
            return w.instead;
        }
    }
}

static bool collapse_requested(const struct transform_options *o)
{
    return o->collapse != COLLAPSE_NONE;
}

static bool collapse_run(const struct profile *from, const struct transform_options *o,
                         struct builder *to, struct error *err)
{
    struct rewrite r;
    size_t names = 0;
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        const uint32_t *number = rewrite_name_numbers(&r, &names);
        if (number)
            r.instead = o->collapse == COLLAPSE_CYCLES
                            ? collapse_cycles(&r, number, names)
                            : collapse_adjacent(&r, number);
        ok = r.instead ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_collapse = {
    .name = "collapse",
    .summary = "make recursion one frame",
    .requested = collapse_requested,
    .run = collapse_run,
};
