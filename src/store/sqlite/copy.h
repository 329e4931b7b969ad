/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of a database, written by a thread: a large one takes seconds, in which the caller
 * continues. Nobody else may use the source until it has ended. */
#ifndef STOKE_STORE_SQLITE_COPY_H
#define STOKE_STORE_SQLITE_COPY_H

#include "base/error.h"

struct sqlite3;
struct sqlite_copy;

/* Starts to write the file; an existing one of that name is replaced. NULL with err set on
 * failure. */
struct sqlite_copy *sqlite_copy_begin(struct sqlite3 *source, const char *path,
                                      struct error *err);

/* Waits until that time (os_clock_monotonic). Returns whether it has ended. */
bool sqlite_copy_wait(struct sqlite_copy *c, uint64_t until);

unsigned sqlite_copy_percent(struct sqlite_copy *c);

/* Waits for the end and frees it. Returns false with err set, and removes the file, if it is not
 * complete. */
bool sqlite_copy_end(struct sqlite_copy *c, struct error *err);

/* Ends it early, removes the file and frees it. */
void sqlite_copy_stop(struct sqlite_copy *c);

#endif
