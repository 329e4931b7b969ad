/* SPDX-License-Identifier: Apache-2.0 */
#include "os/cgroup.h"
#include "base/format.h"
#include <fcntl.h>
#include <unistd.h>

/* The mount points of the hierarchy that counters use: version 2 (unified or hybrid),
 * and version 1 (perf_event). */
static const char *const roots[] = {"/sys/fs/cgroup/perf_event/",
                                    "/sys/fs/cgroup/unified/", "/sys/fs/cgroup/"};

/* Returns true if the open folder is a control group. */
static bool is_group(int fd)
{
    return faccessat(fd, "cgroup.procs", F_OK, 0) == 0;
}

static int open_group(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || is_group(fd))
        return fd;
    close(fd);
    return -1;
}

int os_cgroup_open(const char *path, struct error *err)
{
    char whole[4096];
    int fd = path[0] == '/' ? open_group(path) : -1;
    for (size_t i = 0; fd < 0 && i < sizeof roots / sizeof *roots; i++) {
        format_text(whole, sizeof whole, "%s%s", roots[i], path + (path[0] == '/'));
        fd = open_group(whole);
    }
    if (fd >= 0)
        return fd;
    error_set(err, "no such control group: '%s'", path);
    error_hint(err, "/proc/PID/cgroup shows that of a process, after 0::");
    return -1;
}

void os_cgroup_close(int cgroup)
{
    if (cgroup > 0)
        close(cgroup);
}
