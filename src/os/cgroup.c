/* SPDX-License-Identifier: Apache-2.0 */
#include "os/cgroup.h"
#include "base/format.h"
#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <unistd.h>

/* The mount points of the hierarchy that counters use: version 2 (unified or hybrid),
 * and version 1 (perf_event). */
static const char *const roots[] = {"/sys/fs/cgroup/perf_event/",
                                    "/sys/fs/cgroup/unified/", "/sys/fs/cgroup/"};

/* Returns true if the open folder is a control group. */
static bool is_group(int fd)
{
    return faccessat(fd, "cgroup.procs", F_OK, 0) == 0;
}

static int open_group(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || is_group(fd))
        return fd;
    close(fd);
    return -1;
}

int os_cgroup_open(const char *path, struct error *err)
{
    char whole[4096];
    int fd = path[0] == '/' ? open_group(path) : -1;
    for (size_t i = 0; fd < 0 && i < sizeof roots / sizeof *roots; i++) {
        format_text(whole, sizeof whole, "%s%s", roots[i], path + (path[0] == '/'));
        fd = open_group(whole);
    }
    if (fd >= 0)
        return fd;
    error_set(err, "no such control group: '%s'", path);
    error_hint(err, "/proc/PID/cgroup shows that of a process, after 0::");
    return -1;
}

/* --- Services and containers ------------------------------------------------------- */

#define DEPTH_MOST 32
#define ID_LENGTH 64
#define ID_LEAST 12

struct group_search {
    enum os_cgroup_kind kind;
    struct str name;
    char *path;
    size_t size, found;
    char other[512], similar[512];
};

static bool is_unit(struct str group, struct str name)
{
    if (str_ends(name, STR(".service")) || str_ends(name, STR(".scope")) ||
        str_ends(name, STR(".slice")))
        return str_equal(group, name);
    return str_ends(group, STR(".service")) && str_starts(group, name) &&
           group.len == name.len + STR(".service").len;
}

static bool is_id(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!byte_is_hex(text.ptr[i]))
            return false;
    return text.len >= ID_LEAST;
}

/* "docker-ID.scope", "cri-containerd-ID.scope", "libpod-ID.scope", "ID"; "lxc.payload.NAME",
 * "machine-NAME.scope", "systemd-nspawn@NAME.service" */
static bool is_container(struct str group, struct str name)
{
    static const char *const forms[][2] = {
        {"lxc.payload.", ""}, {"machine-", ".scope"}, {"systemd-nspawn@", ".service"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct str before = str_of(forms[i][0]), after = str_of(forms[i][1]);
        if (group.len == before.len + name.len + after.len && str_starts(group, before) &&
            str_ends(group, after) && str_starts(str_skip(group, before.len), name))
            return true;
    }
    struct str id = group;
    if (str_ends(id, STR(".scope")))
        id.len -= STR(".scope").len;
    struct str runtime = str_head(id, id.len > ID_LENGTH ? id.len - ID_LENGTH : 0);
    id = str_skip(id, runtime.len);
    return id.len == ID_LENGTH && is_id(id) && is_id(name) && str_starts(id, name) &&
           (runtime.len == 0 || str_ends(runtime, STR("-"))) &&
           !str_has(runtime, STR("conmon")); /* podman's monitor of the container */
}

/* True if the search is for this group. */
static bool visit_group(struct group_search *s, struct str group, const char *path)
{
    bool service = s->kind == OS_CGROUP_SERVICE;
    if (service ? is_unit(group, s->name) : is_container(group, s->name)) {
        if (s->found++ == 0)
            format_text(s->path, s->size, "%s", path);
        else
            format_text(s->other, sizeof s->other, "%s", path);
        return true;
    }
    if (service && str_has(group, s->name) && str_ends(group, STR(".service")))
        format_text(s->similar, sizeof s->similar, "%.*s", STR_ARG(group));
    return false;
}

static void search_groups(struct group_search *s, const char *root)
{
    char *paths[] = {(char *)(uintptr_t)root, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *e = tree ? fts_read(tree) : NULL; e; e = fts_read(tree)) {
        if (e->fts_info != FTS_D || e->fts_level == 0)
            continue;
        struct str group = {e->fts_name, e->fts_namelen};
        if (e->fts_level > DEPTH_MOST ||
            visit_group(s, group, e->fts_path + strlen(root)))
            fts_set(tree, e, FTS_SKIP); /* its groups are part of it */
    }
    if (tree)
        fts_close(tree);
}

static bool not_one_group(const struct group_search *s, struct error *err)
{
    bool service = s->kind == OS_CGROUP_SERVICE;
    const char *what = service ? "service" : "container";
    if (s->found) {
        error_set(err, "several %ss match '%.*s': %s and %s", what, STR_ARG(s->name),
                  s->path, s->other);
        return error_hint(err, "--cgroup PATH selects one");
    }
    error_set(err, "no running %s matches '%.*s'", what, STR_ARG(s->name));
    if (s->similar[0])
        return error_hint(err, "there is %s", s->similar);
    return error_hint(err, service
                               ? "systemctl lists the services; --cgroup PATH, -p NAME"
                               : "the id that docker ps, podman ps or crictl ps shows; "
                                 "the name of a container of LXC or systemd-nspawn");
}

bool os_cgroup_find(enum os_cgroup_kind kind, const char *name, const char *root,
                    char *path, size_t size, struct error *err)
{
    struct group_search s = {
        .kind = kind, .name = str_of(name), .path = path, .size = size};
    if (root)
        search_groups(&s, root);
    for (size_t i = 0; !root && !s.found && i < sizeof roots / sizeof *roots; i++) {
        int fd = open_group(roots[i]); /* not the folder of version 1's hierarchies */
        if (fd < 0)
            continue;
        close(fd);
        search_groups(&s, roots[i]);
    }
    return s.found == 1 || not_one_group(&s, err);
}

struct str os_cgroup_read(int cgroup, const char *name, char *room, size_t size)
{
    int fd = openat(cgroup, name, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, room, size);
    if (fd >= 0)
        close(fd);
    return (struct str){room, got > 0 ? (size_t)got : 0};
}

void os_cgroup_close(int cgroup)
{
    if (cgroup > 0)
        close(cgroup);
}
