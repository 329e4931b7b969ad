/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of the current window, which the store does not have yet.
 *
 * The loop of the daemon publishes them while somebody asks for the newest samples; the
 * threads of the server read them. */
#ifndef STOKE_DAEMON_RECENT_H
#define STOKE_DAEMON_RECENT_H

#include "os/thread_pool.h"
#include "store/store.h"

struct daemon_recent {
    struct os_lock lock;
    struct profile *profile; /* of BUILD_KEEP; NULL: none */
    uint64_t start;          /* the store has all that is earlier */
    uint64_t asked;          /* ns of the monotonic clock; 0: never */
};

bool daemon_recent_init(struct daemon_recent *r); /* false when out of memory */
void daemon_recent_deinit(struct daemon_recent *r);

/* Whether somebody asked within the last 30 s. */
bool daemon_recent_is_needed(struct daemon_recent *r);

/* Takes the samples from `start` on; p may be NULL. */
void daemon_recent_publish(struct daemon_recent *r, struct profile *p, uint64_t start);

/* Adds the samples of the span to the builder; the store has those before *start. */
void daemon_recent_read(struct daemon_recent *r, const struct store_span *span,
                        struct builder *b, uint64_t *start);

#endif
