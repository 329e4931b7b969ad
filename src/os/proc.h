/* SPDX-License-Identifier: Apache-2.0 */
/* Reads threads and processes of this machine from /proc. Ids are reused: the result is
 * that of the thread or process that has the id now. */
#ifndef STOKE_OS_PROC_H
#define STOKE_OS_PROC_H

#include "base/str.h"
#include <stdint.h>

/* Reads the name of a thread into `room`; empty if there is no such thread. */
struct str os_thread_name(uint32_t pid, uint32_t tid, char *room, size_t size);

/* The id of this process. */
uint32_t os_own_pid(void);

/* The process of a thread; 0 if there is no such thread. */
uint32_t os_thread_process(uint32_t tid);

/* The parent of a process; 0 if there is none. */
uint32_t os_process_parent(uint32_t pid);

/* Whether the kernel's name of the process, or the last part of the path by which it was
 * started, is `name`. */
bool os_process_is_named(uint32_t pid, struct str name);

/* The effective user of a process; false if there is no such process. */
bool os_process_user(uint32_t pid, uint32_t *user);

/* The same, and a number that another process with this id does not have: that of the kernel's
 * folder of the process, and when it was made. The kernel may make the folder of a process again
 * when memory is short. */
bool os_process_identity(uint32_t pid, uint32_t *user, uint64_t *identity);

/* The name of a user in /etc/passwd, else the number. Asks no name service, which may
 * block. */
struct str os_user_name(uint32_t user, char *room, size_t size);

/* Calls `each` for every current thread of the process; false if there are none, or
 * without permission. */
bool os_process_threads(uint32_t pid, void (*each)(void *context, uint32_t tid),
                        void *context);

#define OS_BUILD_ID_MAX 20

/* Whether the process has memory: it runs, and is not a zombie. */
bool os_process_runs(uint32_t pid);

/* A thread that leads to the memory of the process: the main one, unless it has ended before the
 * others. 0: there is none. */
uint32_t os_process_live_thread(uint32_t pid);

/* Whether the kernel filters its system calls (seccomp(2)); whether it is stopped, by a
 * signal or a debugger; whether its returns are checked (arch_prctl(2)). */
bool os_process_filters_calls(uint32_t pid);
bool os_process_is_stopped(uint32_t pid);
bool os_process_has_shadow_stack(uint32_t pid);

/* How many threads the process has; 0 if it does not exist. */
uint32_t os_process_thread_count(uint32_t pid);

/* Whether the process has that thread. */
bool os_thread_exists(uint32_t pid, uint32_t tid);

/* The path of this program's file; empty if it is unknown. */
struct str os_own_program(char *room, size_t size);

/* An executable mapping of a process. */
struct os_code {
    uint64_t start, end, offset;
    uint32_t protection, flags; /* PROT_*, MAP_SHARED or MAP_PRIVATE */
    uint32_t major, minor;
    uint64_t inode;
    struct str path; /* as in /proc/PID/maps; "//anon" if there is none */
    unsigned char build_id[OS_BUILD_ID_MAX];
    size_t build_id_size; /* 0: it was not requested, or is not known */
};

/* Calls `each` for every executable mapping of the thread's process, in order of
 * address; the path is valid during the call. If that is a main thread that has ended, another
 * thread is used. Returns their number; 0 if there is no
 * such thread, if it has no memory of its own, or without permission. */
size_t os_process_code(uint32_t pid, uint32_t tid,
                       void (*each)(void *context, const struct os_code *code),
                       void *context);

/* The same with build IDs, if the kernel returns them: it reads each file for that. */
size_t os_process_code_ids(uint32_t pid, uint32_t tid,
                           void (*each)(void *context, const struct os_code *code),
                           void *context);

#endif
