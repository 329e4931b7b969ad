#include "os/data_file.h"
#include "base/format.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(const struct os_data_file *f, int why, struct error *err)
{
    error_set(err, "cannot write %s: %s", f->path, strerror(why));
    if (why == ENOSPC || why == EDQUOT)
        error_hint(err, "free some room, or write elsewhere with -o");
    return false;
}

/* What is there is kept under another name; but for a file without anything in it. */
static void keep_old(const char *path)
{
    char old[4128];
    struct stat st;
    if (lstat(path, &st) != 0)
        return;
    if (S_ISREG(st.st_mode) && st.st_size > 0) {
        format_text(old, sizeof old, "%s.old", path);
        rename(path, old);
    } else if (S_ISREG(st.st_mode)) {
        unlink(path);
    }
}

bool os_data_file_create(struct os_data_file *f, const char *path,
                         const struct os_person *owner, struct error *err)
{
    *f = (struct os_data_file){.fd = -1};
    size_t length = format_text(f->path, sizeof f->path, "%s", path);
    if (length + 1 >= sizeof f->path)
        return fail(f, ENAMETOOLONG, err);
    keep_old(path);
    f->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (f->fd < 0)
        return fail(f, errno, err);
    if (owner->other && fchown(f->fd, owner->user, owner->group) != 0)
        return true; /* then it is root's, as sudo has it */
    return true;
}

bool os_data_file_create_hidden(struct os_data_file *f, struct error *err)
{
    *f = (struct os_data_file){.fd = -1};
    const char *folder = getenv("TMPDIR");
    if (!folder || folder[0] != '/')
        folder = "/tmp";
    format_text(f->path, sizeof f->path, "a file in %s", folder);
    f->fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (f->fd < 0)
        return os_data_file_create_in_memory(f, err);
    format_text(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
    return true;
}

bool os_data_file_create_in_memory(struct os_data_file *f, struct error *err)
{
    *f = (struct os_data_file){.path = "a file in memory"};
    f->fd = memfd_create("stoke", MFD_CLOEXEC);
    if (f->fd < 0)
        return fail(f, errno, err);
    format_text(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
    return true;
}

bool os_data_file_write(struct os_data_file *f, uint64_t offset, struct str bytes,
                        struct error *err)
{
    while (bytes.len) {
        ssize_t put = pwrite(f->fd, bytes.ptr, bytes.len, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return fail(f, put < 0 ? errno : ENOSPC, err);
        bytes = str_skip(bytes, (size_t)put);
        offset += (uint64_t)put;
    }
    return true;
}

bool os_data_file_copy(struct os_data_file *f, uint64_t offset,
                       const struct os_data_file *other, uint64_t from, uint64_t size,
                       struct error *err)
{
    char room[65536];
    while (size) {
        size_t part = size < sizeof room ? (size_t)size : sizeof room;
        ssize_t got = pread(other->fd, room, part, (off_t)from);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_set(err, "cannot read %s: %s", other->path,
                             got < 0 ? strerror(errno) : "it ends too early");
        struct str bytes = {room, (size_t)got};
        if (!os_data_file_write(f, offset, bytes, err))
            return false;
        from += bytes.len;
        offset += bytes.len;
        size -= bytes.len;
    }
    return true;
}

void os_data_file_remove(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        unlink(path);
}

void os_data_file_cut(struct os_data_file *f, uint64_t size)
{
    if (ftruncate(f->fd, (off_t)size) != 0)
        return; /* what is too much stays: its reader finds the end */
}

bool os_data_file_close(struct os_data_file *f, struct error *err)
{
    int fd = f->fd;
    f->fd = -1;
    return fd < 0 || close(fd) == 0 || fail(f, errno, err);
}
