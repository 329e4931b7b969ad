/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to a file in a thread of its own, in the order of the calls. A write may wait for a disk,
 * or for a lock of the file system that a thread with little CPU time holds; the caller does not.
 * It waits only if 8 MiB are pending. */
#ifndef STOKE_OS_WRITE_BEHIND_H
#define STOKE_OS_WRITE_BEHIND_H

#include "base/error.h"
#include "base/str.h"

struct write_behind;

/* Both are called in the thread; after a failed write, cut(end) is called if the request says so.
 * Neither is called again after that. */
struct write_behind_target {
    void *context;
    bool (*write)(void *context, uint64_t offset, struct str bytes, struct error *err);
    void (*cut)(void *context, uint64_t end);
};

/* One part of what is written. */
struct write_request {
    uint64_t offset;
    struct str bytes;
    bool cuts; /* if it fails, the file ends at `offset` */
    uint64_t
        mark; /* 0: none; else write_behind_mark is this when all until here is written */
};

/* Starts the thread, which has no capabilities. NULL if the system starts none. */
struct write_behind *write_behind_start(const struct write_behind_target *target);

/* Copies the bytes. False, with the reason of the first failure, after any failed write. */
bool write_behind_add(struct write_behind *w, const struct write_request *request,
                      struct error *err);

/* Waits until all is written. */
bool write_behind_wait(struct write_behind *w, struct error *err);

/* The last mark until which all is written; waits for the writes before. */
uint64_t write_behind_mark(struct write_behind *w);

/* Waits until all is written, and ends the thread. False if a write failed and no call has returned
 * that before. NULL is allowed. */
bool write_behind_end(struct write_behind *w, struct error *err);

#endif
