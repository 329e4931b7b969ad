/* SPDX-License-Identifier: Apache-2.0 */
#include "os/proc.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/number.h"
#include "os/machine.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct str os_thread_name(uint32_t pid, uint32_t tid, char *room, size_t size)
{
    char path[64];
    format_text(path, sizeof path, "/proc/%u/task/%u/comm", pid, tid);
    struct str name = os_read_text(path, room, size);
    return name.len && name.ptr[name.len - 1] == '\n' ? str_head(name, name.len - 1)
                                                      : name;
}

/* The text after a key of /proc/PID/status; empty if there is none. */
static struct str status_text(uint32_t tid, struct str word, char *room, size_t size)
{
    char path[64];
    format_text(path, sizeof path, "/proc/%u/status", tid);
    struct str rest = os_read_text(path, room, size);
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        if (str_starts(line, word))
            return str_trim(str_skip(line, word.len));
    }
    return STR("");
}

static uint32_t status_number(uint32_t tid, struct str word)
{
    char room[4096];
    uint64_t v = 0;
    number_parse_u64(status_text(tid, word, room, sizeof room), &v);
    return v < UINT32_MAX ? (uint32_t)v : 0;
}

bool os_process_filters_calls(uint32_t pid)
{
    return status_number(pid, STR("Seccomp:")) != 0;
}

bool os_process_is_stopped(uint32_t pid)
{
    char room[4096];
    struct str state = status_text(pid, STR("State:"), room, sizeof room);
    return str_starts(state, STR("T")) || str_starts(state, STR("t"));
}

bool os_process_has_shadow_stack(uint32_t pid)
{
    char room[4096];
    struct str features =
        status_text(pid, STR("x86_Thread_features:"), room, sizeof room);
    return str_has(features, STR("shstk"));
}

uint32_t os_own_pid(void)
{
    return (uint32_t)getpid();
}

uint32_t os_thread_process(uint32_t tid)
{
    return status_number(tid, STR("Tgid:"));
}

uint32_t os_process_parent(uint32_t pid)
{
    return status_number(pid, STR("PPid:"));
}

bool os_process_is_named(uint32_t pid, struct str name)
{
    char path[64], room[4096];
    if (str_equal(os_thread_name(pid, pid, room, sizeof room), name))
        return true;
    /* the kernel's name has at most 15 bytes */
    format_text(path, sizeof path, "/proc/%u/cmdline", pid);
    struct str words = os_read_text(path, room, sizeof room), first = str_cut(&words, 0);
    return first.len && str_equal(str_basename(first), name);
}

bool os_process_threads(uint32_t pid, void (*each)(void *context, uint32_t tid),
                        void *context)
{
    char path[64];
    bool any = false;
    format_text(path, sizeof path, "/proc/%u/task", pid);
    DIR *folder = opendir(path);
    if (!folder)
        return false;
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        uint64_t tid;
        if (!number_parse_u64(str_of(e->d_name), &tid) || tid > UINT32_MAX)
            continue;
        each(context, (uint32_t)tid);
        any = true;
    }
    closedir(folder);
    return any;
}

/* The memory of a zombie is released: its size is 0. */
static bool has_memory(uint32_t pid, uint32_t tid)
{
    char path[64], room[64];
    format_text(path, sizeof path, "/proc/%u/task/%u/statm", pid, tid);
    struct str text = os_read_text(path, room, sizeof room);
    return text.len > 1 && !str_starts(text, STR("0 "));
}

struct search {
    uint32_t pid, found;
};

static void find_with_memory(void *context, uint32_t tid)
{
    struct search *s = context;
    if (!s->found && has_memory(s->pid, tid))
        s->found = tid;
}

uint32_t os_process_live_thread(uint32_t pid)
{
    struct search s = {.pid = pid};
    find_with_memory(&s, pid); /* usually the main thread */
    if (!s.found)
        os_process_threads(pid, find_with_memory, &s);
    return s.found;
}

bool os_process_runs(uint32_t pid)
{
    return os_process_live_thread(pid) != 0;
}

uint32_t os_process_thread_count(uint32_t pid)
{
    char path[32];
    struct stat st;
    format_text(path, sizeof path, "/proc/%u/task", pid);
    /* the links of the folder: itself, its parent, and a folder of each thread */
    return stat(path, &st) == 0 && st.st_nlink > 2 ? (uint32_t)(st.st_nlink - 2) : 0;
}

bool os_thread_exists(uint32_t pid, uint32_t tid)
{
    char path[64];
    format_text(path, sizeof path, "/proc/%u/task/%u", pid, tid);
    return access(path, F_OK) == 0;
}

struct str os_own_program(char *room, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", room, size);
    return (struct str){room, length > 0 && (size_t)length < size ? (size_t)length : 0};
}

/* --- Code -------------------------------------------------------------------------- */

static struct str code_path(struct str name)
{
    return name.len ? name : STR("//anon");
}

/* Queries one VMA by address (Linux 6.11, PROCMAP_QUERY in include/uapi/linux/fs.h,
 * which older headers lack). The kernel skips memory without code, and returns build
 * IDs. */
struct map_query {
    uint64_t size, query_flags, address;
    uint64_t start, end, flags, page_size, offset, inode;
    uint32_t major, minor, name_size, build_id_size;
    uint64_t name_at, build_id_at;
};

#define MAP_QUERY _IOWR('f', 17, struct map_query)
#define QUERY_READABLE 1u
#define QUERY_WRITABLE 2u
#define QUERY_EXECUTABLE 4u
#define QUERY_SHARED 8u
#define QUERY_OR_NEXT 16u

static uint32_t protection_of(uint64_t flags)
{
    return (flags & QUERY_READABLE ? (uint32_t)PROT_READ : 0) |
           (flags & QUERY_WRITABLE ? (uint32_t)PROT_WRITE : 0) |
           (flags & QUERY_EXECUTABLE ? (uint32_t)PROT_EXEC : 0);
}

/* False if the kernel does not support PROCMAP_QUERY. */
static bool query_code(int fd, bool ids, void (*each)(void *, const struct os_code *),
                       void *context, size_t *count)
{
    char name[4096];
    struct os_code code = {0};
    for (uint64_t from = 0;; from = code.end) {
        struct map_query q = {.size = sizeof q,
                              .query_flags = QUERY_EXECUTABLE | QUERY_OR_NEXT,
                              .address = from,
                              .name_size = sizeof name,
                              .build_id_size = ids ? OS_BUILD_ID_MAX : 0,
                              .name_at = (uint64_t)(uintptr_t)name,
                              .build_id_at =
                                  ids ? (uint64_t)(uintptr_t)code.build_id : 0};
        if (ioctl(fd, MAP_QUERY, &q) != 0)
            return errno == ENOENT || errno == ESRCH || *count;
        if (q.end <= from)
            return true;
        size_t length = q.name_size ? q.name_size - 1 : 0;
        code.start = q.start;
        code.end = q.end;
        code.offset = q.offset;
        code.protection = protection_of(q.flags);
        code.flags = q.flags & QUERY_SHARED ? MAP_SHARED : MAP_PRIVATE;
        code.major = q.major;
        code.minor = q.minor;
        code.inode = q.inode;
        code.path = code_path((struct str){name, length});
        code.build_id_size =
            q.build_id_size <= OS_BUILD_ID_MAX ? q.build_id_size : OS_BUILD_ID_MAX;
        each(context, &code);
        ++*count;
    }
}

/* Parses "7f..-7f.. r-xp 00028000 08:01 1234  /usr/lib/libc.so.6"; false if it is not
 * code. */
static bool parse_line(struct str line, struct os_code *code)
{
    struct str rest = line, range = str_word(&rest), permissions = str_word(&rest);
    struct str offset = str_word(&rest), device = str_word(&rest);
    struct str inode = str_word(&rest), start = str_cut(&range, '-');
    struct str major = str_cut(&device, ':');
    uint64_t high = 0, low = 0;
    *code = (struct os_code){.path = code_path(str_trim_left(rest))};
    if (permissions.len < 4 || permissions.ptr[2] != 'x')
        return false;
    code->protection = (permissions.ptr[0] == 'r' ? (uint32_t)PROT_READ : 0) |
                       (permissions.ptr[1] == 'w' ? (uint32_t)PROT_WRITE : 0) |
                       (uint32_t)PROT_EXEC;
    code->flags = permissions.ptr[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
    bool ok = number_parse_hex(start, &code->start) &&
              number_parse_hex(range, &code->end) &&
              number_parse_hex(offset, &code->offset) && number_parse_hex(major, &high) &&
              number_parse_hex(device, &low) && number_parse_u64(inode, &code->inode);
    code->major = (uint32_t)high;
    code->minor = (uint32_t)low;
    return ok;
}

#define MAPS_WINDOW ((size_t)64 << 10)

static size_t read_code(int fd, void (*each)(void *, const struct os_code *),
                        void *context)
{
    size_t used = 0, count = 0;
    ssize_t got;
    char *window = malloc(MAPS_WINDOW);
    while (window && (got = read(fd, window + used, MAPS_WINDOW - used)) > 0) {
        struct str rest = {window, used + (size_t)got};
        while (str_find(rest, '\n') < rest.len) {
            struct os_code code;
            struct str line = str_cut(&rest, '\n');
            if (!parse_line(line, &code))
                continue;
            each(context, &code);
            count++;
        }
        used = rest.len < MAPS_WINDOW ? rest.len : 0;
        memmove(window, rest.ptr, used);
    }
    free(window);
    return count;
}

static size_t code_of(uint32_t pid, uint32_t tid, bool ids,
                      void (*each)(void *context, const struct os_code *code),
                      void *context)
{
    char path[64];
    size_t count = 0;
    format_text(path, sizeof path, "/proc/%u/task/%u/maps", pid, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (!query_code(fd, ids, each, context, &count))
        count = read_code(fd, each, context);
    close(fd);
    return count;
}

static size_t code_of_any(uint32_t pid, uint32_t tid, bool ids,
                          void (*each)(void *context, const struct os_code *code),
                          void *context)
{
    size_t count = code_of(pid, tid, ids, each, context);
    uint32_t other = count == 0 && tid == pid ? os_process_live_thread(pid) : tid;
    return other && other != tid ? code_of(pid, other, ids, each, context) : count;
}

size_t os_process_code(uint32_t pid, uint32_t tid,
                       void (*each)(void *context, const struct os_code *code),
                       void *context)
{
    return code_of_any(pid, tid, false, each, context);
}

size_t os_process_code_ids(uint32_t pid, uint32_t tid,
                           void (*each)(void *context, const struct os_code *code),
                           void *context)
{
    return code_of_any(pid, tid, true, each, context);
}

/* --- Users ------------------------------------------------------------------------- */

bool os_process_identity(uint32_t pid, uint32_t *user, uint64_t *identity)
{
    char path[32];
    struct stat st;
    format_text(path, sizeof path, "/proc/%u", pid);
    if (stat(path, &st) != 0)
        return false;
    *user = st.st_uid;
    uint64_t made =
        (uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec;
    *identity = hash_mix(st.st_ino ^ HASH_A, made ^ HASH_B);
    return true;
}

bool os_process_user(uint32_t pid, uint32_t *user)
{
    uint64_t ignored;
    return os_process_identity(pid, user, &ignored);
}

struct str os_user_name(uint32_t user, char *room, size_t size)
{
    char line[1024];
    struct passwd entry, *found = NULL;
    FILE *file = fopen("/etc/passwd", "re");
    format_text(room, size, "%u", user);
    while (file && fgetpwent_r(file, &entry, line, sizeof line, &found) == 0) {
        if (entry.pw_uid != user)
            continue;
        format_text(room, size, "%s", entry.pw_name);
        break;
    }
    if (file)
        fclose(file);
    return str_of(room);
}
