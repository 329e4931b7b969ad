/* SPDX-License-Identifier: Apache-2.0 */
#include "os/file.h"
#include "base/format.h"
#include "base/number.h"
#include "os/guard.h"
#include "os/link.h"
#include "os/regular_file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail_errno(struct error *err, const char *doing, const char *name, int reason)
{
    error_set(err, "cannot %s: %s", doing, strerror(reason));
    format_text(err->file, sizeof err->file, "%s", name);
    return false;
}

/* Reports why an output cannot be opened, and suggests a fix. */
static bool fail_output(struct error *err, const char *path, int reason)
{
    struct str folder = os_link_folder(path);
    fail_errno(err, "write", path, reason);
    if (reason == ENOENT)
        error_hint(err, "mkdir -p %.*s", STR_ARG(folder));
    else if (reason == EACCES || reason == EPERM || reason == EROFS)
        error_hint(err,
                   "-o FILE in a folder of yours; 'ls -ld %.*s' shows who owns this one",
                   STR_ARG(folder));
    return false;
}

/* Reports why an input cannot be opened, and suggests a fix. */
static bool fail_input(struct error *err, const char *path, int reason)
{
    struct str folder = os_link_folder(path);
    fail_errno(err, "open", path, reason);
    if (reason == ENOENT)
        error_hint(err, "'ls %.*s' lists the files there", STR_ARG(folder));
    else if (reason == EACCES || reason == EPERM)
        error_hint(err, "'ls -l %s' shows who may read it", path);
    return false;
}

#define FOLDER_FILES_MAX 4096 /* one per thread: more than any machine has cores */

/* Opens a file of the folder; -1 if there is none. */
static int open_in(const char *folder, struct str name, uint64_t *size)
{
    char path[4096];
    struct stat st;
    size_t n = format_text(path, sizeof path, "%s/%.*s", folder, STR_ARG(name));
    if (n + 1 >= sizeof path)
        return -1;
    struct error ignored;
    int fd = os_regular_open(path, &(struct os_regular){0}, &st, &ignored);
    *size = fd < 0 ? 0 : (uint64_t)st.st_size;
    return fd;
}

/* Chooses the offset in the mapping for a file of the folder. Returns false if there is
 * no such file, or too many. */
static bool add_file(struct os_input *in, const char *folder, const char *name)
{
    uint64_t size = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
    int fd = open_in(folder, str_of(name), &size);
    if (fd < 0)
        return false;
    close(fd);
    char *copy = strdup(name);
    if (!copy || in->file_count >= FOLDER_FILES_MAX ||
        size > (uint64_t)PTRDIFF_MAX - page - in->size) {
        free(copy);
        return false;
    }
    in->files[in->file_count++] = (struct source_file){in->size, size, str_of(copy)};
    in->size += (size + page - 1) / page * page;
    return true;
}

/* Recordings of perf with one file per CPU: "data" is the first. */
static bool add_recording(struct os_input *in, const char *folder)
{
    char name[32] = "data";
    for (size_t i = 0; add_file(in, folder, name); i++)
        format_text(name, sizeof name, "data.%zu", i);
    return in->file_count > 0;
}

/* Calls back with the path of every entry in a folder of the archive whose name begins
 * with a prefix. */
static void each_in(struct os_input *in, const char *folder, const char *path,
                    const char *begin,
                    void (*each)(struct os_input *, const char *, const char *))
{
    char full[4096];
    format_text(full, sizeof full, "%s/%s", folder, path);
    DIR *d = opendir(full);
    struct dirent *entry;
    while (d && (entry = readdir(d)))
        if (entry->d_name[0] != '.' && str_starts(str_of(entry->d_name), str_of(begin))) {
            format_text(full, sizeof full, "%s/%s", path, entry->d_name);
            each(in, folder, full);
        }
    if (d)
        closedir(d);
}

static void add_table(struct os_input *in, const char *folder, const char *path)
{
    static const char *const names[] = {"schema.xml", "bulkstore"};
    char full[4096];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        format_text(full, sizeof full, "%s/%s", path, names[i]);
        add_file(in, folder, full);
    }
}

static void add_run(struct os_input *in, const char *folder, const char *path)
{
    static const char *const names[] = {"index", "data"};
    char full[4096];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        format_text(full, sizeof full, "%s/core/uniquing/arrayUniquer/integeruniquer.%s",
                    path, names[i]);
        add_file(in, folder, full);
    }
    format_text(full, sizeof full, "%s/core/stores", path);
    each_in(in, folder, full, "", add_table);
}

/* Archives of Instruments: selects the files that a profile is read from. */
static bool add_archive(struct os_input *in, const char *folder)
{
    if (!add_file(in, folder, "form.template"))
        return false;
    each_in(in, folder, "corespace", "run", add_run);
    return true;
}

/* Finds the files and chooses the offset in the mapping for each. */
static bool add_files(struct os_input *in, const char *folder)
{
    in->files = malloc(FOLDER_FILES_MAX * sizeof *in->files);
    return in->files && (add_recording(in, folder) || add_archive(in, folder)) &&
           in->size;
}

/* Maps all files one after the other. */
static bool map_files(struct os_input *in, const char *folder)
{
    char *map =
        mmap(NULL, (size_t)in->size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool ok = map != MAP_FAILED;
    if (!ok)
        return false;
    in->map = os_guard_range(map, (size_t)in->size);
    if (!in->map) {
        munmap(map, (size_t)in->size);
        errno = ENOMEM;
        return false;
    }
    for (size_t i = 0; ok && i < in->file_count; i++) {
        uint64_t size = 0;
        int fd = open_in(folder, in->files[i].path, &size);
        /* the file has shrunk since */
        size = size < in->files[i].size ? size : in->files[i].size;
        ok = fd >= 0 && (!size || mmap(map + in->files[i].offset, (size_t)size, PROT_READ,
                                       MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED);
        if (fd >= 0)
            close(fd);
    }
    return ok;
}

static bool open_folder(struct os_input *in, const char *folder, struct error *err)
{
    os_input_close(in);
    in->size = 0;
    if (!add_files(in, folder)) {
        fail_errno(err, "read", folder, EISDIR);
        return error_hint(err, "name the files in it");
    }
    in->fd = open_in(folder, in->files[0].path, &in->files[0].size);
    if (in->fd < 0 || !map_files(in, folder))
        return fail_input(err, folder, errno);
    in->regular = in->at_begin = true;
    return true;
}

/* Modification time of the content, in ns since the epoch. */
static uint64_t written_at(const struct stat *st)
{
    bool valid = st->st_mtim.tv_sec > 0;
    return valid
               ? (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec
               : 0;
}

bool os_file_facts(struct os_file_facts *facts, struct str path)
{
    struct stat st;
    char text[4096];
    if (format_text(text, sizeof text, "%.*s", STR_ARG(path)) + 1 >= sizeof text ||
        stat(text, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    *facts = (struct os_file_facts){
        .inode = st.st_ino, .size = (uint64_t)st.st_size, .changed = written_at(&st)};
    return true;
}

bool os_input_open(struct os_input *in, const char *name, struct error *err)
{
    struct stat st;
    bool standard = strcmp(name, "-") == 0;
    *in = (struct os_input){.name = standard ? "standard input" : name};
    in->fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0 || fstat(in->fd, &st) != 0) {
        fail_input(err, in->name, errno);
        os_input_close(in);
        return false;
    }
    if (S_ISDIR(st.st_mode)) {
        bool ok = open_folder(in, in->name, err);
        if (!ok)
            os_input_close(in);
        return ok;
    }
    in->regular = S_ISREG(st.st_mode);
    in->size = in->regular ? (uint64_t)st.st_size : 0;
    in->written = in->regular ? written_at(&st) : 0;
    in->at_begin = in->regular && lseek(in->fd, 0, SEEK_CUR) == 0;
    return true;
}

void os_input_close(struct os_input *in)
{
    if (in->map)
        os_guard_unmap(in->map);
    in->map = NULL;
    for (size_t i = 0; i < in->file_count; i++)
        free((void *)(uintptr_t)in->files[i].path.ptr);
    free(in->files);
    in->files = NULL;
    in->file_count = 0;
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    in->fd = -1;
}

bool os_input_is_given(void)
{
    struct stat st;
    return fstat(STDIN_FILENO, &st) == 0 &&
           (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode));
}

/* Parts of a file are read by several threads. */
static void set_short(struct os_input *in)
{
    __atomic_store_n(&in->was_short, true, __ATOMIC_RELAXED);
}

bool os_input_was_truncated(const struct os_input *in)
{
    return os_guard_was_truncated(in->map) ||
           __atomic_load_n(&in->was_short, __ATOMIC_RELAXED);
}

static ssize_t read_retry(int fd, char *into, size_t room)
{
    ssize_t n;
    do
        n = read(fd, into, room);
    while (n < 0 && errno == EINTR);
    return n;
}

bool os_input_read_at(struct os_input *in, uint64_t offset, char *into, size_t size,
                      size_t *got, struct error *err)
{
    ssize_t n;
    do
        n = pread(in->fd, into, size, (off_t)offset);
    while (n < 0 && errno == EINTR);
    *got = n > 0 ? (size_t)n : 0;
    if (n == 0 && size && in->regular && offset < in->size)
        set_short(in);
    return n >= 0 || fail_errno(err, "read", in->name, errno);
}

static bool input_read(void *context, char *into, size_t room, size_t *got,
                       struct error *err)
{
    struct os_input *in = context;
    ssize_t n = read_retry(in->fd, into, room);
    *got = 0;
    if (n == 0 && in->regular && lseek(in->fd, 0, SEEK_CUR) < (off_t)in->size)
        set_short(in);
    if (n < 0)
        return fail_errno(err, "read", in->name, errno);
    *got = (size_t)n;
    if (in->progress)
        in->progress(in->progress_context, *got);
    return true;
}

static bool input_map(void *context, struct str *all)
{
    struct os_input *in = context;
    if (!in->at_begin || in->size == 0)
        return false;
    if (!in->map) {
        in->map = os_guard_map(in->fd, (size_t)in->size);
        if (!in->map)
            return false;
        madvise(os_guard_bytes(in->map), (size_t)in->size, MADV_SEQUENTIAL);
    }
    *all = (struct str){os_guard_bytes(in->map), (size_t)in->size};
    return true;
}

static void input_release(void *context)
{
    const struct os_input *in = context;
    if (in->map)
        madvise(os_guard_bytes(in->map), (size_t)in->size, MADV_DONTNEED);
}

struct source os_input_source(struct os_input *in)
{
    struct source s = source_reading(input_read, in, str_of(in->name));
    if (in->files) {
        struct str all = {os_guard_bytes(in->map), (size_t)in->size};
        s = source_of(all, str_of(in->name));
        s.context = in;
        s.files = in->files;
        s.file_count = in->file_count;
    }
    s.map = input_map;
    s.release = input_release;
    return s;
}

static void temporary_path(const char *path, int64_t pid, char *room, size_t size)
{
    format_text(room, size, "%s.%lld.tmp", path, (long long)pid);
}

/* Opens one of the kernel's links to open files (/dev/fd/3). A descriptor of this
 * process is duplicated, so that writing continues at its offset. */
static int open_again(const char *path)
{
    uint64_t number;
    struct stat st, own;
    struct str name = str_skip(str_of(path), str_rfind(str_of(path), '/') + 1);
    if (number_parse_u64(name, &number) && number <= INT_MAX &&
        fstat((int)number, &own) == 0 && stat(path, &st) == 0 &&
        st.st_ino == own.st_ino && st.st_dev == own.st_dev)
        return fcntl((int)number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return open(path, O_WRONLY | O_CLOEXEC);
}

static bool fail_foreign(struct error *err, const char *path)
{
    error_set(err, "cannot write: it is a link that somebody else made, which is not "
                   "followed");
    format_text(err->file, sizeof err->file, "%s", path);
    return error_hint(
        err, "-o FILE with the name that it leads to: 'readlink %s' prints it", path);
}

/* Gives the temporary file the owner and mode of the target. Without the right to
 * change the owner, os_output_close copies the content into the target instead. */
static bool copy_attributes(struct os_output *out)
{
    struct stat st, own;
    if (access(out->path, W_OK) != 0 || stat(out->path, &st) != 0 ||
        fstat(out->fd, &own) != 0)
        return false;
    out->replaces = true;
    bool same = st.st_uid == own.st_uid && st.st_gid == own.st_gid;
    out->copies = !same && fchown(out->fd, st.st_uid, st.st_gid) != 0;
    return out->copies || fchmod(out->fd, st.st_mode & 0777) == 0;
}

/* Opens the temporary file, unreadable for other users until it has its final mode. */
static bool open_beside(struct os_output *out, bool there)
{
    temporary_path(out->path, getpid(), out->temporary, sizeof out->temporary);
    out->fd =
        open(out->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, there ? 0600 : 0666);
    if (out->fd >= 0 && (!there || copy_attributes(out)))
        return true;
    int why = errno;
    if (out->fd >= 0)
        os_output_abandon(out);
    errno = why;
    return false;
}

bool os_output_open(struct os_output *out, const char *path, struct error *err)
{
    enum os_link_end end;
    *out = (struct os_output){.fd = STDOUT_FILENO};
    if (strcmp(path, "-") == 0) {
        format_text(out->path, sizeof out->path, "standard output");
        return true;
    }
    if (strlen(path) >= sizeof out->path)
        return fail_errno(err, "write", path, ENAMETOOLONG);
    format_text(out->path, sizeof out->path, "%s", path);
    int why = os_link_follow(out->path, sizeof out->path, &end);
    if (why)
        return fail_output(err, path, why);
    if (end == OS_LINK_FOREIGN)
        return fail_foreign(err, path);
    if (end == OS_LINK_OTHER || end == OS_LINK_OPEN) {
        out->fd = end == OS_LINK_OPEN ? open_again(out->path)
                                      : open(out->path, O_WRONLY | O_CLOEXEC);
        return out->fd >= 0 || fail_output(err, path, errno);
    }
    return open_beside(out, end == OS_LINK_FILE) || fail_output(err, path, errno);
}

void os_output_set(struct os_output *out, const struct os_output_options *manner)
{
    const struct os_user_ids *owner = &manner->owner;
    if (!out->temporary[0])
        return;
    out->makes_backup = manner->makes_backup;
    out->is_durable = manner->is_durable;
    if (out->replaces && !out->makes_backup)
        return;
    if (manner->is_private)
        fchmod(out->fd, 0600);
    if (owner->other && fchown(out->fd, owner->user, owner->group) != 0)
        return; /* with sudo, the file then belongs to root */
}

bool os_output_check(const char *path, struct error *err)
{
    struct os_output out;
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        fail_errno(err, "write", path, EISDIR);
        return error_hint(err, "name a file in it");
    }
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return access(path, W_OK) == 0 || fail_output(err, path, errno);
    if (!os_output_open(&out, path, err))
        return false;
    os_output_abandon(&out);
    return true;
}

bool os_output_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

bool os_output_is_file(const char *path)
{
    struct stat st;
    struct os_output out;
    enum os_link_end end;
    format_text(out.path, sizeof out.path, "%s", path);
    if (os_link_follow(out.path, sizeof out.path, &end) || end == OS_LINK_OPEN)
        return false;
    return end != OS_LINK_OTHER || (lstat(path, &st) == 0 && S_ISFIFO(st.st_mode));
}

void os_output_clean(const char *path, int64_t pid)
{
    struct os_output out;
    enum os_link_end end;
    format_text(out.path, sizeof out.path, "%s", path);
    if (os_link_follow(out.path, sizeof out.path, &end))
        return;
    temporary_path(out.path, pid, out.temporary, sizeof out.temporary);
    unlink(out.temporary);
}

uint64_t os_output_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

void os_output_abandon(struct os_output *out)
{
    if (out->fd > STDERR_FILENO)
        close(out->fd);
    if (out->temporary[0])
        unlink(out->temporary);
    out->fd = -1;
}

void os_output_backup(const char *path)
{
    char old[4128];
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return;
    format_text(old, sizeof old, "%s.old", path);
    rename(path, old);
}

static bool output_write(void *context, const char *bytes, size_t length)
{
    struct os_output *out = context;
    while (length) {
        ssize_t n = write(out->fd, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            out->error = errno;
            return false;
        }
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}

/* Copies what was written into the existing file. */
static bool copy_over(struct os_output *out)
{
    char room[1 << 16];
    ssize_t got = -1;
    int to = open(out->path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
    if (to < 0 || lseek(out->fd, 0, SEEK_SET) != 0) {
        if (to >= 0)
            close(to);
        return false;
    }
    struct os_output target = {.fd = to};
    do
        got = read_retry(out->fd, room, sizeof room);
    while (got > 0 && output_write(&target, room, (size_t)got));
    if (target.error)
        errno = target.error;
    return close(to) == 0 && got == 0;
}

/* Renames the temporary file to the target; false with errno. */
static bool replace(struct os_output *out)
{
    bool copied = out->copies && !out->makes_backup;
    if (copied && !copy_over(out))
        return false;
    if (out->is_durable && !copied && fsync(out->fd) != 0)
        return false;
    int closed = close(out->fd);
    out->fd = -1;
    if (closed != 0 || copied)
        return closed == 0;
    if (out->makes_backup)
        os_output_backup(out->path);
    if (rename(out->temporary, out->path) != 0)
        return false;
    out->temporary[0] = 0;
    return true;
}

bool os_output_close(struct os_output *out, struct output *o, struct error *err)
{
    bool ok = output_finish(o);
    int reason = out->error ? out->error : ENOMEM;
    if (ok && out->temporary[0]) {
        ok = replace(out);
        reason = errno;
    }
    os_output_abandon(out);
    return ok || fail_errno(err, "write", out->path, reason);
}

struct output os_output_stream(struct os_output *out)
{
    return (struct output){.flush = output_write, .context = out};
}

/* --- Folders ----------------------------------------------------------------------- */

bool os_make_folders(const char *path, struct error *err)
{
    char folder[4096];
    for (size_t i = 1; path[i] && i < sizeof folder; i++) {
        if (path[i] != '/')
            continue;
        format_text(folder, sizeof folder, "%.*s", (int)i, path);
        if (mkdir(folder, 0700) == 0 || errno == EEXIST)
            continue;
        int why = errno; /* a folder may exist that this user may not create */
        if (access(folder, X_OK) != 0)
            return error_set(err, "cannot create the folder '%s': %s", folder,
                             strerror(why));
    }
    return true;
}

void os_create_private(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd >= 0)
        close(fd);
}
