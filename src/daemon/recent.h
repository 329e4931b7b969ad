/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of the current window, which the store does not have yet.
 *
 * The loop of the daemon publishes them while somebody asks for the newest samples; the
 * threads of the server read them. The first request finds none that are new enough: it waits
 * until all samples up to its time are published, for which the loop reads them more often. */
#ifndef STOKE_DAEMON_RECENT_H
#define STOKE_DAEMON_RECENT_H

#include "os/thread.h"
#include "store/store.h"

struct daemon_recent {
    struct os_lock lock;
    struct os_condition published;
    struct profile *profile; /* of BUILD_KEEP; NULL: none */
    uint64_t start;          /* the store has all that is earlier */
    uint64_t complete;       /* the profile has all samples before this time of day */
    uint64_t asked;          /* ns of the monotonic clock; 0: never */
    uint64_t awaited; /* requests wait until this time of day is complete; 0: none */
};

bool daemon_recent_init(struct daemon_recent *r); /* false when out of memory */
void daemon_recent_deinit(struct daemon_recent *r);

/* Whether a request waits. */
bool daemon_recent_is_awaited(struct daemon_recent *r);

/* Whether to publish now, if the samples before `complete` are known: a request waits for no
 * later ones; or, if none waits and a publication is due, somebody asked within the last 30 s. */
bool daemon_recent_is_needed(struct daemon_recent *r, uint64_t complete, bool due);

/* Takes the samples from `start` to `complete` and later; p may be NULL. */
void daemon_recent_publish(struct daemon_recent *r, struct profile *p, uint64_t start,
                           uint64_t complete);

/* Adds the samples of the span to the builder; the store has those before *start. Waits some
 * seconds at most if the last publication is too old. */
void daemon_recent_read(struct daemon_recent *r, const struct store_span *span,
                        struct builder *b, uint64_t *start);

#endif
