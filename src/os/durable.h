/* SPDX-License-Identifier: Apache-2.0 */
/* Small files that survive a crash of the process and of the machine. */
#ifndef STOKE_OS_DURABLE_H
#define STOKE_OS_DURABLE_H

#include "base/arena.h"
#include "base/error.h"

/* Writes a file that only its owner can read, and waits until its content and its name are on the
 * disk. After a failure or a crash the file is complete, or is as it was. `folder` is the folder
 * of the path. */
bool os_durable_write(const char *folder, const char *name, struct str bytes,
                      struct error *err);

/* Reads a regular file of at most `most` bytes into the arena. */
bool os_durable_read(const char *folder, const char *name, size_t most, struct arena *a,
                     struct str *bytes, struct error *err);

void os_durable_remove(const char *folder, const char *name);

#endif
