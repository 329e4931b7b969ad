/* SPDX-License-Identifier: Apache-2.0 */
/* More facts of this machine: filesystems, the kernel's messages, local time, whole files
 * of /proc. */
#ifndef STOKE_OS_HOST_H
#define STOKE_OS_HOST_H

#include "base/output.h"

#define OS_WHOLE_MAX ((size_t)64 << 20)

/* Appends the text of a system file, up to OS_WHOLE_MAX bytes; false if it cannot be
 * read. */
bool os_read_whole(const char *path, struct output *o);

/* System files that are read regularly: they remain open, which saves most of the calls. */
#define OS_OPEN_FILES_MAX 16
struct os_open_files {
    struct {
        char path[40];
        int file;
    } items[OS_OPEN_FILES_MAX];
    size_t count;
};

/* The same as os_read_whole. A file beyond OS_OPEN_FILES_MAX is opened each time; one that cannot
 * be read any more is opened again. */
bool os_open_files_read(struct os_open_files *f, const char *path, struct output *o);
void os_open_files_close(struct os_open_files *f); /* all zeros are allowed */

struct os_space {
    uint64_t device;             /* identifies the filesystem */
    uint64_t size, used, usable; /* KiB; `usable` by other users than root */
};

/* The space of the filesystem at that path; false if it cannot be read. Waits for file
 * servers. */
bool os_space_read(const char *path, struct os_space *out);

/* Appends the kernel's messages, each with its priority; false without permission. */
bool os_kernel_messages(struct output *o);

struct os_local_time {
    unsigned year, month, day, hour, minute, second;
};

/* Local time of a time in ns since the epoch. */
struct os_local_time os_local_time(uint64_t time);

#endif
