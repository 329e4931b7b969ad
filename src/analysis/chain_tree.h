/* SPDX-License-Identifier: Apache-2.0 */
/* The call chains of one row of a breakdown: its callers or its callees, as a tree of
 * functions with their shares of the row.
 *
 * Callers: from the row's function up, the innermost if it recurses. Callees: in a breakdown
 * with `children` from the row's outermost function down to the leaves; stacks that end in
 * the row, and all of a breakdown without `children`, from the outermost function down to
 * the row's. `depth` limits the frames of a path, so the time per tree is proportional to
 * the nodes below the row's. Nothing recurses. */
#ifndef STOKE_ANALYSIS_CHAIN_TREE_H
#define STOKE_ANALYSIS_CHAIN_TREE_H

#include "analysis/breakdown.h"

enum chain_order { CHAINS_NONE, CHAINS_CALLER, CHAINS_CALLEE };

#define CHAIN_DEPTH 127 /* perf's limit for a stack */

struct chain_tree_options {
    /* caller: the row's function comes last; callee: first; as in perf */
    enum chain_order order;
    uint32_t depth;    /* frames of a path; 0: CHAIN_DEPTH */
    double min_weight; /* nodes with less weight are left out */
    double min_share;  /* and those with a smaller part of their parent's callees */
};

/* Nodes are in preorder, the largest sibling first; [0] is the row. */
struct chain_tree_node {
    uint32_t symbol; /* the breakdown's */
    uint32_t parent;
    uint32_t end;   /* one past the last node of its subtree */
    uint32_t depth; /* of those below [0]: 1 */
    double total;
    double
        below; /* the totals of its callees or callers, also of those that are left out */
};

/* Builds the trees of one breakdown, one after the other. */
struct chain_trees {
    struct arena arena;
    const struct breakdown *b;
    struct chain_tree_options o;
    /* by stack: the stack, or its caller at the maximum depth; or NULL */
    stack_id *cut;
    uint32_t *grown; /* by the breakdown's node: its node in the current tree */
    double *weights; /* by the breakdown's node, for the current tree */
    uint32_t *path;
};

/* False, with err set, when out of memory; deinit in every case. */
bool chain_trees_init(struct chain_trees *c, const struct breakdown *b,
                      const struct chain_tree_options *o, struct error *err);
void chain_trees_deinit(struct chain_trees *c);

/* The frames of the row's longest path. */
uint32_t chain_trees_depth(const struct chain_trees *c, uint32_t row);

struct chain_tree {
    struct arena arena;
    struct chain_tree_node *nodes;
    uint32_t count;
};

/* The tree of a row. False, with err set, when out of memory; deinit in every case. */
bool chain_tree_init(struct chain_tree *g, struct chain_trees *c, uint32_t row,
                     struct error *err);
void chain_tree_deinit(struct chain_tree *g);

/* True if the node directly follows its parent and has the whole weight of the
 * parent. */
bool chain_tree_is_chained(const struct chain_tree *g, uint32_t node);

static inline bool chain_tree_is_last(const struct chain_tree *g, uint32_t node)
{
    return g->nodes[node].end == g->nodes[g->nodes[node].parent].end;
}

#endif
