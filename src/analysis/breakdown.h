/* SPDX-License-Identifier: Apache-2.0 */
/* A profile's samples of one event broken down by keys, as `perf report --sort` does: a
 * row for every distinct combination of what the keys ask for, of the thread, the CPU,
 * the module, the function, the source line.
 *
 * Keys of a frame are those of the sample's own function, its leaf, where self is
 * counted. With `children` every frame of a stack counts to its row's total, once however
 * often the row recurs in the stack; rows of callers come in that way.
 *
 * Building takes time and memory in proportion to the stacks and to the distinct callers
 * of each group of samples (one where no key is of the thread or CPU). Nothing recurses.
 */
#ifndef STOKE_ANALYSIS_BREAKDOWN_H
#define STOKE_ANALYSIS_BREAKDOWN_H

#include "base/idmap.h"
#include "base/output.h"
#include "model/profile.h"

enum breakdown_key {
    KEY_COMM, /* the thread's name; without threads the outermost function's */
    KEY_PID,
    KEY_TID,
    KEY_CPU,
    KEY_DSO, /* the module, by the last part of its path */
    KEY_SYM, /* the function; those of one name in two modules are two */
    KEY_SRCFILE,
    KEY_SRCLINE,
    KEY_COUNT,
};

/* Names of which one must match (glob.h); none: all do. */
struct breakdown_words {
    const struct str *items;
    size_t count;
};

/* What the words leave out is in the event's total, and in no row. */
struct breakdown_options {
    enum breakdown_key keys[KEY_COUNT]; /* each at most once */
    unsigned key_count;
    bool children;
    struct breakdown_words comms, dsos, symbols;
};

/* A combination of values, by key; 0 is "not known". */
struct breakdown_values {
    uint64_t by_key[KEY_COUNT];
};

/* A function as the rows tell it apart. */
struct breakdown_symbol {
    string_id name;   /* 0: unknown; strings are the breakdown's */
    string_id module; /* the last part of its path; 0: unknown */
    char level;       /* 'k' kernel, 'g' guest, '.' the rest: in brackets before it */
};

/* A place in the stacks of one group. A group's nodes lie in preorder: callers before
 * their callees, a subtree up to its `end`. */
struct breakdown_node {
    stack_id stack;  /* 0: samples without a stack */
    uint32_t parent; /* node; 0 for none */
    uint32_t end;
    uint32_t row;   /* whose call graph begins here; 0: none */
    uint32_t depth; /* of the outermost frame: 1 */
    uint64_t samples;
    double self, total;
};

struct breakdown_row {
    uint32_t group, place; /* in `groups` and `places` */
    uint64_t samples;      /* that end in it */
    double self, total;    /* total without `children`: as self */
    uint32_t first, count; /* its nodes: row_nodes[first...] */
};

/* For every table [0] is "none". */
struct breakdown {
    struct arena arena;
    const struct profile *p;
    const struct breakdown_options *o;
    event_id event;
    double total; /* of the event */
    uint64_t samples;
    double left_out;         /* the part of the total that is in no row's self */
    bool calls;              /* there are stacks of more than one frame */
    struct strings names;    /* of modules and functions */
    struct idmap pids, tids; /* to threads that the numbers are called after */
    struct breakdown_symbol *symbols;
    uint32_t *symbol_of_frame;
    struct breakdown_values *groups, *places;
    struct breakdown_node *nodes;
    struct breakdown_row *rows;
    uint32_t *row_nodes, *order; /* order: row numbers, the largest first */
    size_t symbol_count, group_count, place_count, node_count, row_count;
};

/* The key of that name, by perf's names and ours; KEY_COUNT where there is none. */
enum breakdown_key breakdown_key_named(struct str name);

/* "comm", "dso". */
const char *breakdown_key_name(enum breakdown_key key);

/* Whether the key needs source lines, or every sample by itself, to be read. */
bool breakdown_key_needs_lines(enum breakdown_key key);
bool breakdown_key_needs_samples(enum breakdown_key key);

/* False, with err set, when memory is short; deinit in every case. The profile and the
 * options must outlive it. It is not to be moved. */
bool breakdown_init(struct breakdown *b, const struct profile *p,
                    const struct breakdown_options *o, event_id event, struct error *err);
void breakdown_deinit(struct breakdown *b);

/* The value of a row as text: "server", "4211:server", "main.c:12", "[unknown]" where it
 * is not known. `whole`: paths of source files whole, numbers alone. The output keeps
 * what is written. Without the brackets before a function. */
void breakdown_write(const struct breakdown *b, const struct breakdown_row *row,
                     enum breakdown_key key, bool whole, struct output *out);

/* The row's value; 0 where it is not known. Of pid, tid and cpu: the number plus one. */
uint64_t breakdown_value(const struct breakdown *b, const struct breakdown_row *row,
                         enum breakdown_key key);

/* A function's name; "[unknown]" for none. */
struct str breakdown_symbol_name(const struct breakdown *b, uint32_t symbol);

#endif
