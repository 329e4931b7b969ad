/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls whom: the calls between the functions of a call tree, each caller and callee
 * one call, and the part of them that is worth a picture.
 *
 * A stack counts once for a call, however often the call recurs in it; a function that
 * calls itself is a call as well. Threads call nothing. */
#ifndef STOKE_ANALYSIS_CALLS_H
#define STOKE_ANALYSIS_CALLS_H

#include "analysis/calltree.h"

struct call {
    string_id caller, callee; /* labels of the tree */
    double total, base_total; /* base: the same before, in a differential profile */
};

struct calls {
    struct arena arena;
    struct call *items; /* as they are first met in the tree */
    size_t count;
};

/* Complete only of a tree whose min_share is 0. False, with err set, when memory is
 * short; deinit in every case. */
bool calls_init(struct calls *c, const struct calltree *t, struct error *err);
void calls_deinit(struct calls *c);

/* What of it is shown. A share is of the total, 0.005; in a differential profile it is
 * enough to have had it before. */
struct call_limits {
    double function_share, call_share;
    size_t functions_most; /* 0: any number */
};

struct call_graph {
    struct calls all;
    struct function *functions; /* the heaviest first */
    struct call *calls;         /* between two of these, the heaviest first */
    size_t function_count, call_count;
    size_t functions_left, calls_left; /* out */
    double total, base_total;
};

/* Graph of a tree without a min_share, which must outlive it. As calls_init. */
bool call_graph_init(struct call_graph *g, struct calltree *t,
                     const struct call_limits *limits, struct error *err);
void call_graph_deinit(struct call_graph *g);

#endif
