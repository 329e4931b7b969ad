/* SPDX-License-Identifier: Apache-2.0 */
/* Windows on their way to the store. While the store cannot be written, the newest
 * windows are retained and stored later, in order. */
#ifndef STOKE_DAEMON_HISTORY_H
#define STOKE_DAEMON_HISTORY_H

#include "engine/report.h"
#include "store/store.h"

#define DAEMON_PENDING_MAX 30 /* windows in memory: 5 minutes */

struct daemon_history {
    struct store *store;
    struct store_limits limits;
    const struct engine_report *report;
    struct store_window pending[DAEMON_PENDING_MAX]; /* oldest first; owns the profiles */
    size_t pending_count;
    uint64_t dropped; /* windows that were lost since the store failed */
    bool failing;     /* the last attempt failed, and the user knows it */
};

/* Takes the window's profile, which may be NULL. Names and metrics must be valid until the
 * next call, which has those that are not stored again. Stores what is pending. Returns false and sets err if the store cannot be written. */
bool daemon_history_add(struct daemon_history *h, const struct store_window *w,
                        struct error *err);
void daemon_history_deinit(struct daemon_history *h);

#endif
