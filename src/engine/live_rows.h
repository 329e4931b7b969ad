/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a live profile: a row per function, and below it, on request, its callers.
 */
#ifndef STOKE_ENGINE_LIVE_ROWS_H
#define STOKE_ENGINE_LIVE_ROWS_H

#include "analysis/chain_tree.h"

enum live_sort { LIVE_BY_SELF, LIVE_BY_TOTAL, LIVE_BY_NAME, LIVE_BY_MODULE };
extern const char *const live_sorts[]; /* their names, and a NULL */

#define LIVE_FILTER_MAX 64
#define LIVE_MODULE_MAX 256

/* Selection and order of rows. All zero: every function, by self. */
struct live_request {
    enum live_sort sort;
    char filter
        [LIVE_FILTER_MAX]; /* a part of function or module, ignoring case; or empty */
    bool no_kernel, no_user;
    /* minimum of a function's total, in percent of the total weight */
    double min_percent;
    char module[LIVE_MODULE_MAX]; /* only functions of this module; or empty */
    bool expand_all;
    uint64_t expanded[32]; /* live_row.key of the functions whose callers are shown */
    size_t expanded_count;
};

struct live_row {
    struct str name, module;
    uint64_t key;       /* of the function: the same after every refresh */
    double self, total; /* in the unit of the event */
    /* 0: a function; else a caller, and the number of calls between them */
    unsigned depth;
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

#endif
