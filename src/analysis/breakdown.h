/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of one event by keys, as in `perf report --sort`: a row for each distinct
 * combination of the keys' values: thread, CPU, module, function, source line.
 *
 * Keys of a frame refer to the leaf of the sample, for which self is counted. With
 * `children`, each frame of a stack counts for the total of its row, once per stack; so
 * callers get rows, too.
 *
 * Time and memory are proportional to the stacks and to the distinct callers of each
 * group of samples (one group if no key refers to the thread or CPU). Nothing
 * recurses. */
#ifndef STOKE_ANALYSIS_BREAKDOWN_H
#define STOKE_ANALYSIS_BREAKDOWN_H

#include "base/idmap.h"
#include "base/output.h"
#include "model/profile.h"

enum breakdown_key {
    KEY_COMM, /* the thread's name; without threads that of the outermost function */
    KEY_PID,
    KEY_TID,
    KEY_CPU,
    KEY_TIME,   /* in steps, see time_step */
    KEY_CGROUP, /* the label cgroup */
    KEY_PARENT, /* the innermost function of the stack that `parents` selects */
    KEY_DSO,    /* the last part of the path of the module */
    KEY_SYM, /* the function; functions of the same name in two modules are different */
    KEY_SRCFILE,
    KEY_SRCLINE,
    KEY_SYMBOL_SIZE, /* of the function, in bytes */
    /* Of branches (import_options.branches): a stack is the source, then the target. */
    KEY_SYM_FROM,
    KEY_SYM_TO,
    KEY_DSO_FROM,
    KEY_DSO_TO,
    KEY_MISPREDICT, /* these are labels of the samples */
    KEY_ABORT,
    KEY_IN_TX,
    KEY_CYCLES,
    KEY_COUNT,
};

/* Patterns of which one must match (glob.h); none: all names match. */
struct breakdown_words {
    const struct str *items;
    size_t count;
};

/* Samples that the filters exclude are in the total of the event, but in no row. */
struct breakdown_options {
    enum breakdown_key keys[KEY_COUNT]; /* each at most once */
    unsigned key_count;
    bool children;
    struct breakdown_words comms, dsos, symbols;
    bool resolved;           /* no rows of functions without a name, and none of their
                                samples in the total, as in perf */
    const uint32_t *parents; /* by frame: not 0 if it is selected; NULL: none */
    bool only_parents;       /* no rows of samples without a selected function */
    uint64_t time_step;      /* ns, of the key time; 0: 100 ms */
    bool addresses;          /* functions without a name are apart, by their addresses */
    bool nanoseconds;        /* times with 9 digits after the point */
    bool full_paths;         /* of source files, also in a short text */
    const bool *threads;     /* by thread: its samples have rows; NULL: those of all */
};

/* A combination of values, by key; 0 is "unknown". */
struct breakdown_values {
    uint64_t by_key[KEY_COUNT];
};

/* A function, as rows distinguish it. */
struct breakdown_symbol {
    string_id name;   /* 0: unknown; strings are the breakdown's */
    string_id module; /* the last part of its path; 0: unknown */
    char level;       /* 'k' kernel, 'g' guest, '.' other: shown in brackets before it */
};

/* A node of the stacks of one group. The nodes of a group are in preorder: callers before
 * callees, a subtree up to its `end`. */
struct breakdown_node {
    stack_id stack;  /* 0: samples without a stack */
    uint32_t parent; /* node; 0 for none */
    uint32_t end;
    uint32_t row;   /* the row whose call tree starts here; 0: none */
    uint32_t depth; /* the outermost frame has depth 1 */
    uint64_t samples;
    double self, total;
};

/* What a row has of one event. */
struct breakdown_figures {
    uint64_t samples;
    double self, total;
};

struct breakdown_row {
    uint32_t group, location; /* indexes into `groups` and `locations` */
    uint64_t samples;         /* samples that end in it */
    double self, total;       /* without `children`, total is self */
    uint32_t first, count;    /* its nodes: row_nodes[first...] */
};

/* Another event in the same rows. */
struct breakdown_other {
    event_id event;
    uint64_t samples;
    double total, left_out;
    struct breakdown_figures *rows; /* by row */
    size_t row_count;               /* later rows have no samples of this event */
};

/* For every table [0] is "none". */
struct breakdown {
    struct arena arena;
    const struct profile *p;
    const struct breakdown_options *o;
    event_id event;
    double total; /* of the event */
    uint64_t samples;
    double left_out;      /* the part of the total that is not the self value of a row */
    bool calls;           /* some stack has more than one frame */
    struct strings names; /* of modules and functions */
    struct idmap pids, tids; /* ID to the thread that has the name */
    struct breakdown_symbol *symbols;
    uint32_t *symbol_of_frame;
    struct breakdown_values *groups, *locations;
    struct breakdown_node *nodes;
    struct breakdown_row *rows;
    uint32_t *row_nodes, *order; /* order: indexes of rows, the largest first */
    uint32_t *location_of_stack; /* 0: the options exclude its frame */
    size_t symbol_count, group_count, location_count, node_count, row_count;
    struct breakdown_other *others; /* of breakdown_add_event */
    size_t other_count, other_cap, row_cap, group_cap;
    size_t sorted_by; /* the event that sorts rows: 0: `event`, n: others[n - 1] */
};

/* The key of that name; KEY_COUNT if there is none. */
enum breakdown_key breakdown_key_named(struct str name);

/* "comm", "dso". */
const char *breakdown_key_name(enum breakdown_key key);

/* True if the key needs source lines, or each sample separately. */
bool breakdown_key_needs_lines(enum breakdown_key key);
bool breakdown_key_needs_samples(enum breakdown_key key);

/* True if the key is one of branches; of functions, which have a level. */
bool breakdown_key_is_of_branch(enum breakdown_key key);
bool breakdown_key_is_symbol(enum breakdown_key key);

/* False, with err set, when out of memory; call breakdown_deinit in every case. The
 * profile and the options must outlive it. The struct must not be moved. */
bool breakdown_init(struct breakdown *b, const struct profile *p,
                    const struct breakdown_options *o, event_id event, struct error *err);
void breakdown_deinit(struct breakdown *b);

/* Adds the figures of another event to the rows, and rows for its samples if there are none.
 * False, with err set, when out of memory. */
bool breakdown_add_event(struct breakdown *b, event_id event, struct error *err);

/* Sorts the rows by the event of that number, at most b->other_count, then by the others. */
bool breakdown_sort(struct breakdown *b, size_t sorted_by, struct error *err);

/* The figures of a row for the event of that number; 0 is `event`. */
struct breakdown_figures breakdown_figures(const struct breakdown *b,
                                           const struct breakdown_row *row,
                                           size_t number);

/* Writes the value of a row: "server", "4211:server", "main.c:12", "[unknown]", "[other]" (no parent). `whole`:
 * full paths of source files, numbers without names. `o` must be a buffer. Writes no
 * brackets before a function. */
void breakdown_write(const struct breakdown *b, const struct breakdown_row *row,
                     enum breakdown_key key, bool whole, struct output *out);

/* The value of a row; 0 if unknown. For pid, tid, cpu and time: the number plus one. */
uint64_t breakdown_value(const struct breakdown *b, const struct breakdown_row *row,
                         enum breakdown_key key);

/* The same, but a function without a name has 0. */
uint64_t breakdown_known_value(const struct breakdown *b, const struct breakdown_row *row,
                               enum breakdown_key key);

/* The name of a function, or "[unknown]". */
struct str breakdown_symbol_name(const struct breakdown *b, uint32_t symbol);

#endif
