/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree: the samples of one event of a profile, added up per path of labels.
 *
 * Nodes are in preorder: the subtree of a node is the range of nodes from itself to its
 * `end`, children in the requested order. Frames with the same label are one node. Node
 * 0 is the root, "all"; if threads are separate, they are its children.
 *
 * Time and memory are proportional to the distinct paths, with n log n to sort siblings.
 * Nothing recurses. */
#ifndef STOKE_ANALYSIS_CALLTREE_H
#define STOKE_ANALYSIS_CALLTREE_H

#include "analysis/paths.h"

enum calltree_order {
    CALLTREE_BY_NAME, /* bytewise */
    CALLTREE_BY_SIZE, /* the largest total first, then by name */
    CALLTREE_BY_TIME, /* in the order of the samples; a path that occurs again later is a new node */
    CALLTREE_AS_READ, /* in the order of the first stacks */
};

enum calltree_weight { CALLTREE_VALUE, CALLTREE_SAMPLES };

struct calltree_options {
    event_id event; /* 0: the first one; in a differential profile event 2 */
    enum thread_style threads;
    struct label_style label;
    enum calltree_order order;
    enum calltree_weight weight;
    double min_share; /* nodes below this share of the total (0.0001) are omitted */
    const uint8_t
        *idle; /* by frame: samples that it is the leaf of are left out; or NULL */
};

struct calltree_node {
    uint32_t parent;    /* of the root: 0 */
    uint32_t end;       /* one past the last node of this subtree */
    uint32_t depth;     /* of the root: 0 */
    string_id label;    /* see calltree_label; of the root: 0 */
    frame_id frame;     /* one of the frames of that label; 0 for the root and threads */
    uint32_t elided_at; /* its index in `elided`; 0: no callee was omitted */
    double self, total;
    double base_self,
        base_total; /* the weights before, in a differential profile; else 0 */
};

/* The omitted callees of a node, added up. */
struct calltree_elided {
    uint32_t count;
    double total, base_total;
};

struct calltree {
    struct arena arena;
    struct paths paths; /* with the labels */
    struct calltree_node *nodes;
    size_t count;
    double *
        offsets; /* CALLTREE_BY_TIME, by node: the weight of its caller before it starts, -1 for a node that follows its sibling; else NULL */
    struct calltree_elided *elided; /* [0] is "none" */
    size_t elided_count;
    uint32_t depth; /* the deepest node's */
    event_id event; /* the event of the weights; 0 if the profile has none */
    event_id base;  /* the event before, in a differential profile; else 0 */
};

/* Selects the event that a view shows: the requested one, else the default; in a
 * differential profile "after", with *base "before" (else 0). */
void calltree_events(const struct profile *p, const struct calltree_options *options,
                     event_id *event, event_id *base);

/* False when out of memory. The profile must outlive the tree. */
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

/* A function: the nodes of one label, added up. `total` counts a stack once, even if the
 * label recurs in it. Complete only in a tree with min_share 0. */
struct function {
    string_id label;
    frame_id frame;
    double self, total, base_self, base_total;
};

/* Returns one row per distinct label of frames (not of threads), in the order of their
 * first node. The tree owns the rows. NULL, with err set, when out of memory. */
struct function *calltree_functions(struct calltree *t, size_t *count, struct error *err);

#endif
