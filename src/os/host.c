/* SPDX-License-Identifier: Apache-2.0 */
#include "os/host.h"
#include "os/regular_file.h"
#include <errno.h>
#include <sys/klog.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)16 << 10) /* files of /proc are often smaller */

bool os_read_whole(const char *path, struct output *o)
{
    size_t begin = o->used;
    ssize_t got = 1;
    int fd = os_proc_open(path);
    if (fd < 0)
        return false;
    while (got > 0 && o->used - begin < OS_WHOLE_MAX && output_reserve(o, PIECE)) {
        do
            got = read(fd, o->bytes + o->used, PIECE);
        while (got < 0 && errno == EINTR);
        o->used += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    return got >= 0 && !o->failed;
}

bool os_space_read(const char *path, struct os_space *out)
{
    struct statvfs s;
    struct stat st;
    if (stat(path, &st) != 0 || statvfs(path, &s) != 0)
        return false;
    uint64_t unit = s.f_frsize ? s.f_frsize : s.f_bsize;
    out->device = st.st_dev;
    out->size = s.f_blocks * unit / 1024;
    out->used = (s.f_blocks > s.f_bfree ? s.f_blocks - s.f_bfree : 0) * unit / 1024;
    out->usable = s.f_bavail * unit / 1024;
    return true;
}

/* The actions of syslog(2). */
enum { KERNEL_LOG_READ_ALL = 3, KERNEL_LOG_SIZE = 10 };

bool os_kernel_messages(struct output *o)
{
    int size = klogctl(KERNEL_LOG_SIZE, NULL, 0);
    if (size <= 0 || (size_t)size > OS_WHOLE_MAX || !output_reserve(o, (size_t)size))
        return false;
    int got = klogctl(KERNEL_LOG_READ_ALL, o->bytes + o->used, size);
    if (got > 0)
        o->used += (size_t)got;
    return got >= 0;
}

struct os_local_time os_local_time(uint64_t time)
{
    time_t seconds = (time_t)(time / 1000000000);
    struct tm t = {.tm_mday = 1};
    localtime_r(&seconds, &t);
    return (struct os_local_time){(unsigned)(t.tm_year + 1900), (unsigned)(t.tm_mon + 1),
                                  (unsigned)t.tm_mday,          (unsigned)t.tm_hour,
                                  (unsigned)t.tm_min,           (unsigned)t.tm_sec};
}
