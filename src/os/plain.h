/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a file that a recording, a profile or a folder names.
 *
 * Opening some files does something: a watchdog device starts to count, a pipe waits, a
 * tape rewinds, /proc/kmsg takes messages away. So the path is resolved with O_PATH first,
 * which opens nothing, and only what turns out to be a plain file of a reasonable size is
 * opened to be read. The only way to open such a file: os_input_open is for names that the
 * user types. */
#ifndef STOKE_OS_PLAIN_H
#define STOKE_OS_PLAIN_H

#include "base/error.h"
#include <sys/stat.h>

/* Larger files are refused: the largest debug files of browsers have 10 GB. */
#define OS_PLAIN_SIZE_MAX ((uint64_t)64 << 30)

struct os_plain {
    bool no_link;       /* the path's last part must not be a symbolic link */
    bool system;        /* files of /proc, /sys and the like are allowed */
    const char *folder; /* the file must lie below it, behind all links; NULL: anywhere */
};

bool os_is_folder(const char *path);

/* Opens it to be read, without waiting; the caller closes it. -1, with errno and err set,
 * where it is not there, is no plain file, or is not what `how` allows. */
int os_plain_open(const char *path, const struct os_plain *how, struct stat *st,
                  struct error *err);

/* The same for a path below the open folder. */
int os_plain_open_at(int folder, const char *path, const struct os_plain *how,
                     struct stat *st, struct error *err);

#endif
