/* SPDX-License-Identifier: Apache-2.0 */
#include "os/data_file.h"
#include "base/format.h"
#include "base/number.h"
#include "os/file.h"
#include "os/link.h"
#include "os/regular_file.h"
#include "os/write_behind.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(const struct os_data_file *f, int why, struct error *err)
{
    const char *folder = getenv("TMPDIR");
    bool hidden = str_starts(str_of(f->path), STR("/proc/self/fd/"));
    if (hidden)
        error_set(err, "cannot write a file in %s: %s", folder ? folder : "/tmp",
                  strerror(why));
    else
        error_set(err, "cannot write %s: %s", f->path, strerror(why));
    if (why == ENOSPC || why == EDQUOT)
        error_hint(err, hidden ? "set TMPDIR to a folder with room for the recording"
                               : "free some space, or choose another file with -o");
    return false;
}

/* Reports that a recording cannot be written to a file of this kind. */
static bool fail_kind(const struct os_data_file *f, mode_t mode, struct error *err)
{
    const char *kind = S_ISDIR(mode)    ? "a folder"
                       : S_ISFIFO(mode) ? "a pipe"
                       : S_ISSOCK(mode) ? "a socket"
                       : S_ISLNK(mode)  ? "an untrusted link"
                                        : "a device";
    error_set(err, "cannot write %s: it is %s", f->path, kind);
    return error_hint(err, "recordings need a regular file: -o FILE");
}

/* Resolves symbolic links in f->path. */
static bool follow_links(struct os_data_file *f, struct error *err)
{
    struct stat st = {0};
    enum os_link_end end;
    int why = os_link_follow(f->path, sizeof f->path, &end);
    if (why)
        return fail(f, why, err);
    if (end == OS_LINK_NOTHING || end == OS_LINK_FILE)
        return true;
    return lstat(f->path, &st) == 0 ? fail_kind(f, st.st_mode, err) : fail(f, errno, err);
}

/* Opens a file without a name if the file system supports O_TMPFILE: then nothing is
 * left behind, however this process ends. */
static int open_unnamed(const struct os_data_file *f)
{
    char folder[4096];
    format_text(folder, sizeof folder, "%.*s", STR_ARG(os_link_folder(f->path)));
    return open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
}

static bool open_new(struct os_data_file *f)
{
    f->fd = open_unnamed(f);
    f->is_unnamed = f->fd >= 0;
    if (f->is_unnamed)
        return true;
    f->fd = open(f->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return f->fd >= 0;
}

bool os_data_file_create(struct os_data_file *f, const char *path,
                         const struct os_user_ids *owner, struct error *err)
{
    *f = (struct os_data_file){.fd = -1};
    size_t length = format_text(f->path, sizeof f->path, "%s", path);
    if (length + 1 >= sizeof f->path)
        return fail(f, ENAMETOOLONG, err);
    if (!follow_links(f, err))
        return false;
    format_text(f->temporary, sizeof f->temporary, "%s.%d.tmp", f->path, (int)getpid());
    if (!open_new(f)) {
        f->temporary[0] = 0;
        return fail(f, errno, err);
    }
    if (owner->other && fchown(f->fd, owner->user, owner->group) != 0)
        return true; /* with sudo, the file then belongs to root */
    return true;
}

/* Gives an unnamed file its first name. The name must be free, so it is not always the
 * final one: a file that exists there is renamed to PATH.old later. */
static bool name_first(struct os_data_file *f, const char *path)
{
    char own[64];
    format_text(own, sizeof own, "/proc/self/fd/%d", f->fd);
    if (linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0)
        return false;
    f->is_unnamed = false;
    return true;
}

bool os_data_file_name(struct os_data_file *f, struct error *err)
{
    if (!f->temporary[0])
        return true;
    os_output_backup(f->path);
    if (f->is_unnamed && name_first(f, f->path)) {
        f->temporary[0] = 0;
        return true;
    }
    if (f->is_unnamed && !name_first(f, f->temporary))
        return fail(f, errno, err);
    if (rename(f->temporary, f->path) != 0)
        return fail(f, errno, err);
    f->temporary[0] = 0;
    return true;
}

static bool is_recording(int folder, const char *name)
{
    char magic[8];
    struct stat st;
    struct error ignored;
    int fd = os_regular_open_at(folder, name, &(struct os_regular){.no_link = true}, &st,
                                &ignored);
    if (fd < 0)
        return false;
    bool is = read(fd, magic, sizeof magic) == sizeof magic &&
              memcmp(magic, "PERFILE2", sizeof magic) == 0;
    close(fd);
    return is;
}

/* Returns true if the name is BASE.7, or with `old` BASE.7.old. */
static bool is_numbered(struct str name, struct str base, bool old)
{
    uint64_t number;
    if (!str_starts(name, base) || name.len == base.len || name.ptr[base.len] != '.')
        return false;
    name = str_skip(name, base.len + 1);
    if (old && !str_ends(name, STR(".old")))
        return false;
    return number_parse_u64(str_head(name, name.len - (old ? 4 : 0)), &number);
}

/* Calls `each` for every recording with such a name and returns their number. */
static size_t each_numbered(DIR *folder, struct str base, bool old,
                            void (*call)(int folder, const char *name))
{
    size_t count = 0;
    rewinddir(folder);
    for (struct dirent *e; (e = readdir(folder));) {
        if (!is_numbered(str_of(e->d_name), base, old) ||
            !is_recording(dirfd(folder), e->d_name))
            continue;
        if (call)
            call(dirfd(folder), e->d_name);
        count++;
    }
    return count;
}

static void remove_in(int folder, const char *name)
{
    unlinkat(folder, name, 0);
}

static void make_old(int folder, const char *name)
{
    char old[512];
    format_text(old, sizeof old, "%s.old", name);
    renameat(folder, name, folder, old);
}

size_t os_data_file_retire(const char *path)
{
    char name[4096];
    size_t slash = str_rfind(str_of(path), '/');
    struct str base = str_of(path[slash] ? path + slash + 1 : path);
    format_text(name, sizeof name, "%.*s", STR_ARG(os_link_folder(path)));
    DIR *folder = opendir(name);
    if (!folder)
        return 0;
    size_t count = each_numbered(folder, base, false, NULL);
    if (count) {
        each_numbered(folder, base, true, remove_in);
        each_numbered(folder, base, false, make_old);
    }
    closedir(folder);
    return count;
}

bool os_data_file_create_hidden(struct os_data_file *f, struct error *err)
{
    *f = (struct os_data_file){.fd = -1};
    const char *folder = getenv("TMPDIR");
    if (!folder || folder[0] != '/')
        folder = "/tmp";
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

int os_data_stream_take(struct error *err)
{
    int fd = isatty(STDOUT_FILENO) ? -1 : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0) {
        error_set(err, "a recording cannot be written to %s",
                  isatty(STDOUT_FILENO) ? "a terminal" : "a closed standard output");
        error_hint(err, "-o FILE, or stoke record -o - ... | stoke report -");
    } else {
        dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    return fd;
}

void os_data_file_of_stream(struct os_data_file *f, int stream)
{
    *f =
        (struct os_data_file){.fd = stream, .path = "standard output", .is_stream = true};
}

/* --- Writing ----------------------------------------------------------------------- */

static bool write_now(void *context, uint64_t offset, struct str bytes, struct error *err)
{
    const struct os_data_file *f = context;
    while (bytes.len) {
        ssize_t put = f->is_stream ? write(f->fd, bytes.ptr, bytes.len)
                                   : pwrite(f->fd, bytes.ptr, bytes.len, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return fail(f, put < 0 ? errno : ENOSPC, err);
        bytes = str_skip(bytes, (size_t)put);
        offset += (uint64_t)put;
    }
    return true;
}

static void cut_now(void *context, uint64_t end)
{
    const struct os_data_file *f = context;
    if (!f->is_stream && ftruncate(f->fd, (off_t)end) != 0)
        return; /* the excess stays; readers find the end themselves */
}

void os_data_file_write_behind(struct os_data_file *f)
{
    struct write_behind_target target = {f, write_now, cut_now};
    if (!f->behind)
        f->behind = write_behind_start(&target);
}

static bool add(struct os_data_file *f, struct write_request request, struct error *err)
{
    if (f->behind)
        return write_behind_add(f->behind, &request, err);
    bool ok = write_now(f, request.offset, request.bytes, err);
    if (!ok && request.cuts)
        cut_now(f, request.offset);
    if (ok && request.mark)
        f->mark = request.mark;
    return ok;
}

bool os_data_file_write(struct os_data_file *f, uint64_t offset, struct str bytes,
                        struct error *err)
{
    return add(f, (struct write_request){.offset = offset, .bytes = bytes}, err);
}

bool os_data_file_extend(struct os_data_file *f, uint64_t offset, struct str bytes,
                         struct error *err)
{
    return add(f, (struct write_request){.offset = offset, .bytes = bytes, .cuts = true},
               err);
}

bool os_data_file_set_mark(struct os_data_file *f, uint64_t mark, struct error *err)
{
    return add(f, (struct write_request){.bytes = STR(""), .mark = mark}, err);
}

uint64_t os_data_file_marked(const struct os_data_file *f)
{
    return f->behind ? write_behind_mark(f->behind) : f->mark;
}

bool os_data_file_wait(struct os_data_file *f, struct error *err)
{
    return !f->behind || write_behind_wait(f->behind, err);
}

bool os_data_file_end_behind(struct os_data_file *f, struct error *err)
{
    f->mark = os_data_file_marked(f);
    bool ok = write_behind_end(f->behind, err);
    f->behind = NULL;
    return ok;
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
                             got < 0 ? strerror(errno) : "unexpected end of file");
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

bool os_data_file_close(struct os_data_file *f, struct error *err)
{
    bool written = os_data_file_end_behind(f, err);
    int fd = f->fd;
    f->fd = -1;
    if (fd >= 0 && f->temporary[0] && !f->is_unnamed)
        unlink(f->temporary);
    return (fd < 0 || close(fd) == 0 || fail(f, errno, err)) && written;
}
