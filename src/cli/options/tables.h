/* SPDX-License-Identifier: Apache-2.0 */
/* The options of tables, which report and diff share, and what the terminal makes of
 * them. */
#ifndef STOKE_CLI_OPTIONS_TABLES_H
#define STOKE_CLI_OPTIONS_TABLES_H

#include "cli/options/view.h"
#include "export/table.h"

struct tables_settings {
    bool csv, json;
    int form; /* enum table_form, once prepared */
    int sort; /* enum table_sort */
    bool tree, callers;
    int64_t limit; /* 0: what fits the terminal; of what is no terminal, all */
    int64_t depth;
    double percent_limit; /* below 0: 0.5 for a tree, else none */
};

#define TABLES_DEFAULTS     \
    {                       \
        .percent_limit = -1 \
    }

extern const struct option tables_options[];

/* What --sort can be, in the order of enum table_sort. The option is each command's own.
 */
extern const char *const tables_sorts[];

/* Checks what has to fit together, and works out the form; turns stacks around where
 * callers are asked for. */
bool tables_prepare(struct tables_settings *s, struct view_settings *view,
                    struct error *err);

/* The exporter's options for p, written to the file of that name (NULL: standard output).
 */
struct table_options tables_choose(const struct tables_settings *s,
                                   const struct view_settings *view,
                                   const struct profile *p, const char *path);

#endif
