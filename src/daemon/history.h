/* SPDX-License-Identifier: Apache-2.0 */
/* Windows on their way to the store. While the store cannot be written, the newest
 * windows are retained and stored later, in order. */
#ifndef STOKE_DAEMON_HISTORY_H
#define STOKE_DAEMON_HISTORY_H

#include "engine/report.h"
#include "os/thread_pool.h"
#include "store/store.h"

#define DAEMON_PENDING_MAX 30                   /* windows in memory: 5 minutes */
#define DAEMON_PENDING_BYTES ((size_t)64 << 20) /* of them; the newest always stays */

/* What users see of it. */
struct daemon_store_state {
    bool failing;
    char error[512];                 /* why, while it fails */
    char done[STORE_DONE_SIZE];      /* what was last fixed; empty: nothing */
    uint64_t failing_since, done_at; /* ns since 1970 */
    uint64_t failures,
        fixed; /* since the daemon started; of fixed, with what it found then */
    uint64_t pending, dropped; /* windows: in memory now; lost since then */
};

struct daemon_history {
    struct store *store;
    struct store_limits limits;
    const struct engine_report *report;
    struct store_window pending[DAEMON_PENDING_MAX]; /* oldest first; owns the profiles */
    size_t pending_count;
    uint64_t dropped;  /* windows that were lost since the store failed */
    uint64_t retained; /* ns since 1970: the window after which the last retention was */
    bool is_direct;    /* daemon_history_store is used: callers have what is not stored */
    bool is_last; /* set by the caller: no window follows, so nothing is left for later */
    struct os_lock lock;
    struct daemon_store_state state; /* under the lock */
};

bool daemon_history_init(struct daemon_history *h); /* false when out of memory */

/* Opens the store. Reports what happened to it before, such as that its writer was killed. */
bool daemon_history_open(struct daemon_history *h, const char *location,
                         struct error *err);

/* Takes the window's profile, which may be NULL. Names and metrics must be valid until the
 * next call, which passes those again that are not stored. Fixes the store if it is not in
 * the last known state, and stores what is pending. Returns false and sets err if the
 * store cannot be written. */
bool daemon_history_add(struct daemon_history *h, const struct store_window *w,
                        struct error *err);

/* Stores the window, or fails: nothing of it is retained then. One thread at a time. */
bool daemon_history_store(struct daemon_history *h, const struct store_window *w,
                          uint64_t now, struct error *err);

/* For other threads. */
void daemon_history_state(struct daemon_history *h, struct daemon_store_state *state);
void daemon_history_deinit(struct daemon_history *h);

#endif
