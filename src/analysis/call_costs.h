/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a profile and the calls between them, with shares and, where the input
 * has them, numbers of calls.
 *
 * Samples have exact totals: a stack counts once for a function and for a call. Inputs that
 * are call graphs (gprof, callgrind, pstats) have self costs and calls instead. Their totals
 * are then distributed as gprof2dot does: a function's total is divided among its callers in
 * proportion to their calls, and functions that call each other are one function for the
 * totals of their callers. COSTS_CALL_RATIOS requests that for samples, too. Where the input
 * states the total of a function that calls itself, directly or not (pstats), or it is the sum
 * of stated costs (callgrind, but not with COSTS_CALL_RATIOS), its total and those of the
 * calls of it are these.
 *
 * Nothing recurses. */
#ifndef STOKE_ANALYSIS_CALL_COSTS_H
#define STOKE_ANALYSIS_CALL_COSTS_H

#include "analysis/calltree.h"

enum costs_method { COSTS_EXACT, COSTS_CALL_RATIOS };

#define COSTS_UNKNOWN (-1.0)

struct cost_function {
    struct str name;   /* with the kind as a word: "f (inlined)" */
    struct str module; /* without folders, or empty */
    struct str path;   /* of the module */
    struct str file;   /* or empty */
    double self, total, base_self, base_total;
    double called;       /* or COSTS_UNKNOWN */
    double samples;      /* that end in it; COSTS_UNKNOWN if calls are stated */
    double weight;       /* 0 to 1: for colours and limits */
    uint32_t first_call; /* a call, or 0 */
    uint32_t cycle; /* functions that call each other have the same number; 0: none */
    bool shown;
};

struct cost_call {
    uint32_t caller, callee;   /* functions */
    uint32_t next;             /* of the same caller, or 0 */
    double total;              /* or COSTS_UNKNOWN: part of a cycle */
    double base_total, passed; /* passed: by which the callee's total is divided */
    double stated;             /* total in the input, or COSTS_UNKNOWN */
    double count;              /* or COSTS_UNKNOWN */
    double weight;
    bool shown;
};

struct call_costs {
    struct arena arena;                          /* the graph and its texts */
    struct cost_function *functions;             /* [0] is unused */
    struct cost_call *calls;                     /* [0] is unused */
    size_t function_count, call_count, call_cap; /* with [0] */
    uint32_t cycle_count;
    double total, base_total;
    struct str event;
    enum unit unit;
    bool stated;  /* the input is a call graph */
    bool differs; /* with weights before */
};

/* Makes the graph of one event of the profile. Of options->label, only the addresses and
 * lines are used. False, with err set, when out of memory; call call_costs_deinit in
 * every case. */
bool call_costs_init(struct call_costs *c, const struct profile *p,
                     const struct calltree_options *options, enum costs_method method,
                     struct error *err);
void call_costs_deinit(struct call_costs *c);

/* Sets the weights before of functions and calls that have the same names in `before`, and
 * adds those that are only there. Shares are comparable, weights need not be: those of
 * `before` are scaled to the total of c. */
bool call_costs_compare(struct call_costs *c, const struct call_costs *before,
                        struct error *err);

/* Adds a call, or returns the one between these functions; NULL when out of memory. */
struct cost_call *call_costs_call(struct call_costs *c, struct idmap *ids,
                                  uint32_t caller, uint32_t callee);

/* Computes totals from self costs and the passed parts of calls (call_ratios.c). */
bool call_costs_distribute(struct call_costs *c, struct error *err);

/* --- What is shown ---------------------------------------------------------------- */

struct costs_limits {
    double function_share, call_share; /* of the total (0.005), before or after */
    const char *const
        *paths; /* only files below one of these, or modules that contain it */
    size_t path_count;
    const char *root, *leaf; /* globs: only functions reached from, or that reach, one */
    int64_t depth;           /* of calls from the root or to the leaf; negative: any */
    bool by_self;            /* weights are self costs relative to the largest one */
    bool only_more, only_less; /* only functions that grew, or that shrank */
    double tolerance;          /* shares that differ less are equal */
};

/* Sets `shown` and `weight`. False with err set if out of memory or a glob matches no
 * function. */
bool call_costs_choose(struct call_costs *c, const struct costs_limits *limits,
                       struct error *err);

/* Whether a glob of the user matches the name; "main (memtrail.py:950)" may also be written
 * as "main", or as gprof2dot writes it, "memtrail:950:main". */
bool call_costs_matches(struct str glob, struct str name);

/* Between 0 and 1; 1 without a total, as in gprof2dot. */
static inline double cost_share(double part, double all)
{
    double share = all > 0 ? part / all : 1;
    return share > 1 ? 1 : share > 0 ? share : 0;
}

#endif
