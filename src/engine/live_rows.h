/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a live profile: a row per function, and below it, on request, its callers.
 */
#ifndef STOKE_ENGINE_LIVE_ROWS_H
#define STOKE_ENGINE_LIVE_ROWS_H

#include "analysis/chain_tree.h"

/* What a row is. */
enum live_group {
    LIVE_FUNCTIONS,
    LIVE_PROCESSES, /* this one and the others: live_tasks.h */
    LIVE_THREADS,
    LIVE_SERVICES,
    LIVE_CONTAINERS
};
extern const char *const live_groups[]; /* their names, and a NULL */

/* Functions have no ready and no waits, the others no total and no module. */
enum live_sort {
    LIVE_BY_SELF,
    LIVE_BY_TOTAL,
    LIVE_BY_NAME,
    LIVE_BY_MODULE,
    LIVE_BY_READY,
    LIVE_BY_WAITS
};
extern const char *const live_sorts[]; /* their names, and a NULL */

#define LIVE_FILTER_MAX 64
#define LIVE_MODULE_MAX 256

/* Selection and order of rows. All zero: every function, by self. */
struct live_request {
    enum live_group by;
    enum live_sort sort;
    char filter
        [LIVE_FILTER_MAX]; /* a part of function or module, ignoring case; or empty */
    bool no_kernel, no_user;
    /* minimum of a function's total, in percent of the total weight */
    double min_percent;
    char module[LIVE_MODULE_MAX]; /* only functions of this module; or empty */
    bool expand_all;
    uint64_t expanded[32]; /* live_row.key of the rows whose callers or parts are shown */
    size_t expanded_count;
};

struct live_row {
    struct str name, module;
    uint64_t key;       /* of the function or task: the same after every refresh */
    double self, total; /* in the unit of the event */
    double ready,
        waits; /* of tasks: part of the last interval, of all threads; -1: unknown */
    /* 0: a function; else a caller, and the number of calls between them. Of tasks: the number of
     * rows that it is part of */
    unsigned depth;
    char
        mark; /* of tasks: '+' the parts are not shown, '-' they are, ' ' there are none */
    char level; /* 'k': of the kernel, 'g': of a guest, '.': others */
};

struct live_rows {
    struct arena arena;
    struct live_row *items;
    size_t count, cap;
    double total; /* of all samples */
};

/* Makes the rows of a profile; NULL: none. Returns false and sets err if memory is
 * short. Deinit it in either case. The rows do not refer to the profile. */
bool live_rows_init(struct live_rows *r, const struct profile *p,
                    const struct live_request *request, struct error *err);
void live_rows_deinit(struct live_rows *r);

/* Whether the request wants the parts of the row with that key. */
bool live_rows_expanded(const struct live_request *request, uint64_t key);

/* Whether the text contains the part, ignoring the case of ASCII letters. */
bool live_rows_has_part(struct str text, const char *part);

/* Adds a row, which is zero; NULL if memory is short. */
struct live_row *live_rows_add(struct live_rows *r);

#endif
