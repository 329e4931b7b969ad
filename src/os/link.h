/* SPDX-License-Identifier: Apache-2.0 */
/* Where the links lead that a file to be written is named by: shared by os/file.c and
 * os/data_file.c. */
#ifndef STOKE_OS_LINK_H
#define STOKE_OS_LINK_H

#include "base/str.h"

/* What is at the end of the links. */
enum os_link_end {
    OS_LINK_NOTHING, /* a file can be made there */
    OS_LINK_FILE,    /* a plain file */
    OS_LINK_OTHER,   /* a folder, pipe, device, ... */
    OS_LINK_OPEN,    /* the kernel's own link to what is open: /dev/stdout, /dev/fd/3 */
    OS_LINK_FOREIGN, /* a link that is not followed: whoever made it may not be trusted */
};

/* Makes `path`, which has room for `size` bytes, lead to no link. Where anybody may put
 * links, only one's own are followed, and those of whose the folder is: as the kernel has
 * it (protected_symlinks), where that is set. Gives 0, or an errno: ELOOP, ENAMETOOLONG.
 */
int os_link_follow(char *path, size_t size, enum os_link_end *end);

/* The folder that a file of that name is in. */
struct str os_link_folder(const char *path);

#endif
