/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities of this process (capabilities(7)). */
#ifndef STOKE_OS_RIGHTS_H
#define STOKE_OS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

/* What a recorder still needs after it has opened its counters. */
enum os_right {
    OS_RIGHT_COUNT = 1,  /* open counters on CPUs that come online */
    OS_RIGHT_READ = 2,   /* read other processes and files, and kernel addresses */
    OS_RIGHT_WRITE = 4,  /* create files in folders of other users */
    OS_RIGHT_KILL = 8,   /* kill a process that runs as another user */
    OS_RIGHT_LOAD = 32,  /* load eBPF programs */
    OS_RIGHT_CHOWN = 16, /* change the owner of files */
    OS_RIGHT_FIRST = 64, /* give threads real-time priority */
};

/* Drops all capabilities of this thread except those, permanently. */
void os_rights_restrict(unsigned rights);

/* Drops those, permanently. */
void os_rights_drop(unsigned rights);

#endif
