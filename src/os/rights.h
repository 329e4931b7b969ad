/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of this process that are more than a user's (capabilities(7)). */
#ifndef STOKE_OS_RIGHTS_H
#define STOKE_OS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

/* What a recorder still needs once its counters are open. */
enum os_right {
    OS_RIGHT_COUNT = 1, /* open counters, of CPUs that come */
    OS_RIGHT_LOOK = 2,  /* look at others' processes and files, and at kernel addresses */
    OS_RIGHT_WRITE = 4, /* make files in others' folders */
    OS_RIGHT_END = 8,   /* end a program that runs as another user */
    OS_RIGHT_GIVE = 16, /* give files away to other users */
};

/* Gives up for good all rights but those, as far as there are any. */
void os_rights_keep(unsigned rights);

#endif
