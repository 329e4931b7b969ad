/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph of a callgrind file, or of another format without stacks: functions
 * with their self cost, and calls with their total cost. callgrind.c reads it,
 * callgrind_graph.c adds to it, callgrind_recursion.c finds totals of functions that recur,
 * callgrind_stacks.c makes stacks of it. */
#ifndef STOKE_IMPORT_CALLGRIND_H
#define STOKE_IMPORT_CALLGRIND_H

#include "base/hash.h"
#include "base/idmap.h"
#include "import/importer.h"

#define CALLGRIND_EVENTS_MAX 32

struct callgrind_function {
    string_id name, file, module;
    uint32_t line; /* or 0 */
    string_id
        other_file;      /* without an fn= line and a file: its first caller's own file */
    bool defined;        /* it has an fn= line */
    uint32_t first_call; /* index of a call, or 0 */
    double total;        /* of the first event, with its callees; 0: not stated */
    bool summed;         /* the total is that of its self cost and its calls */
    double called;       /* how often, in its own row; 0: the sum of the calls */
    double self[CALLGRIND_EVENTS_MAX];
};

struct callgrind_call {
    uint32_t caller, callee, next; /* next: the next call of the same caller, or 0 */
    double count;                  /* how often; 0 if unknown */
    double cost[CALLGRIND_EVENTS_MAX];
};

struct callgrind_event {
    string_id name;
    event_id event;
    double scale;
    double stated[2]; /* the file's "totals:" and "summary:", summed over all parts */
};

struct callgrind {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct callgrind_function *functions; /* [0] is unused */
    struct callgrind_call *calls;         /* [0] is unused */
    size_t function_count, function_cap, call_count, call_cap;
    struct index function_index, call_index;
    struct callgrind_event events[CALLGRIND_EVENTS_MAX];
    size_t event_count;
    uint64_t bytes;      /* of the file */
    uint64_t calls_read; /* calls, during the walk, of all events */
    bool fractions;      /* a cost is not an integer */
    bool exact_self;     /* the self cost of every function is exact, even where functions
                        call each other; their total cost may then differ */
    bool keeps_called;   /* a function without a self cost has that of its calls */

    /* The key of an index look-up. */
    struct callgrind_function key;
    uint32_t function, called; /* the current function, and its callee */
};

/* A graph without functions, calls and events. */
#define CALLGRIND_GRAPH(builder, import_options)     \
    ((struct callgrind){.b = (builder),              \
                        .options = (import_options), \
                        .function_count = 1,         \
                        .call_count = 1})

/* Finds or adds the function with that name, file and module. 0 if out of memory. */
uint32_t callgrind_function_of(struct callgrind *c, string_id name, string_id file,
                               string_id module);

/* Finds it, or 0. */
uint32_t callgrind_function_find(struct callgrind *c, string_id name, string_id file,
                                 string_id module);

/* Finds or adds the call from c->function to c->called. NULL if out of memory. It is
 * valid until the next call is added. */
struct callgrind_call *callgrind_call_of(struct callgrind *c);

/* Sets the totals of the functions, if the names distinguish nested calls (f'2). */
void callgrind_state_totals(struct callgrind *c);

/* Adds the calls, and the stacks of every event, to the builder. The sum of the stacks
 * equals the sum of the functions' self costs. If all costs are integers, each stack's
 * weight is an integer. If every sample has the weight 1, the calls would not fit the
 * stacks, and are left out. */
void callgrind_add_stacks(struct callgrind *c);

#endif
