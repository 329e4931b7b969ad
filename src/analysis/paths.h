/* SPDX-License-Identifier: Apache-2.0 */
/* The distinct paths of labels in a profile: stacks whose frames have the same labels
 * are one path. The call tree and the folded lines are made of them.
 *
 * Path 0 is the root, which has no label; a parent comes before its child. If no two
 * stacks have the same labels, the paths are the stacks, and only the labels are
 * copied. */
#ifndef STOKE_ANALYSIS_PATHS_H
#define STOKE_ANALYSIS_PATHS_H

#include "model/frame_label.h"
#include "model/profile.h"

struct path_node {
    uint32_t parent;
    frame_id frame; /* one of the frames of the label */
};

struct paths {
    struct arena arena;
    struct strings labels;
    string_id *label_of_frame;
    const struct path_node *nodes;
    size_t count;
    uint32_t *of_stack; /* the path of each stack; NULL where they are the same */
};

/* False when out of memory. The profile must outlive the paths. */
bool paths_init(struct paths *t, const struct profile *p, const struct label_style *style,
                struct error *err);
void paths_deinit(struct paths *t);

static inline uint32_t path_of_stack(const struct paths *t, stack_id stack)
{
    return t->of_stack ? t->of_stack[stack] : stack;
}

static inline string_id path_label(const struct paths *t, uint32_t path)
{
    return t->label_of_frame[t->nodes[path].frame];
}

/* The children of every node of a tree, as one array with offsets: those of node n are
 * items[first[n]] up to items[first[n + 1]], in the order of their numbers. */
struct children {
    uint32_t *first; /* count + 1 entries */
    uint32_t *items;
};

/* parent(context, n) is the parent of node n > 0, or UINT32_MAX if n is left out. The
 * arena owns the arrays. */
bool children_init(struct children *c, struct arena *a, size_t count,
                   uint32_t (*parent)(const void *context, uint32_t node),
                   const void *context);

#endif
