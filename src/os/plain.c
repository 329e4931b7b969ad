/* SPDX-License-Identifier: Apache-2.0 */
#include "os/plain.h"
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

/* File systems whose files are the kernel's interfaces, plain as they seem. */
static bool is_system(int fd)
{
    static const unsigned long kinds[] = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC,        DEBUGFS_MAGIC,       TRACEFS_MAGIC,
        SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,
        PSTOREFS_MAGIC,   EFIVARFS_MAGIC,     SELINUX_MAGIC,       DEVPTS_SUPER_MAGIC,
        0x62656570 /* configfs, which has no name in the header */};
    struct statfs system;
    if (fstatfs(fd, &system) != 0)
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((unsigned long)system.f_type == kinds[i])
            return true;
    return false;
}

/* The kernel's link to what was opened tells its place behind all symbolic links. */
static bool lies_below(const char *link, const char *folder)
{
    char top[PATH_MAX], place[PATH_MAX];
    ssize_t length = readlink(link, place, sizeof place - 1);
    if (length <= 0 || !realpath(folder, top))
        return false;
    struct str is = {place, (size_t)length}, below = str_of(top);
    if (str_equal(below, STR("/")))
        return true;
    return str_starts(is, below) && is.len > below.len && is.ptr[below.len] == '/';
}

/* What is wrong with what was found at the path; NULL for nothing. */
static const char *fault_of(int found, const char *link, const struct os_plain *how,
                            const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return "refused, it is a link";
    if (!S_ISREG(st->st_mode))
        return "not a regular file";
    if (!how->system && is_system(found))
        return "refused, it is a file of the system";
    if ((uint64_t)st->st_size > OS_PLAIN_SIZE_MAX)
        return "refused, it is too large";
    if (how->folder && !lies_below(link, how->folder))
        return "refused, it lies outside of the folder";
    return NULL;
}

/* Opens what was found, not what the path leads to by now. */
static int open_found(int found, const char *link, int folder, const char *path)
{
    struct stat before, now;
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = open(link, flags);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    fd = openat(folder, path, flags | O_NOFOLLOW); /* without /proc */
    if (fd >= 0 && fstat(found, &before) == 0 && fstat(fd, &now) == 0 &&
        before.st_ino == now.st_ino && before.st_dev == now.st_dev)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = ENOENT;
    return -1;
}

int os_plain_open_at(int folder, const char *path, const struct os_plain *how,
                     struct stat *st, struct error *err)
{
    char link[64];
    int found =
        openat(folder, path, O_PATH | O_CLOEXEC | (how->no_link ? O_NOFOLLOW : 0));
    if (found < 0)
        return fail(err, path);
    format_text(link, sizeof link, "/proc/self/fd/%d", found);
    bool known = fstat(found, st) == 0;
    const char *fault = known ? fault_of(found, link, how, st) : NULL;
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

int os_plain_open(const char *path, const struct os_plain *how, struct stat *st,
                  struct error *err)
{
    return os_plain_open_at(AT_FDCWD, path, how, st, err);
}
