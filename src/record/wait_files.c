/* SPDX-License-Identifier: Apache-2.0 */
#include "record/wait_files.h"
#include "base/array.h"
#include "base/format.h"
#include "base/hash.h"
#include "os/open_file.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define NAME_MOST 1000 /* bytes of a path; of longer ones, the end is shown */
#define TCP_LISTENS 10
#define CLIENT_PORTS 32768 /* ports from here on are given to clients */
#define MINOR_BITS 20      /* of the kernel's device numbers */
#define MINOR_MASK ((1u << MINOR_BITS) - 1)

void record_wait_files_deinit(struct record_wait_files *w)
{
    arena_deinit(&w->arena);
    *w = (struct record_wait_files){0};
}

/* --- Sockets ----------------------------------------------------------------------- */

static const char *protocol_of(const struct wait_file *f)
{
    if (f->protocol == IPPROTO_TCP)
        return "tcp";
    if (f->protocol == IPPROTO_UDP)
        return "udp";
    return f->type == SOCK_RAW ? "raw" : "ip";
}

static const char *family_of(const struct wait_file *f)
{
    switch (f->family) {
    case AF_UNIX:
        return "unix";
    case AF_INET:
    case AF_INET6:
        return protocol_of(f);
    case AF_NETLINK:
        return "netlink";
    case AF_PACKET:
        return "packet";
    case AF_VSOCK:
        return "vsock";
    default:
        return "socket";
    }
}

/* "10.0.0.1:80", "[::1]:80"; the address alone if the port is 0. */
static struct str write_address(const struct wait_file *f, const uint8_t *address,
                                unsigned port, char *room, size_t size)
{
    char text[INET6_ADDRSTRLEN] = "";
    bool is_6 = f->family == AF_INET6;
    inet_ntop(f->family, address, text, sizeof text);
    if (!port)
        return (struct str){room, format_text(room, size, "%s", text)};
    return (struct str){room,
                        format_text(room, size, is_6 ? "[%s]:%u" : "%s:%u", text, port)};
}

static struct str internet_name(const struct wait_file *f, char *room, size_t size)
{
    char own[80], peer[80];
    const char *protocol = protocol_of(f);
    bool is_client = f->port >= CLIENT_PORTS, of_client = f->peer_port >= CLIENT_PORTS;
    struct str at = write_address(f, f->address, f->port, own, sizeof own);
    struct str to = write_address(f, f->peer, f->peer_port, peer, sizeof peer);
    size_t length = 0;
    if (f->peer_port == 0 || (f->type == SOCK_STREAM && f->state == TCP_LISTENS))
        length = format_text(room, size, "%s %.*s", protocol, (int)at.len, at.ptr);
    else if (is_client && !of_client)
        length = format_text(room, size, "%s to %.*s", protocol, (int)to.len, to.ptr);
    else if (of_client && !is_client) {
        to = write_address(f, f->peer, 0, peer, sizeof peer);
        length = format_text(room, size, "%s %.*s from %.*s", protocol, (int)at.len,
                             at.ptr, (int)to.len, to.ptr);
    } else
        length = format_text(room, size, "%s %.*s to %.*s", protocol, (int)at.len, at.ptr,
                             (int)to.len, to.ptr);
    return (struct str){room, length};
}

/* An abstract address begins with a zero, and is shown with '@'. */
static struct str unix_name(const struct wait_file *f, char *room, size_t size)
{
    size_t most = f->name_length < sizeof f->name ? f->name_length : sizeof f->name;
    bool is_abstract = most && f->name[0] == 0;
    struct str name = str_skip((struct str){f->name, most}, is_abstract);
    name = str_head(name, str_find(name, 0));
    if (name.len == 0)
        return (struct str){room, format_text(room, size, "unix socket")};
    return (struct str){room,
                        format_text(room, size, "unix %s%.*s", is_abstract ? "@" : "",
                                    (int)name.len, name.ptr)};
}

struct str record_wait_files_socket(const struct wait_file *f, char *room, size_t size)
{
    if (f->family == AF_INET || f->family == AF_INET6)
        return internet_name(f, room, size);
    if (f->family == AF_UNIX)
        return unix_name(f, room, size);
    if (f->family == AF_UNSPEC) /* the kernel did not describe it */
        return (struct str){
            room, format_text(room, size, "socket:[%llu]", (unsigned long long)f->inode)};
    const char *family = family_of(f);
    const char *word = str_equal(str_of(family), STR("socket")) ? "" : " socket";
    return (struct str){room, format_text(room, size, "%s%s", family, word)};
}

/* --- Files ------------------------------------------------------------------------- */

static uint64_t hash_name(uint64_t key, const struct wait_file *f, size_t length)
{
    for (size_t i = 0; i < length && i < sizeof f->name; i++)
        key = hash_mix(key ^ HASH_A, (uint8_t)f->name[i] + HASH_B);
    return key;
}

/* With the name: a new file may have the inode number of one that was deleted. */
static uint64_t file_key(const struct wait_file *f)
{
    uint64_t key = hash_mix(f->inode ^ HASH_A, f->device + HASH_B);
    return hash_name(key, f, str_find((struct str){f->name, sizeof f->name}, 0));
}

/* By the addresses: each connection has an inode. */
static uint64_t socket_key(const struct wait_file *f)
{
    uint64_t a, b;
    uint64_t key = hash_mix((uint64_t)f->family << 48 | (uint64_t)f->protocol << 32 |
                                (uint64_t)f->port << 16 | f->peer_port,
                            (uint64_t)f->type << 16 | (f->state == TCP_LISTENS) | HASH_B);
    const uint8_t *addresses[] = {f->address, f->peer};
    for (size_t i = 0; i < 2; i++) {
        memcpy(&a, addresses[i], sizeof a);
        memcpy(&b, addresses[i] + sizeof a, sizeof b);
        key = hash_mix(key ^ a ^ HASH_A, b + HASH_B);
    }
    return hash_name(key, f, f->name_length);
}

/* The path in /proc, if the descriptor still is of this file. File systems in layers have other
 * inode numbers there: then the name is compared. */
static struct str path_of(uint32_t tid, const struct wait_file *f, struct str name,
                          char *room, size_t size)
{
    uint64_t inode = 0;
    struct str path = os_open_file(tid, f->fd, room, size, &inode);
    bool same = inode == f->inode || (name.len && str_equal(str_basename(path), name));
    return same ? path : STR("");
}

/* The path by the names of its directories, below the directory that its file system is
 * mounted at. */
static struct str walked_path(const struct wait_file *f, struct str name, char *room,
                              size_t size)
{
    struct str names = {f->path, f->path_length};
    uint32_t major = f->device >> MINOR_BITS, minor = f->device & MINOR_MASK;
    if (!f->path_is_whole || names.len > sizeof f->path || !name.len ||
        name.len >= sizeof f->name - 1 || size < OS_FILE_PATH_MAX)
        return STR("");
    size_t used = os_mount_point(major, minor, room, size / 2).len;
    if (used == 0)
        return STR("");
    if (used == 1) /* the root */
        used = 0;
    while (names.len) {
        struct str rest = str_head(names, names.len - 1); /* without the last zero */
        size_t at = rest.len;
        while (at > 0 && rest.ptr[at - 1])
            at--;
        struct str directory = str_skip(rest, at);
        used += format_text(room + used, size - used, "/%.*s", (int)directory.len,
                            directory.ptr);
        names = str_head(names, at);
    }
    used += format_text(room + used, size - used, "/%.*s", (int)name.len, name.ptr);
    return (struct str){room, used};
}

static struct str file_name(uint32_t tid, const struct wait_file *f, char *room,
                            size_t size, bool *has_path)
{
    struct str name = {f->name, sizeof f->name};
    name = str_head(name, str_find(name, 0));
    *has_path = true;
    if (S_ISSOCK(f->mode))
        return record_wait_files_socket(f, room, size);
    struct str path = path_of(tid, f, name, room, size);
    if (path.len == 0)
        path = walked_path(f, name, room, size);
    if (path.len)
        return path;
    *has_path = false;
    if (name.len && !S_ISFIFO(f->mode))
        return name;
    return (struct str){room, format_text(room, size, "%s:[%llu]",
                                          S_ISFIFO(f->mode) ? "pipe" : "inode",
                                          (unsigned long long)f->inode)};
}

static struct str read_device(const struct wait_file *f, uint32_t device, char *room,
                              size_t size)
{
    uint32_t major = device >> MINOR_BITS, minor = device & MINOR_MASK;
    if (S_ISBLK(f->mode) || S_ISCHR(f->mode))
        return os_device_name(S_ISBLK(f->mode), major, minor, room, size);
    return os_file_system_name(major, minor, room, size);
}

/* The name of a device, which is read once. */
static struct str device_of(struct record_wait_files *w, const struct wait_file *f)
{
    bool special = S_ISBLK(f->mode) || S_ISCHR(f->mode);
    uint32_t device = special ? f->special_device : f->device;
    char room[OS_FILE_PATH_MAX];
    if (S_ISSOCK(f->mode))
        return str_of(family_of(f));
    if (S_ISFIFO(f->mode))
        return STR("pipe");
    if (!special && (f->mode & S_IFMT) == 0)
        return STR("anon_inode");
    uint64_t *known = idmap_put(&w->systems, &w->arena,
                                (uint64_t)(S_ISCHR(f->mode) + 1) << 32 | device);
    if (!known)
        return STR("");
    if (*known)
        return w->names[*known - 1];
    if (!ARRAY_RESERVE(&w->arena, w->names, w->name_cap, w->name_count + 1))
        return STR("");
    struct str name = read_device(f, device, room, sizeof room);
    w->names[w->name_count++] = arena_str(&w->arena, name);
    *known = w->name_count;
    return w->names[*known - 1];
}

static struct str tail(struct str text)
{
    return text.len > NAME_MOST ? str_skip(text, text.len - NAME_MOST) : text;
}

static void name_item(struct record_wait_files *w, uint32_t tid,
                      const struct wait_file *f, struct record_wait_file *item)
{
    char room[OS_FILE_PATH_MAX];
    bool has_path = false;
    struct str name = tail(file_name(tid, f, room, sizeof room, &has_path));
    if (!str_equal(item->file, name))
        item->file = arena_str(&w->arena, name);
    item->has_path = has_path;
}

uint32_t record_wait_files_add(struct record_wait_files *w, uint32_t tid,
                               const struct wait_file *f)
{
    bool is_socket = S_ISSOCK(f->mode) && f->family != AF_UNSPEC;
    uint64_t key = is_socket ? socket_key(f) : file_key(f);
    const uint64_t *known = idmap_find(&w->ids, key);
    if (!w->items) {
        if (!ARRAY_RESERVE_ZEROED(&w->arena, w->items, w->cap, 1))
            return 0;
        w->items[0] = (struct record_wait_file){STR("[others]"), STR("[others]"), true};
    }
    if (known) {
        struct record_wait_file *item = &w->items[*known];
        if (!item->has_path)
            name_item(w, tid, f, item);
        return (uint32_t)*known + 1;
    }
    if (w->count == WAIT_FILES_MOST)
        return 1;
    uint64_t *index = idmap_put(&w->ids, &w->arena, key);
    struct record_wait_file *item =
        index ? ARRAY_APPEND_FROM_1(&w->arena, w->items, w->count, w->cap) : NULL;
    if (!item) {
        w->failed = true;
        return 0;
    }
    *index = w->count;
    *item = (struct record_wait_file){STR(""), device_of(w, f), false};
    name_item(w, tid, f, item);
    w->failed |= w->arena.failed;
    return (uint32_t)w->count + 1;
}

struct record_wait_file record_wait_files_get(const struct record_wait_files *w,
                                              uint32_t index)
{
    struct record_wait_file none = {STR(""), STR(""), false};
    return index ? w->items[index - 1] : none;
}
