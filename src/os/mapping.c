/* SPDX-License-Identifier: Apache-2.0 */
#include "os/mapping.h"
#include "base/format.h"
#include "base/number.h"
#include "os/regular_file.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

static bool fail(struct error *err, const char *path, int why)
{
    return error_set(err, "%s: %s", path, strerror(why));
}

static bool map_handle(struct os_mapping *m, int fd, const struct stat *st,
                       const char *path, struct error *err)
{
    *m = OS_MAPPING_NONE;
    if (st->st_size == 0)
        return true;
    struct os_guard *map = os_guard_map(fd, (size_t)st->st_size);
    if (!map)
        return fail(err, path, errno);
    *m = (struct os_mapping){{os_guard_bytes(map), (size_t)st->st_size}, map, ARENA_INIT};
    return true;
}

static bool map_plain(struct os_mapping *m, const char *path,
                      const struct os_regular *options, struct error *err)
{
    struct stat st;
    *m = OS_MAPPING_NONE;
    int fd = os_regular_open(path, options, &st, err);
    if (fd < 0)
        return false;
    bool ok = map_handle(m, fd, &st, path, err);
    close(fd);
    return ok;
}

bool os_mapping_open(struct os_mapping *m, const char *path, struct error *err)
{
    return map_plain(m, path, &(struct os_regular){0}, err);
}

bool os_mapping_open_below(struct os_mapping *m, const char *path, const char *folder,
                           struct error *err)
{
    struct os_regular options = {.no_link = !folder, .folder = folder};
    return map_plain(m, path, &options, err);
}

int os_shared_open(const char *path, uint32_t owner, struct error *err)
{
    struct stat st;
    int fd = os_regular_open(path, &(struct os_regular){.no_link = true}, &st, err);
    if (fd < 0)
        return -1;
    if (st.st_uid != owner && st.st_uid != 0)
        error_set(err, "%s: rejected, its owner is user %u, not the user of the process",
                  path, (unsigned)st.st_uid);
    else
        return fd;
    close(fd);
    return -1;
}

void os_shared_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

static bool map_shared(struct os_mapping *m, int fd, const char *path, uint64_t limit,
                       struct error *err)
{
    struct stat st;
    *m = OS_MAPPING_NONE;
    if (fstat(fd, &st) != 0)
        return fail(err, path, errno);
    if ((uint64_t)st.st_size > limit)
        return error_set(err, "%s: rejected, larger than %zu MiB", path,
                         (size_t)(limit >> 20));
    return map_handle(m, fd, &st, path, err);
}

bool os_mapping_of(struct os_mapping *m, int fd, uint64_t limit, struct error *err)
{
    return map_shared(m, fd, "a file", limit, err);
}

bool os_mapping_open_shared(struct os_mapping *m, const char *path, uint32_t owner,
                            uint64_t limit, struct error *err)
{
    int fd = os_shared_open(path, owner, err);
    *m = OS_MAPPING_NONE;
    bool ok = fd >= 0 && map_shared(m, fd, path, limit, err);
    os_shared_close(fd);
    return ok;
}

bool os_mapping_open_inode(struct os_mapping *m, const char *path, uint32_t device_major,
                           uint32_t device_minor, uint64_t inode, struct error *err)
{
    struct stat st;
    *m = OS_MAPPING_NONE;
    int fd = os_regular_open(path, &(struct os_regular){0}, &st, err);
    if (fd < 0)
        return false;
    bool ok;
    if (st.st_ino != inode || major(st.st_dev) != device_major ||
        minor(st.st_dev) != device_minor)
        ok = error_set(err, "%s: the file was replaced", path);
    else
        ok = map_handle(m, fd, &st, path, err);
    close(fd);
    return ok;
}

/* files of /proc are small, except kallsyms */
#define READ_FIRST ((size_t)64 << 10)

bool os_mapping_read(struct os_mapping *m, const char *path, size_t limit,
                     struct error *err)
{
    size_t used = 0, room = 0;
    ssize_t got = 1;
    *m = OS_MAPPING_NONE;
    struct stat st;
    if (strcmp(path, "/dev/null") == 0) /* users pass it to mean "no file" */
        return true;
    int fd = os_regular_open(path, &(struct os_regular){.system = true}, &st, err);
    if (fd < 0)
        return false;
    char *bytes = arena_grow(&m->read, NULL, &room, READ_FIRST, 1);
    while (bytes && got > 0 && used < limit) {
        got = read(fd, bytes + used, room - used);
        used += got > 0 ? (size_t)got : 0;
        bytes = arena_grow(&m->read, bytes, &room, used + 1, 1);
    }
    int why = errno;
    close(fd);
    m->bytes = (struct str){bytes, used < limit ? used : limit};
    if (bytes && got >= 0)
        return true;
    os_mapping_close(m);
    return bytes ? fail(err, path, why) : error_memory(err);
}

void os_mapping_close(struct os_mapping *m)
{
    if (m->map)
        os_guard_unmap(m->map);
    arena_deinit(&m->read);
    *m = OS_MAPPING_NONE;
}

void os_mapping_release(const struct os_mapping *m)
{
    if (m->map)
        madvise(os_guard_bytes(m->map), m->bytes.len, MADV_DONTNEED);
}

#define CACHE_FILE_MAX ((uint64_t)1 << 32)

bool os_cache_open(struct os_mapping *m, const char *path)
{
    struct error ignored;
    return os_mapping_open_shared(m, path, geteuid(), CACHE_FILE_MAX, &ignored);
}

/* Creates the folders of a path. Returns false if one cannot be created, or if the
 * innermost existing one belongs to another user who is not root. */
static bool make_folders(char *path)
{
    struct stat st = {.st_uid = 0};
    bool ok = true;
    for (char *at = path + 1; ok && *at; at++) {
        if (*at != '/')
            continue;
        *at = 0;
        struct stat here;
        bool exists = stat(path, &here) == 0;
        if (exists)
            st = here;
        ok = exists || ((st.st_uid == 0 || st.st_uid == geteuid()) &&
                        (mkdir(path, 0700) == 0 || errno == EEXIST));
        *at = '/';
    }
    return ok && (st.st_uid == 0 || st.st_uid == geteuid());
}

bool os_cache_write(const char *path, struct str bytes)
{
    char beside[4096];
    size_t done = 0;
    ssize_t put = 1;
    if (format_text(beside, sizeof beside, "%s.%d", path, (int)getpid()) + 1 >=
        sizeof beside)
        return false;
    if (!make_folders(beside))
        return false;
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    while (done < bytes.len && put > 0) {
        put = write(fd, bytes.ptr + done, bytes.len - done);
        done += put > 0 ? (size_t)put : 0;
    }
    bool ok = close(fd) == 0 && done == bytes.len && rename(beside, path) == 0;
    if (!ok)
        unlink(beside);
    return ok;
}

bool os_process_owner(int64_t pid, uint32_t *owner)
{
    char path[64];
    struct stat st;
    format_text(path, sizeof path, "/proc/%lld", (long long)pid);
    if (pid <= 0 || stat(path, &st) != 0)
        return false;
    *owner = st.st_uid;
    return true;
}

/* Parses "NSpid:\t4026\t17": the process ids in all namespaces, from this one inwards. */
int64_t os_process_own_pid(int64_t pid)
{
    char path[64];
    struct os_mapping status;
    struct error ignored;
    format_text(path, sizeof path, "/proc/%lld/status", (long long)pid);
    if (pid <= 0 || !os_mapping_read(&status, path, 1 << 16, &ignored))
        return pid;
    struct str rest = status.bytes;
    uint64_t own = (uint64_t)pid;
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        if (!str_starts(line, STR("NSpid:")))
            continue;
        str_word(&line);
        for (struct str word = str_word(&line); word.len; word = str_word(&line))
            number_parse_u64(word, &own);
    }
    os_mapping_close(&status);
    return own <= INT64_MAX ? (int64_t)own : pid;
}

void *os_pages_get(size_t size)
{
    void *pages =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void os_pages_free(void *pages, size_t size)
{
    munmap(pages, size);
}

void os_pages_clear(void *pages, size_t size)
{
    madvise(pages, size, MADV_DONTNEED);
}

struct str os_vdso(void)
{
    const char *begin = (const char *)getauxval(AT_SYSINFO_EHDR);
    Elf64_Ehdr header;
    if (!begin || memcmp(begin, ELFMAG, SELFMAG) != 0 || begin[EI_CLASS] != ELFCLASS64)
        return STR("");
    memcpy(&header, begin, sizeof header); /* the kernel's own image, so it is valid */
    return (struct str){begin,
                        header.e_shoff + (size_t)header.e_shnum * header.e_shentsize};
}

struct str os_kernel_release(char *room, size_t size)
{
    struct utsname u;
    if (uname(&u) != 0)
        return STR("");
    return (struct str){room, format_text(room, size, "%s", u.release)};
}

uint32_t os_user(void)
{
    return geteuid();
}

bool os_user_named(const char *name, uint32_t *user)
{
    uint64_t number;
    const struct passwd *entry = getpwnam(name);
    if (entry)
        *user = entry->pw_uid;
    else if (number_parse_u64(str_of(name), &number) && number < UINT32_MAX)
        *user = (uint32_t)number;
    else
        return false;
    return true;
}
