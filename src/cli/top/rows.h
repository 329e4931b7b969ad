/* SPDX-License-Identifier: Apache-2.0 */
/* The table of stoke top: a row for each function, and below it, where that is wanted,
 * who called it. */
#ifndef STOKE_CLI_TOP_ROWS_H
#define STOKE_CLI_TOP_ROWS_H

#include "analysis/callgraph.h"

enum top_sort { TOP_BY_SELF, TOP_BY_TOTAL, TOP_BY_NAME, TOP_BY_MODULE };
extern const char *const top_sorts[]; /* their names, and a NULL */

#define TOP_FILTER_MAX 64
#define TOP_MODULE_MAX 256

struct top_wanted {
    enum top_sort sort;
    char filter[TOP_FILTER_MAX]; /* part of a function's or a module's name; or empty */
    bool no_kernel, no_user;
    double least;                /* percent of all: functions with less are left out */
    char module[TOP_MODULE_MAX]; /* only its functions; or empty */
    bool expand_all;
    uint64_t expanded[32]; /* functions with their callers below, by top_row.key */
    size_t expanded_count;
};

struct top_row {
    struct str name, module;
    uint64_t key; /* of the function: the same from look to look */
    double self, total;
    unsigned depth; /* of a caller: how many calls away; of a function: 0 */
    char level;     /* 'k' of the kernel, 'g' of a guest, '.' others */
};

struct top_rows {
    struct arena arena;
    struct top_row *items;
    size_t count, cap;
    double total; /* of all samples */
};

/* Makes the rows of a profile (NULL: none). False, with err set, when memory is short;
 * deinit in every case. */
bool top_rows_init(struct top_rows *r, const struct profile *p,
                   const struct top_wanted *wanted, struct error *err);
void top_rows_deinit(struct top_rows *r);

#endif
