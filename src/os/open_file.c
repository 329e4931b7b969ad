/* SPDX-License-Identifier: Apache-2.0 */
#include "os/open_file.h"
#include "base/format.h"
#include "os/machine.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOUNT_LINES ((size_t)64 << 10)

static struct str read_link(const char *path, char *room, size_t size)
{
    ssize_t length = readlink(path, room, size);
    /* a link of that size may be longer */
    return length > 0 && (size_t)length < size ? (struct str){room, (size_t)length}
                                               : STR("");
}

struct str os_open_file(uint32_t tid, uint32_t fd, char *room, size_t size,
                        uint64_t *inode)
{
    char path[64];
    struct stat st;
    format_text(path, sizeof path, "/proc/%u/fd/%u", tid, fd);
    struct str name = read_link(path, room, size);
    if (name.len == 0 || stat(path, &st) != 0)
        return STR("");
    *inode = st.st_ino;
    return name;
}

static struct str numbers(uint32_t major, uint32_t minor, char *room, size_t size)
{
    return (struct str){room, format_text(room, size, "%u:%u", major, minor)};
}

struct str os_device_name(bool block, uint32_t major, uint32_t minor, char *room,
                          size_t size)
{
    char path[64];
    format_text(path, sizeof path, "/sys/dev/%s/%u:%u", block ? "block" : "char", major,
                minor);
    struct str link = read_link(path, room, size);
    return link.len ? str_basename(link) : numbers(major, minor, room, size);
}

/* A line: "36 35 0:98 / /mnt rw,noatime master:1 - nfs4 server:/home rw" (proc(5)). */
struct str os_mount_device(struct str line, uint32_t major, uint32_t minor)
{
    char wanted[32];
    struct str rest = line;
    format_text(wanted, sizeof wanted, "%u:%u", major, minor);
    str_word(&rest);
    str_word(&rest);
    if (!str_equal(str_word(&rest), str_of(wanted)))
        return STR("");
    size_t at = str_search(rest, STR(" - "));
    if (at == rest.len)
        return STR("");
    rest = str_skip(rest, at + 3);
    struct str type = str_word(&rest), source = str_word(&rest);
    if (str_starts(source, STR("/dev/")))
        return str_basename(source);
    return str_find(source, ':') < source.len ? source : type;
}

struct search {
    uint32_t major, minor;
    char *room;
    size_t size;
    struct str found;
};

static void search_lines(void *context, struct str lines)
{
    struct search *s = context;
    while (lines.len && !s->found.len) {
        struct str name = os_mount_device(str_cut(&lines, '\n'), s->major, s->minor);
        name = str_head(name, s->size);
        if (name.len)
            memcpy(s->room, name.ptr, name.len);
        s->found = (struct str){s->room, name.len};
    }
}

struct str os_file_system_name(uint32_t major, uint32_t minor, char *room, size_t size)
{
    struct search s = {
        .major = major, .minor = minor, .room = room, .size = size, .found = STR("")};
    if (major) /* 0: of no block device */
        return os_device_name(true, major, minor, room, size);
    char *lines = malloc(MOUNT_LINES);
    if (lines)
        os_read_lines("/proc/self/mountinfo", lines, MOUNT_LINES, search_lines, &s);
    free(lines);
    return s.found.len ? s.found : numbers(major, minor, room, size);
}
