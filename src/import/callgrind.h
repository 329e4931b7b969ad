/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph of a callgrind file: functions with their own cost, and calls with the
 * cost of all that happens in them. callgrind.c reads it, callgrind_stacks.c makes stacks
 * of it. */
#ifndef STOKE_IMPORT_CALLGRIND_H
#define STOKE_IMPORT_CALLGRIND_H

#include "base/hash.h"
#include "base/idmap.h"
#include "import/importer.h"

#define CALLGRIND_EVENTS_MAX 32

struct callgrind_function {
    string_id name, file, module;
    string_id other_file; /* only called, without a file: its first caller's own file */
    bool defined;         /* it has an fn= line: it is not only called */
    uint32_t first_call;  /* call, or 0 */
    double self[CALLGRIND_EVENTS_MAX];
};

struct callgrind_call {
    uint32_t caller, callee, next; /* next call of the same caller, or 0 */
    double cost[CALLGRIND_EVENTS_MAX];
};

struct callgrind_event {
    string_id name;
    event_id event;
    double scale;
    double stated[2]; /* the file's "totals:" and "summary:", over all its parts */
};

struct callgrind {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct callgrind_function *functions; /* [0] is none */
    struct callgrind_call *calls;         /* [0] is none */
    size_t function_count, function_cap, call_count, call_cap;
    struct index function_index, call_index;
    struct callgrind_event events[CALLGRIND_EVENTS_MAX];
    size_t event_count;
    bool fractions; /* a cost is not a whole number */

    /* What index look-ups compare with. */
    struct callgrind_function wanted;
    uint32_t function, called; /* the one whose lines these are; its callee */
};

/* Adds the stacks of every event to the builder. Their sum is the sum of the functions'
 * own costs; where whole numbers are counted, each stack's weight is a whole number. */
void callgrind_add_stacks(struct callgrind *c);

#endif
