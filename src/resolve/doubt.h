/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file that was found by its path is the one that was recorded.
 *
 * A build ID tells; where the recording has none, the file's inode, size and date, and
 * the machine, may tell that it is another. Its names are then still shown, and the user
 * is warned. */
#ifndef STOKE_RESOLVE_DOUBT_H
#define STOKE_RESOLVE_DOUBT_H

#include "resolve/object.h"

#define DOUBT_MAX 512 /* room for the text */

/* Writes why the object's names may be those of another file, "PATH: ..."; false, and
 * nothing, where there is no reason to think so. For one thread, once the names were
 * made. */
bool object_doubt(const struct object *o, const struct resolve_settings *s,
                  char room[DOUBT_MAX]);

#endif
