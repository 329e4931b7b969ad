/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/labels.h"
#include "base/array.h"
#include "base/hash.h"
#include "os/machine.h"
#include "os/proc.h"

#define CGROUP_TEXT_MAX 8192
#define PROCESSES_BYTES ((size_t)256 << 10) /* bytes of what is known of processes */

/* --- Labels ------------------------------------------------------------------------- */

void daemon_labels_init(struct daemon_labels *l)
{
    struct os_machine machine;
    os_machine_read(&machine);
    *l = (struct daemon_labels){0};
    format_text(l->host, sizeof l->host, "%s", machine.host);
}

static void forget_processes(struct daemon_labels *l)
{
    arena_deinit(&l->process_arena);
    l->known = (struct idmap){0};
    l->processes = NULL;
    l->process_count = l->process_cap = 0;
    l->user_name[0] = 0;
    l->windows = 0;
}

void daemon_labels_deinit(struct daemon_labels *l)
{
    arena_deinit(&l->arena);
    forget_processes(l);
}

void daemon_labels_clear(struct daemon_labels *l)
{
    arena_deinit(&l->arena);
    l->sets = (struct idmap){0};
    if (++l->windows >= DAEMON_LABELS_WINDOWS || l->process_arena.total > PROCESSES_BYTES)
        forget_processes(l);
}

static void add(struct builder *b, label_id *labels, size_t *count, struct str key,
                struct str value)
{
    if (value.len)
        labels[(*count)++] = builder_label_text(b, key, value);
}

/* Most processes belong to a few users: the last one is cached. */
static struct str user_name(struct daemon_labels *l, uint32_t user)
{
    if (!l->user_name[0] || l->user != user)
        os_user_name(user, l->user_name, sizeof l->user_name);
    l->user = user;
    return str_of(l->user_name);
}

static void read_process(struct daemon_labels *l, uint32_t pid, uint32_t user,
                         struct daemon_process_labels *p)
{
    char path[64], text[CGROUP_TEXT_MAX];
    format_text(path, sizeof path, "/proc/%u/cgroup", pid);
    struct cgroup_names c = cgroup_names_parse(os_read_text(path, text, sizeof text));
    p->cgroup.service = arena_str(&l->process_arena, c.service);
    p->cgroup.container = arena_str(&l->process_arena, c.container);
    p->cgroup.pod = arena_str(&l->process_arena, c.pod);
    p->user = arena_str(&l->process_arena, user_name(l, user));
    l->reads++;
}

/* A program that a process executes has another name, and often another control group. NULL: the
 * process has ended, or memory is short. */
static const struct daemon_process_labels *find_process(struct daemon_labels *l,
                                                        uint32_t pid, struct str comm)
{
    uint32_t user;
    uint64_t identity;
    if (!os_process_identity(pid, &user, &identity))
        return NULL;
    uint64_t name = hash_mix(user ^ HASH_B, hash_bytes(comm.ptr, comm.len));
    uint64_t key = hash_mix(hash_mix(pid ^ HASH_A, identity), name);
    uint64_t *index = idmap_put(&l->known, &l->process_arena, key);
    if (!index)
        return NULL;
    if (*index)
        return &l->processes[*index];
    struct daemon_process_labels *p = ARRAY_APPEND_FROM_1(
        &l->process_arena, l->processes, l->process_count, l->process_cap);
    if (!p)
        return NULL;
    read_process(l, pid, user, p);
    *index = l->process_count;
    return p;
}

/* The kernel did not report the name of a process that began while the sampling did: ":812". */
static struct str known_name(uint32_t pid, struct str comm, char *room, size_t size)
{
    char path[64];
    if (!str_starts(comm, STR(":")))
        return comm;
    format_text(path, sizeof path, "/proc/%u/comm", pid);
    struct str text = os_read_text(path, room, size);
    struct str name = str_head(text, str_find(text, '\n'));
    return name.len ? name : comm;
}

static label_set_id make_set(struct daemon_labels *l, struct builder *b, uint32_t pid,
                             struct str comm)
{
    label_id labels[8];
    char room[64];
    size_t count = 0;
    const struct daemon_process_labels *p = find_process(l, pid, comm);
    add(b, labels, &count, STR("host"), str_of(l->host));
    add(b, labels, &count, STR("process"), known_name(pid, comm, room, sizeof room));
    if (p) {
        add(b, labels, &count, STR("service"), p->cgroup.service);
        add(b, labels, &count, STR("container"), p->cgroup.container);
        add(b, labels, &count, STR("pod"), p->cgroup.pod);
        add(b, labels, &count, STR("user"), p->user);
    }
    return builder_label_set(b, labels, count);
}

label_set_id daemon_labels_of(struct daemon_labels *l, struct builder *b, uint32_t pid,
                              struct str comm)
{
    uint64_t process = hash_mix(pid ^ HASH_A, hash_bytes(comm.ptr, comm.len));
    uint64_t key = hash_mix(process, (uintptr_t)b ^ HASH_B);
    uint64_t *set = idmap_put(&l->sets, &l->arena, key);
    if (!set)
        return 0;
    if (!*set)
        *set = make_set(l, b, pid, comm);
    return (label_set_id)*set;
}
