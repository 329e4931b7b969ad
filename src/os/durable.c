/* SPDX-License-Identifier: Apache-2.0 */
#include "os/durable.h"
#include "base/format.h"
#include "os/regular_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define PATH_SIZE 4200

static bool write_all(int fd, struct str bytes)
{
    while (bytes.len) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno != EINTR)
            return false;
        bytes = str_skip(bytes, n > 0 ? (size_t)n : 0);
    }
    return true;
}

/* A new name is on the disk when its folder is. */
static bool sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

bool os_durable_write(const char *folder, const char *name, struct str bytes,
                      struct error *err)
{
    char path[PATH_SIZE], temporary[PATH_SIZE];
    format_text(path, sizeof path, "%s/%s", folder, name);
    format_text(temporary, sizeof temporary, "%s/.%s.new", folder, name);
    unlink(temporary); /* of a process that was killed */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write_all(fd, bytes) && fsync(fd) == 0;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    ok = ok && rename(temporary, path) == 0 && sync_folder(folder);
    if (ok)
        return true;
    error_set(err, "cannot write '%s': %s", path, strerror(errno));
    unlink(temporary);
    return error_hint(err,
                      "check the permissions of the folder, and the space on the disk");
}

bool os_durable_read(const char *folder, const char *name, size_t most, struct arena *a,
                     struct str *bytes, struct error *err)
{
    char path[PATH_SIZE];
    struct stat st;
    format_text(path, sizeof path, "%s/%s", folder, name);
    int fd = os_regular_open(path, &(struct os_regular){.no_link = true}, &st, err);
    if (fd < 0)
        return false;
    bool fits = (uint64_t)st.st_size <= most;
    size_t size = fits ? (size_t)st.st_size : 0, used = 0;
    char *room = fits ? arena_alloc(a, size + 1) : NULL;
    ssize_t n = 1;
    while (room && used < size && n > 0) {
        n = read(fd, room + used, size - used);
        used += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    *bytes = (struct str){room ? room : "", used};
    if (!fits)
        return error_set(err, "'%s' is too large", path);
    return room ? used == size || error_set(err, "cannot read '%s'", path)
                : error_memory(err);
}

void os_durable_remove(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    format_text(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}
