/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether a file that was found by its path is probably the recorded file.
 *
 * A build ID identifies a file. If the recording has none, a different inode, size,
 * date or machine suggests that it is another file. Its names are still used, but the
 * user gets a warning. */
#ifndef STOKE_RESOLVE_DOUBT_H
#define STOKE_RESOLVE_DOUBT_H

#include "resolve/object.h"

#define DOUBT_MAX 512 /* buffer size for the text */

/* Writes why the object's names may belong to another file, "PATH: ..."; returns false
 * and writes nothing if there is no reason to think so. Call it from one thread, after
 * the names were resolved. */
bool object_doubt(const struct object *o, const struct resolve_settings *s,
                  char room[DOUBT_MAX]);

#endif
