/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that run on this machine: what /proc tells of them. A process is known by its
 * number, which is another's once it has ended: what is read here is of whoever has the
 * number now. */
#ifndef STOKE_OS_TASK_H
#define STOKE_OS_TASK_H

#include "base/str.h"
#include <stdint.h>

/* A thread's name, in `room`; empty where there is no such thread. */
struct str os_task_name(uint32_t pid, uint32_t tid, char *room, size_t size);

/* This process. */
uint32_t os_task_own(void);

/* The process of a thread; 0 where there is none. */
uint32_t os_task_process(uint32_t tid);

/* The parent of a process; 0 where there is none. */
uint32_t os_task_parent(uint32_t pid);

/* Calls for every thread that the process has now; false where it has none, or may not be
 * looked at. */
bool os_task_threads(uint32_t pid, void (*each)(void *context, uint32_t tid),
                     void *context);

#define OS_BUILD_ID_MAX 20

/* Memory of a process that holds code. */
struct os_code {
    uint64_t start, end, offset;
    uint32_t protection, flags; /* PROT_*, MAP_SHARED or MAP_PRIVATE */
    uint32_t major, minor;
    uint64_t inode;
    struct str path; /* as /proc/PID/maps has it, "//anon" where it has none */
    unsigned char build_id[OS_BUILD_ID_MAX];
    size_t build_id_size; /* 0 where the kernel does not tell */
};

/* Calls for all memory with code that the process of the thread has mapped, in order;
 * the path is good during the call. Gives how many; none where there is no such thread,
 * where it has no memory of its own, or where we may not look. */
size_t os_task_code(uint32_t pid, uint32_t tid,
                    void (*each)(void *context, const struct os_code *code),
                    void *context);

#endif
