/* SPDX-License-Identifier: Apache-2.0 */
/* The calls between the functions of a call tree, one for each pair of caller and callee,
 * and the graph of those that are worth showing.
 *
 * A stack counts once for a call, even if the call recurs in it. A recursive function is
 * its own callee. Threads are not callers. */
#ifndef STOKE_ANALYSIS_CALL_GRAPH_H
#define STOKE_ANALYSIS_CALL_GRAPH_H

#include "analysis/calltree.h"

/* Whether the label is INFERRED_MARK. A call graph has no node for it, because it would be the
 * caller of unrelated functions: calls connect the functions on both sides of it. */
bool calls_is_mark(const struct calltree *t, string_id label);

struct call {
    string_id caller, callee; /* labels of the tree */
    double total, base_total; /* base: the weight before, in a differential profile */
};

struct calls {
    struct arena arena;
    struct call *items; /* in the order of their first node */
    size_t count;
};

/* Complete only for a tree with min_share 0. False, with err set, when out of memory;
 * call calls_deinit in every case. */
bool calls_init(struct calls *c, const struct calltree *t, struct error *err);
void calls_deinit(struct calls *c);

/* Limits of the graph. A share is relative to the total (0.005); in a differential
 * profile, the weight before or after must reach it. */
struct call_limits {
    double function_share, call_share;
    size_t functions_most; /* 0: unlimited */
};

struct call_graph {
    struct calls all;
    struct function *functions; /* the heaviest first */
    struct call *calls;         /* between these functions, the heaviest first */
    size_t function_count, call_count;
    size_t functions_left, calls_left; /* omitted */
    double total, base_total;
};

/* Makes the graph of a tree with min_share 0, which must outlive it. Fails like
 * calls_init. */
bool call_graph_init(struct call_graph *g, struct calltree *t,
                     const struct call_limits *limits, struct error *err);
void call_graph_deinit(struct call_graph *g);

#endif
