/* SPDX-License-Identifier: Apache-2.0 */
/* The options of tables, which report and diff share, and their defaults for a
 * terminal. */
#ifndef STOKE_CLI_OPTIONS_TABLES_H
#define STOKE_CLI_OPTIONS_TABLES_H

#include "cli/options/transforms.h"
#include "export/table.h"

struct tables_settings {
    bool csv, json;
    int form; /* enum table_form, set by tables_prepare */
    int sort; /* enum table_sort */
    bool tree, callers;
    int64_t limit; /* 0: as many as fit the terminal; all if the output is not one */
    int64_t depth;
    double percent_limit; /* below 0: 0.5 for a tree, otherwise 0 */
};

#define TABLES_DEFAULTS     \
    {                       \
        .percent_limit = -1 \
    }

extern const struct option tables_options[];

/* The values of --sort, in the order of enum table_sort. Each command has its own --sort
 * option. */
extern const char *const tables_sorts[];

/* Checks combinations of options, sets `form`, and requests reversed stacks for
 * --callers. */
bool tables_prepare(struct tables_settings *s, struct transforms_settings *t,
                    struct error *err);

/* Returns the exporter's options for p; `path` is the output file (NULL: standard
 * output). */
struct table_options tables_choose(const struct tables_settings *s,
                                   const struct transforms_settings *t,
                                   const struct profile *p, const char *path);

#endif
