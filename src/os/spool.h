/* SPDX-License-Identifier: Apache-2.0 */
/* Copies an input that can only be read once (a pipe, an unpacked stream) to a
 * temporary file, so that it can be read at any offset. */
#ifndef STOKE_OS_SPOOL_H
#define STOKE_OS_SPOOL_H

#include "base/source.h"
#include "os/guard.h"

struct os_spool {
    struct os_guard *map; /* NULL: nothing was copied */
    size_t size;
};

/* Reads the source to its end into a file without a name in $TMPDIR, or else in
 * /var/tmp, and makes *copied a source over all of it from `in`'s window on.
 * os_spool_free deletes the file. Returns false if the source cannot be read or the
 * disk is full; *copied is then unchanged. */
bool os_spool_copy(struct os_spool *s, struct source *in, struct source *copied,
                   struct error *err);

void os_spool_free(struct os_spool *s); /* a zeroed struct is allowed */

#endif
