/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves symbolic links of files that are to be written, for os/file.c and
 * os/data_file.c. */
#ifndef STOKE_OS_LINK_H
#define STOKE_OS_LINK_H

#include "base/str.h"

/* What a path leads to. */
enum os_link_end {
    OS_LINK_NOTHING, /* nothing exists there, a file can be created */
    OS_LINK_FILE,    /* a regular file */
    OS_LINK_OTHER,   /* a folder, pipe, device, ... */
    OS_LINK_OPEN,    /* the kernel's link to an open file: /dev/stdout, /dev/fd/3 */
    OS_LINK_FOREIGN, /* a link that is not followed, because its creator is not trusted */
};

/* Resolves the links in `path`, which has room for `size` bytes. In a folder where
 * anyone can create links, only links of this user and of the folder's owner are
 * followed, like the kernel does with protected_symlinks. Returns 0 or an errno: ELOOP,
 * ENAMETOOLONG. */
int os_link_follow(char *path, size_t size, enum os_link_end *end);

/* The folder that contains the file. */
struct str os_link_folder(const char *path);

#endif
