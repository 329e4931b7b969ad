/* SPDX-License-Identifier: Apache-2.0 */
/* Targets from what users name: each thread and each CPU once. */
#ifndef STOKE_RECORD_TARGETS_H
#define STOKE_RECORD_TARGETS_H

#include "base/error.h"

/* Thread ids; start with all zeros, and free in any case. */
struct record_threads {
    uint32_t *items; /* ascending */
    size_t count, cap;
    bool failed;
};

/* Adds all current threads of the processes, and the named threads. False if a process does not
 * exist. */
bool record_threads_find(struct record_threads *t, const uint32_t *pids, size_t pid_count,
                         const uint32_t *tids, size_t tid_count, struct error *err);

/* Adds all current threads of the processes that these processes started, and that those started,
 * and so on, except this process and what it started. */
bool record_threads_of_descendants(struct record_threads *t, const uint32_t *pids,
                                   size_t pid_count, struct error *err);

/* Adds the processes of that name (os_process_is_named) to `pids`, except this one. False if there
 * are none. */
bool record_processes_named(struct record_threads *pids, struct str name,
                            struct error *err);

/* Adds all current threads of a user, given by name or number. */
bool record_threads_of_user(struct record_threads *t, const char *user,
                            struct error *err);
void record_threads_free(struct record_threads *t);

/* Adds the CPUs of a list, "0-3,8", to `cpus`, which has room for OS_CPUS_MAX and stays
 * ascending. False if the list is invalid, or this machine has no such CPU. */
bool record_cpus_add(struct str list, uint32_t *cpus, size_t *count, struct error *err);

#endif
