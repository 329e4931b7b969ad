/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups (cgroups(7)). */
#ifndef STOKE_OS_CGROUP_H
#define STOKE_OS_CGROUP_H

#include "base/error.h"
#include "base/str.h"

/* Opens the folder of a control group, for os_perf_open_cgroup. `path` is its path in
 * the hierarchy that counters use ("system.slice/ssh.service", or with a leading / as
 * in /proc/PID/cgroup), or the path of the folder itself. Returns the file descriptor,
 * or -1 with err set. */
int os_cgroup_open(const char *path, struct error *err);

enum os_cgroup_kind {
    OS_CGROUP_SERVICE, /* a unit of systemd; without suffix, a service */
    OS_CGROUP_CONTAINER, /* the start of an id (12 digits at least), or a name of LXC or nspawn */
};

/* Finds the control group of a service or container, and writes its path in the hierarchy to
 * `path`. `root` is the mount point of the hierarchy; NULL: those that counters use. False if there
 * is none, or if there are several. */
bool os_cgroup_find(enum os_cgroup_kind kind, const char *name, const char *root,
                    char *path, size_t size, struct error *err);

/* Reads a small file of an open control group, as os_read_text. */
struct str os_cgroup_read(int cgroup, const char *name, char *room, size_t size);

void os_cgroup_close(int cgroup); /* 0 and -1 are allowed and do nothing */

#endif
