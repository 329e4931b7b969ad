/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `perf report`: rows by keys, with call graphs below them. */
#ifndef STOKE_CLI_ROWS_H
#define STOKE_CLI_ROWS_H

#include "cli/options/tables.h"

#define ROWS_WORDS_MAX 64

/* --sort: keys, or, as for other tables, the column that rows are ordered by. */
struct rows_sort {
    enum breakdown_key keys[KEY_COUNT];
    unsigned count;
    int column; /* enum table_sort */
};

struct rows_graph {
    bool given;
    bool ordered; /* `order` was told; else it follows from --children */
    enum callgraph_order order;
    double percent; /* below 0: not told */
};

struct rows_words {
    struct str items[ROWS_WORDS_MAX];
    size_t count;
};

struct rows_settings {
    struct rows_sort sort;
    struct rows_graph graph;
    struct rows_words comms, dsos, symbols;
    int children; /* -1: not told, which is yes where the stacks have callers */
    bool stdio, samples, period, force;
};

#define ROWS_DEFAULTS                             \
    {                                             \
        .children = -1, .graph = {.percent = -1 } \
    }

extern const struct option rows_options[];

/* Whether rows by keys are asked for, by any of the options. */
bool rows_are_wanted(const struct rows_settings *s);

/* Checks what has to fit together. */
bool rows_check(const struct rows_settings *s, const struct tables_settings *tables,
                struct error *err);

/* Has kept what the keys need of the input. */
void rows_prepare(const struct rows_settings *s, struct load_settings *load);

/* The exporter's options for p; the settings must outlive them. `percent_limit` is below
 * 0 where it was not told. */
struct rows_options rows_choose(const struct rows_settings *s,
                                const struct tables_settings *tables,
                                const struct profile *p);

#endif
