/* SPDX-License-Identifier: Apache-2.0 */
#include "os/regular_file.h"
#include "base/format.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

bool os_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int refuse(struct error *err, const char *path, int why, const char *text)
{
    error_set(err, "%s: %s", path, text);
    errno = why;
    return -1;
}

static int fail(struct error *err, const char *path)
{
    int why = errno;
    return refuse(err, path, why, strerror(why));
}

/* File systems whose files are kernel interfaces, although they look like regular
 * files. */
static bool is_system(int fd)
{
    static const unsigned long kinds[] = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC,        DEBUGFS_MAGIC,       TRACEFS_MAGIC,
        SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,
        PSTOREFS_MAGIC,   EFIVARFS_MAGIC,     SELINUX_MAGIC,       DEVPTS_SUPER_MAGIC,
        0x62656570 /* configfs, which has no constant in the header */};
    struct statfs system;
    if (fstatfs(fd, &system) != 0)
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((unsigned long)system.f_type == kinds[i])
            return true;
    return false;
}

/* Checks the file's path after all symbolic links, which the kernel's link to the open
 * file shows. */
static bool is_below(const char *link, const char *folder)
{
    char top[PATH_MAX], target[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0 || !realpath(folder, top))
        return false;
    struct str is = {target, (size_t)length}, below = str_of(top);
    if (str_equal(below, STR("/")))
        return true;
    return str_starts(is, below) && is.len > below.len && is.ptr[below.len] == '/';
}

/* Returns why the file is rejected, or NULL if it is not. */
static const char *reject_reason(int found, const char *link,
                                 const struct os_regular *options, const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return "rejected, it is a symbolic link";
    if (!S_ISREG(st->st_mode))
        return "not a regular file";
    if (!options->system && is_system(found))
        return "rejected, it is on a system file system (/proc, /sys, ...)";
    if ((uint64_t)st->st_size > OS_PLAIN_SIZE_MAX)
        return "rejected, it is too large";
    if (options->folder && !is_below(link, options->folder))
        return "rejected, it is outside the folder";
    return NULL;
}

/* Opens the file that was found, not whatever the path leads to now. */
static int open_found(int found, const char *link, int folder, const char *path)
{
    struct stat before, now;
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = open(link, flags);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    fd = openat(folder, path, flags | O_NOFOLLOW); /* /proc is not mounted */
    if (fd >= 0 && fstat(found, &before) == 0 && fstat(fd, &now) == 0 &&
        before.st_ino == now.st_ino && before.st_dev == now.st_dev)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = ENOENT;
    return -1;
}

int os_regular_open_at(int folder, const char *path, const struct os_regular *options,
                       struct stat *st, struct error *err)
{
    char link[64];
    int found =
        openat(folder, path, O_PATH | O_CLOEXEC | (options->no_link ? O_NOFOLLOW : 0));
    if (found < 0)
        return fail(err, path);
    format_text(link, sizeof link, "/proc/self/fd/%d", found);
    bool known = fstat(found, st) == 0;
    const char *fault = known ? reject_reason(found, link, options, st) : NULL;
    int fd = -1;
    if (fault)
        refuse(err, path, S_ISLNK(st->st_mode) ? ELOOP : EINVAL, fault);
    else if (!known || (fd = open_found(found, link, folder, path)) < 0)
        fail(err, path);
    int why = errno;
    close(found);
    errno = why;
    return fd;
}

int os_regular_open(const char *path, const struct os_regular *options, struct stat *st,
                    struct error *err)
{
    return os_regular_open_at(AT_FDCWD, path, options, st, err);
}

/* "/proc/stat", "/proc/net/dev", "/proc/123/cgroup": no link in these leads out of /proc. */
static bool is_of_proc(struct str path)
{
    size_t parts = 0;
    for (size_t i = 0; i < path.len; i++)
        parts += path.ptr[i] == '/';
    return str_starts(path, STR("/proc/")) && parts <= 3;
}

int os_proc_open(const char *path)
{
    struct stat st;
    struct error ignored;
    int fd = is_of_proc(str_of(path))
                 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)
                 : -1;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    return os_regular_open(path, &(struct os_regular){.system = true}, &st, &ignored);
}
