/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree: a profile's samples of one event, added up per path of labels.
 *
 * Nodes lie in preorder: a node's subtree is the run of nodes from itself up to its
 * `end`, its children in the order asked for. Frames with the same label are one node.
 * Node 0 is the root, "all"; with threads told apart, they are its children.
 *
 * Building takes time and memory in proportion to the distinct paths, sorting included
 * (n log n in the siblings); nothing recurses. */
#ifndef STOKE_ANALYSIS_CALLTREE_H
#define STOKE_ANALYSIS_CALLTREE_H

#include "analysis/paths.h"

enum calltree_order {
    CALLTREE_BY_NAME, /* bytewise */
    CALLTREE_BY_SIZE, /* the larger total first, then by name */
    CALLTREE_BY_TIME, /* as the samples come; the same path later is a new node */
    CALLTREE_AS_READ, /* as the stacks first come */
};

enum calltree_weight { CALLTREE_VALUE, CALLTREE_SAMPLES };

struct calltree_options {
    event_id event; /* 0: the first one; in a differential profile event 2 */
    enum thread_style threads;
    struct label_style label;
    enum calltree_order order;
    enum calltree_weight weight;
    double min_share; /* nodes under this share of the total (0.0001) are left out */
};

struct calltree_node {
    uint32_t parent;    /* of the root: 0 */
    uint32_t end;       /* one past the last node of this subtree */
    uint32_t depth;     /* of the root: 0 */
    string_id label;    /* see calltree_label; of the root: 0 */
    frame_id frame;     /* one of the frames of that label; 0 for the root and threads */
    uint32_t elided_at; /* its place in the tree's `elided`; 0: none were left out */
    double self, total;
    double base_self, base_total; /* the same before, in a differential profile; else 0 */
};

/* The callees of one node that were left out for their size, all of them together. */
struct calltree_elided {
    uint32_t count;
    double total, base_total;
};

struct calltree {
    struct arena arena;
    struct paths paths; /* with the labels */
    struct calltree_node *nodes;
    size_t count;
    double
        *offsets; /* CALLTREE_BY_TIME, by node: what its caller weighs before it begins,
                        -1 for one that follows the node beside it; else NULL */
    struct calltree_elided *elided; /* [0] is "none" */
    size_t elided_count;
    uint32_t depth; /* the deepest node's */
    event_id event; /* whose weights these are; 0 when the profile has none */
    event_id base;  /* the event before, in a differential profile; else 0 */
};

/* Whose weights a view shows: the event asked for, else the first; in a differential
 * profile "after", with *base "before" (else 0). */
void calltree_events(const struct profile *p, const struct calltree_options *options,
                     event_id *event, event_id *base);

/* False when memory is short. The profile must outlive the tree. */
bool calltree_init(struct calltree *t, const struct profile *p,
                   const struct calltree_options *options, struct error *err);
void calltree_deinit(struct calltree *t);

static inline struct str calltree_label(const struct calltree *t, uint32_t node)
{
    return strings_get(&t->paths.labels, t->nodes[node].label);
}

static inline const struct calltree_elided *calltree_elided(const struct calltree *t,
                                                            uint32_t node)
{
    return &t->elided[t->nodes[node].elided_at];
}

/* Functions: the nodes of one label added up. `total` counts a stack once, however often
 * the label recurs in it. Complete only in a tree whose min_share is 0. */
struct function {
    string_id label;
    frame_id frame;
    double self, total, base_self, base_total;
};

/* One row per distinct label that is a frame's (threads are left out), in the order of
 * their first node. The rows are the tree's. NULL, with err set, when memory is short. */
struct function *calltree_functions(struct calltree *t, size_t *count, struct error *err);

#endif
