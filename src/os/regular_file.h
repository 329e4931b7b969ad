/* SPDX-License-Identifier: Apache-2.0 */
/* Opens regular files that a recording, a profile or a folder names.
 *
 * Opening some files has side effects: a watchdog device starts to count, a named pipe
 * blocks, a tape rewinds, /proc/kmsg consumes messages. So the path is first resolved
 * with O_PATH, which opens nothing, and only a regular file of a reasonable size is
 * opened for reading. All such files must be opened here; os_input_open is for names
 * that the user types. */
#ifndef STOKE_OS_REGULAR_FILE_H
#define STOKE_OS_REGULAR_FILE_H

#include "base/error.h"
#include <sys/stat.h>

/* Larger files are rejected: the largest debug files of browsers have 10 GB. */
#define OS_PLAIN_SIZE_MAX ((uint64_t)64 << 30)

struct os_regular {
    bool no_link; /* the last part of the path must not be a symbolic link */
    bool system;  /* files of /proc, /sys and so on are allowed */
    /* the file must be below this folder after resolving links; NULL: anywhere */
    const char *folder;
};

bool os_is_folder(const char *path);

/* Opens the file for reading, without blocking; the caller closes it. Returns -1
 * with errno and err set if it does not exist, is not a regular file, or violates
 * `options`. */
int os_regular_open(const char *path, const struct os_regular *options, struct stat *st,
                    struct error *err);

/* The same for a path that this program chose itself, of a file of /proc. Such a file is not
 * replaced by another one, so that it needs fewer calls if its name leads nowhere else. */
int os_proc_open(const char *path);

/* The same for a path relative to the open folder. */
int os_regular_open_at(int folder, const char *path, const struct os_regular *options,
                       struct stat *st, struct error *err);

#endif
