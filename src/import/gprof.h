/* SPDX-License-Identifier: Apache-2.0 */
/* Call graphs as gprof has them: functions with self time, and calls with a count, without
 * stacks. gprof.c and oprofile.c read them, gprof_stacks.c makes stacks of them. */
#ifndef STOKE_IMPORT_GPROF_H
#define STOKE_IMPORT_GPROF_H

#include "base/idmap.h"
#include "import/importer.h"

struct gprof_function {
    string_id name, file, module;
    uint32_t line;
    bool listed;         /* the file has its own row or block */
    uint32_t first_call; /* index of a call, or 0 */
    double self;         /* in the unit of the time */
    double called;       /* calls of it, by itself too, in its own row */
    double recursed;     /* part of these: calls by itself */
    double share;        /* its part of the total, with its callees; 0 if not stated */
    bool uncounted;      /* its row has no number of calls */
    double entered;      /* calls of it, or of its cycle, from outside; 0 if not stated */
};

struct gprof_call {
    uint32_t caller, callee, next; /* next: another call of the same caller, or 0 */
    double count;                  /* how often; 0 if unknown */
    double part; /* the callee's time is divided among its callers in proportion */
};

/* A call graph. It is empty if only `b`, `options`, `event`, `unit` and `stated` are
 * set. */
struct gprof {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct gprof_function *functions;                          /* [0] is unused */
    struct gprof_call *calls;                                  /* [0] is unused */
    size_t function_count, function_cap, call_count, call_cap; /* without [0] */
    struct idmap function_ids, call_ids;
    uint64_t bytes;    /* of the file */
    const char *event; /* of the time */
    enum unit unit;
    double stated;    /* the total that the file states, or negative */
    double precision; /* of a time in the file */
};

/* Finds or adds the function with that key. 0 if out of memory. */
uint32_t gprof_function(struct gprof *g, uint64_t key);

/* The same for a name as gprof writes it: "work <cycle 1> [4]", by its number if it has one. */
uint32_t gprof_function_named(struct gprof *g, struct str name);

/* Finds or adds the call. NULL if out of memory. */
struct gprof_call *gprof_call(struct gprof *g, uint32_t caller, uint32_t callee);

/* Adds stacks to the builder: an event for the time, and one for the calls. The sum of
 * the stacks that end in a function is exactly its self time, and its calls. Warns if
 * the sum of all is not the total that the file states. */
void gprof_add_stacks(struct gprof *g);

#endif
