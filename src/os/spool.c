/* SPDX-License-Identifier: Apache-2.0 */
#include "os/spool.h"
#include "base/format.h"
#include "os/guard.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static bool fail(struct error *err, const char *folder, int why)
{
    error_set(err, "cannot buffer the input in %s: %s", folder, strerror(why));
    return error_hint(err, "name the unpacked file itself, or set TMPDIR to a folder "
                           "with room for it");
}

/* Creates a file without a name; not every file system supports O_TMPFILE. */
static int open_unnamed(const char *folder)
{
    char path[4096];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (format_text(path, sizeof path, "%s/stoke-XXXXXX", folder) + 1 >= sizeof path)
        return -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static bool write_all(int fd, struct str bytes)
{
    while (bytes.len) {
        ssize_t put = write(fd, bytes.ptr, bytes.len);
        if (put < 0 && errno != EINTR)
            return false;
        bytes = str_skip(bytes, put > 0 ? (size_t)put : 0);
    }
    return true;
}

static bool copy(struct os_spool *s, int fd, struct source *in, const char *folder,
                 struct error *err)
{
    for (;;) {
        struct str bytes = str_span(in->begin, in->end);
        if (!write_all(fd, bytes))
            return fail(err, folder, errno);
        s->size += bytes.len;
        if (in->last)
            return true;
        if (!source_more(in, in->end, err))
            return false;
    }
}

bool os_spool_copy(struct os_spool *s, struct source *in, struct source *copied,
                   struct error *err)
{
    const char *folder = getenv("TMPDIR");
    uint64_t offset = in->offset;
    if (!folder || !folder[0])
        folder = "/var/tmp";
    *s = (struct os_spool){0};
    int fd = open_unnamed(folder);
    if (fd < 0)
        return fail(err, folder, errno);
    bool ok = copy(s, fd, in, folder, err);
    if (ok && s->size) {
        s->map = os_guard_map(fd, s->size);
        ok = s->map || fail(err, folder, errno);
    }
    close(fd);
    if (!ok)
        return false;
    *copied =
        source_of((struct str){s->map ? os_guard_bytes(s->map) : "", s->size}, in->name);
    copied->offset = offset;
    copied->limits = in->limits;
    return true;
}

void os_spool_free(struct os_spool *s)
{
    if (s->map)
        os_guard_unmap(s->map);
    s->map = NULL;
}
