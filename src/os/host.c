/* SPDX-License-Identifier: Apache-2.0 */
#include "os/host.h"
#include "base/format.h"
#include "os/regular_file.h"
#include <errno.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)16 << 10) /* files of /proc are often smaller */

/* Appends the text of an open file from its beginning. */
static bool read_open(int fd, struct output *o)
{
    size_t begin = o->used;
    ssize_t got = 1;
    while (got > 0 && o->used - begin < OS_WHOLE_MAX && output_reserve(o, PIECE)) {
        do
            got = pread(fd, o->bytes + o->used, PIECE, (off_t)(o->used - begin));
        while (got < 0 && errno == EINTR);
        o->used += got > 0 ? (size_t)got : 0;
    }
    return got >= 0 && !o->failed;
}

bool os_read_whole(const char *path, struct output *o)
{
    int fd = os_proc_open(path);
    if (fd < 0)
        return false;
    bool ok = read_open(fd, o);
    close(fd);
    return ok;
}

/* The index of the file, which is opened; `count` if it is not. */
static size_t find_open(struct os_open_files *f, const char *path)
{
    size_t i = 0;
    while (i < f->count && strcmp(f->items[i].path, path) != 0)
        i++;
    if (i < f->count || i == OS_OPEN_FILES_MAX || strlen(path) >= sizeof f->items->path)
        return i < f->count ? i : f->count;
    int fd = os_proc_open(path);
    if (fd < 0)
        return f->count;
    format_text(f->items[i].path, sizeof f->items[i].path, "%s", path);
    f->items[i].file = fd;
    f->count++;
    return i;
}

bool os_open_files_read(struct os_open_files *f, const char *path, struct output *o)
{
    size_t begin = o->used, i = find_open(f, path);
    if (i < f->count) {
        if (read_open(f->items[i].file, o))
            return true;
        o->used = begin;
        close(f->items[i].file);
        f->items[i] = f->items[--f->count];
    }
    return os_read_whole(path, o);
}

void os_open_files_close(struct os_open_files *f)
{
    for (size_t i = 0; i < f->count; i++)
        close(f->items[i].file);
    f->count = 0;
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
