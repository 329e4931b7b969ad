/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups (cgroups(7)). */
#ifndef STOKE_OS_CGROUP_H
#define STOKE_OS_CGROUP_H

#include "base/error.h"

/* Opens the folder of a control group, for os_perf_open_cgroup. `path` is its path in
 * the hierarchy that counters use ("system.slice/ssh.service", or with a leading / as
 * in /proc/PID/cgroup), or the path of the folder itself. Returns the file descriptor,
 * or -1 with err set. */
int os_cgroup_open(const char *path, struct error *err);
void os_cgroup_close(int cgroup); /* 0 and -1 are allowed and do nothing */

#endif
