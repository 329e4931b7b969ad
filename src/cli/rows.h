/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `perf report`: rows by keys, with call graphs below the rows. */
#ifndef STOKE_CLI_ROWS_H
#define STOKE_CLI_ROWS_H

#include "cli/options/tables.h"
#include "transform/transform.h"

#define ROWS_WORDS_MAX 64

struct rows_graph {
    bool given;
    bool ordered; /* `order` is given; otherwise it depends on --children */
    enum chain_order order;
    enum graph_style style;
    bool weights;
    int64_t branches; /* 0: all */
    double percent;   /* below 0: not given */
};

struct rows_words {
    struct str items[ROWS_WORDS_MAX];
    size_t count;
};

struct rows_settings {
    struct rows_columns sort, fields;
    int sort_column; /* of --sort, if it names no keys: enum table_sort */
    struct rows_graph graph;
    struct rows_words comms, dsos, symbols;
    struct number_set pids, tids;
    int children; /* -1: not given: true if the stacks have callers */
    int relative; /* of percentages: "absolute", "relative" */
    int64_t max_stack;
    uint64_t time_step; /* ns; 0: the default */
    int64_t group_sort; /* the event that sorts a group; -1: not given */
    const char *separator;
    struct transform_words parents; /* patterns, see transform/pattern.h */
    bool only_parents;
    uint16_t widths[ROWS_COLUMNS_MAX];
    bool stdio, samples, period, inverted, resolved, nanoseconds, full_paths;
    int group;     /* 1: all events; -1, not given: those recorded as a group; 0: none */
    bool branches; /* rows of branches */
    bool hierarchy;
    uint32_t joined; /* see struct rows_options */
};

#define ROWS_DEFAULTS                                                            \
    {                                                                            \
        .children = -1, .group = -1, .group_sort = -1, .graph = {.percent = -1 } \
    }

extern const struct option rows_options[];

/* True if any of the options requests rows by keys. */
bool rows_requested(const struct rows_settings *s);

/* Checks combinations of options. */
bool rows_check(const struct rows_settings *s, const struct tables_settings *tables,
                struct error *err);

/* Sets what `load` must retain for the keys. */
void rows_prepare(const struct rows_settings *s, struct load_settings *load);

/* True if p has what the keys need. */
bool rows_check_profile(const struct rows_settings *s, const struct profile *p,
                        struct error *err);

/* By frame of p: not 0 if it is a parent; NULL if that is not requested. `*parents` is in
 * the arena. False, with err set, when out of memory. */
bool rows_find_parents(const struct rows_settings *s, const struct profile *p,
                       struct arena *a, const uint32_t **parents, struct error *err);

/* By thread of p: whether its samples have rows; NULL if all have. As rows_find_parents;
 * also false if p has no such IDs. */
bool rows_find_threads(const struct rows_settings *s, const struct profile *p,
                       struct arena *a, const bool **threads, struct error *err);

/* Returns the exporter's options for p; the settings must outlive them. The percent_limit
 * of `tables` is below 0 if it is not given. */
struct rows_options rows_choose(const struct rows_settings *s,
                                const struct tables_settings *tables,
                                const struct profile *p);

#endif
