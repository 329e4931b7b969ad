/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups (cgroups(7)). */
#ifndef STOKE_OS_CGROUP_H
#define STOKE_OS_CGROUP_H

#include "base/error.h"

/* Opens a control group's folder, for os_perf_open_cgroup: by its path in the hierarchy
 * that counters know ("system.slice/ssh.service", or with a / before it, as
 * /proc/PID/cgroup has it), or by the folder's own path. Gives the handle; -1 with err
 * set where there is none. */
int os_cgroup_open(const char *path, struct error *err);
void os_cgroup_close(int cgroup); /* also 0 and -1, which are none */

#endif
