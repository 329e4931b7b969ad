/* SPDX-License-Identifier: Apache-2.0 */
/* An input that only comes by (a pipe, an unpacked stream), kept so that it can be read
 * back and forth. */
#ifndef STOKE_OS_SPOOL_H
#define STOKE_OS_SPOOL_H

#include "base/source.h"

struct os_spool {
    void *map; /* NULL: nothing was kept */
    size_t size;
};

/* Reads the source to its end into a file without a name in $TMPDIR, else /var/tmp, and
 * makes *kept a source over all of it from `in`'s window on. The file is gone with
 * os_spool_free. False where the source cannot be read or the disk is full; *kept is then
 * untouched. */
bool os_spool_keep(struct os_spool *s, struct source *in, struct source *kept,
                   struct error *err);

void os_spool_free(struct os_spool *s); /* all zeros are allowed */

#endif
