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

/* A line: "36 35 0:98 / /mnt rw,noatime master:1 - nfs4 server:/home rw" (proc(5)). Skips the
 * device's numbers; false if they are others. */
static bool skip_device(struct str *line, uint32_t major, uint32_t minor)
{
    char room[32];
    str_word(line);
    str_word(line);
    return str_equal(str_word(line), numbers(major, minor, room, sizeof room));
}

struct str os_mount_device(struct str line, uint32_t major, uint32_t minor)
{
    if (!skip_device(&line, major, minor))
        return STR("");
    size_t at = str_search(line, STR(" - "));
    line = str_skip(line, at + 3);
    struct str type = str_word(&line), source = str_word(&line);
    if (str_starts(source, STR("/dev/")))
        return str_basename(source);
    return str_find(source, ':') < source.len ? source : type;
}

struct str os_mount_path(struct str line, uint32_t major, uint32_t minor)
{
    bool whole = skip_device(&line, major, minor) && str_equal(str_word(&line), STR("/"));
    return whole ? str_word(&line) : STR("");
}

struct search {
    uint32_t major, minor;
    struct str (*of_line)(struct str line, uint32_t major, uint32_t minor);
    char *room;
    size_t size;
    struct str found;
};

static void search_lines(void *context, struct str lines)
{
    struct search *s = context;
    while (lines.len && !s->found.len) {
        struct str name = s->of_line(str_cut(&lines, '\n'), s->major, s->minor);
        name = str_head(name, s->size);
        if (name.len)
            memcpy(s->room, name.ptr, name.len);
        s->found = (struct str){s->room, name.len};
    }
}

static struct str search_mounts(struct search s)
{
    char *lines = malloc(MOUNT_LINES);
    s.found = STR("");
    if (lines)
        os_read_lines("/proc/self/mountinfo", lines, MOUNT_LINES, search_lines, &s);
    free(lines);
    return s.found;
}

struct str os_file_system_name(uint32_t major, uint32_t minor, char *room, size_t size)
{
    if (major) /* 0: of no block device */
        return os_device_name(true, major, minor, room, size);
    struct str found = search_mounts(
        (struct search){major, minor, os_mount_device, room, size, STR("")});
    return found.len ? found : numbers(major, minor, room, size);
}

struct str os_mount_point(uint32_t major, uint32_t minor, char *room, size_t size)
{
    return search_mounts(
        (struct search){major, minor, os_mount_path, room, size, STR("")});
}
