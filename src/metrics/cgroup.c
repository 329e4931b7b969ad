/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/cgroup.h"

#define CONTAINER_ID 64    /* hexadecimal digits */
#define CONTAINER_SHOWN 12 /* as container engines print them */

/* The name between two texts; empty if there is none. */
static struct str between(struct str part, struct str before, struct str after)
{
    if (part.len <= before.len + after.len || !str_starts(part, before) ||
        !str_ends(part, after))
        return STR("");
    return str_head(str_skip(part, before.len), part.len - before.len - after.len);
}

/* The name in "lxc.payload.NAME", "machine-NAME.scope" or "systemd-nspawn@NAME.service". */
static struct str named_container(struct str part)
{
    struct str name = between(part, STR("lxc.payload."), STR(""));
    if (!name.len)
        name = between(part, STR("machine-"), STR(".scope"));
    if (!name.len)
        name = between(part, STR("systemd-nspawn@"), STR(".service"));
    return name;
}

/* The id in "docker-ID.scope", "cri-containerd-ID.scope" or "ID"; empty if there is none.
 * "libpod-conmon-ID.scope" has podman's monitor of the container. */
static struct str container_of(struct str part)
{
    struct str name = named_container(part);
    if (name.len)
        return name;
    if (str_ends(part, STR(".scope")))
        part.len -= STR(".scope").len;
    if (part.len < CONTAINER_ID)
        return STR("");
    struct str id = str_skip(part, part.len - CONTAINER_ID);
    for (size_t i = 0; i < id.len; i++)
        if (!byte_is_hex(id.ptr[i]))
            return STR("");
    bool separate = part.len == CONTAINER_ID || id.ptr[-1] == '-';
    bool monitor = str_has(str_head(part, part.len - CONTAINER_ID), STR("conmon"));
    return separate && !monitor ? str_head(id, CONTAINER_SHOWN) : STR("");
}

/* The id in "kubepods-besteffort-podID.slice" or "podID"; empty if there is none. */
static struct str pod_of(struct str part, bool inside_pods)
{
    if (str_ends(part, STR(".slice")))
        part.len -= STR(".slice").len;
    if (str_starts(part, STR("kubepods")))
        part = str_skip(part, str_rfind(part, '-') + 1);
    else if (!inside_pods)
        return STR("");
    return str_starts(part, STR("pod")) ? str_skip(part, 3) : STR("");
}

static void parse_path(struct str path, struct cgroup_names *c)
{
    bool inside_pods = str_has(path, STR("/kubepods"));
    while (path.len) {
        struct str part = str_cut(&path, '/');
        struct str container = container_of(part), pod = pod_of(part, inside_pods);
        if (str_ends(part, STR(".service")))
            c->service = part;
        if (container.len)
            c->container = container;
        if (pod.len)
            c->pod = pod;
    }
}

struct cgroup_names cgroup_names_parse(struct str text)
{
    struct cgroup_names c = {STR(""), STR(""), STR(""), STR("")};
    while (text.len) { /* number:controllers:path */
        struct str line = str_cut(&text, '\n'), number = str_cut(&line, ':');
        struct str controllers = str_cut(&line, ':');
        bool of_units =
            str_equal(number, STR("0")) || str_equal(controllers, STR("name=systemd"));
        parse_path(line, &c);
        if (of_units && line.len > 1)
            c.group = str_basename(line);
    }
    return c;
}
