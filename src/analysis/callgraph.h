/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph of one row of a breakdown: who called it, or what it called, as a tree
 * of functions with their shares of the row.
 *
 * Callers: from the row's function up. Callees: in a breakdown with `children` from the
 * row's function down to what ran, in one without from the outermost function down to the
 * row's. A path is looked at for so many frames at most, so that a graph costs time in
 * proportion to the row's nodes. Nothing recurses. */
#ifndef STOKE_ANALYSIS_CALLGRAPH_H
#define STOKE_ANALYSIS_CALLGRAPH_H

#include "analysis/breakdown.h"

enum callgraph_order { CALLGRAPH_NONE, CALLGRAPH_CALLER, CALLGRAPH_CALLEE };

#define CALLGRAPH_DEPTH 127 /* perf's own bound of a stack */

struct callgraph_options {
    enum callgraph_order order; /* caller: what is called; callee: who calls, as perf */
    uint32_t depth;             /* frames of a path; 0: CALLGRAPH_DEPTH */
    double min_weight;          /* what is below it is left out */
};

/* Nodes lie in preorder, siblings the larger first; [0] stands for the row. */
struct callgraph_node {
    uint32_t symbol; /* the breakdown's */
    uint32_t parent;
    uint32_t end;   /* one past the last of its subtree */
    uint32_t depth; /* of those below [0]: 1 */
    double total;
};

/* A maker of call graphs of one breakdown, one after the other. */
struct callgraphs {
    struct arena arena;
    const struct breakdown *b;
    struct callgraph_options o;
    stack_id *cut;   /* by stack: it, or its caller at the bound of depth; or NULL */
    uint32_t *grown; /* by the breakdown's node: its node in the graph under way */
    uint32_t *path;
};

/* False, with err set, when memory is short; deinit in every case. */
bool callgraphs_init(struct callgraphs *c, const struct breakdown *b,
                     const struct callgraph_options *o, struct error *err);
void callgraphs_deinit(struct callgraphs *c);

struct callgraph {
    struct arena arena;
    struct callgraph_node *nodes;
    uint32_t count;
};

/* The graph of a row. False, with err set, when memory is short; deinit in every case. */
bool callgraph_init(struct callgraph *g, struct callgraphs *c, uint32_t row,
                    struct error *err);
void callgraph_deinit(struct callgraph *g);

/* Whether the node stands right below its parent, being all that the parent is. */
bool callgraph_is_chained(const struct callgraph *g, uint32_t node);

static inline bool callgraph_is_last(const struct callgraph *g, uint32_t node)
{
    return g->nodes[node].end == g->nodes[g->nodes[node].parent].end;
}

#endif
