/* SPDX-License-Identifier: Apache-2.0 */
#include "model/processes.h"
#include "base/array.h"

bool processes_init(struct processes *p)
{
    *p = (struct processes){0};
    p->items = arena_grow(&p->arena, NULL, &p->cap, 64, sizeof *p->items);
    if (p->items)
        p->items[0] = (struct process){0};
    return strings_init(&p->names, &p->arena) && p->items;
}

void processes_deinit(struct processes *p)
{
    spaces_deinit(&p->spaces);
    arena_deinit(&p->arena);
}

bool processes_failed(const struct processes *p)
{
    return p->arena.failed || p->spaces.arena.failed;
}

struct task *processes_task(struct processes *p, uint32_t tid)
{
    uint64_t *at = idmap_put(&p->tids, &p->arena, tid);
    if (!at)
        return NULL;
    if (*at)
        return &p->tasks[*at];
    struct task *task =
        ARRAY_APPEND_FROM_1(&p->arena, p->tasks, p->task_count, p->task_cap);
    if (!task)
        return NULL;
    *at = p->task_count;
    *task = (struct task){0};
    return task;
}

const struct process *processes_find(const struct processes *p, uint32_t pid)
{
    const uint64_t *at = idmap_find(&p->pids, pid);
    return &p->items[at ? *at : 0];
}

/* The process, which the caller is going to change; it is added if it is new. NULL when
 * out of memory. */
static struct process *change(struct processes *p, uint32_t pid)
{
    uint64_t *at = idmap_put(&p->pids, &p->arena, pid);
    if (!at)
        return NULL;
    if (*at == 0) {
        struct process *process =
            ARRAY_APPEND_FROM_1(&p->arena, p->items, p->count, p->cap);
        if (!process)
            return NULL;
        *at = p->count;
        *process = (struct process){0};
    }
    p->items[*at].version = ++p->versions;
    return &p->items[*at];
}

static void set_name(struct processes *p, uint32_t tid, string_id name)
{
    struct task *task = processes_task(p, tid);
    if (task)
        *task = (struct task){name, 0};
}

void processes_name(struct processes *p, uint32_t pid, uint32_t tid, struct str name,
                    bool exec)
{
    set_name(p, tid, strings_add(&p->names, name));
    struct process *process = exec ? change(p, pid) : NULL;
    if (!process)
        return;
    space_drop(&p->spaces, process->fresh);
    process->fresh = 0;
    process->execs = true;
}

void processes_ran(struct processes *p, uint32_t pid)
{
    if (!processes_find(p, pid)->execs)
        return;
    struct process *process = change(p, pid);
    if (!process)
        return;
    space_drop(&p->spaces, process->space);
    process->space = process->fresh;
    process->fresh = 0;
    process->execs = false;
}

void processes_fork(struct processes *p, uint32_t pid, uint32_t parent_pid, uint32_t tid,
                    uint32_t parent_tid, bool was_there)
{
    const uint64_t *parent = idmap_find(&p->tids, parent_tid);
    if (tid != parent_tid)
        set_name(p, tid, parent && *parent ? p->tasks[*parent].name : 0);
    if (pid == parent_pid)
        return;
    space_id inherited =
        was_there ? 0 : space_share(&p->spaces, processes_find(p, parent_pid)->space);
    struct process *process = change(p, pid);
    if (!process)
        return;
    space_drop(&p->spaces, process->space); /* another process had that number */
    space_drop(&p->spaces, process->fresh);
    process->space = inherited;
    process->fresh = 0;
    process->execs = false;
}

void processes_map(struct processes *p, uint32_t pid, const struct address_map *map)
{
    struct process *process = change(p, pid);
    if (!process)
        return;
    process->space = space_add(&p->spaces, process->space, map);
    if (process->execs)
        process->fresh = space_add(&p->spaces, process->fresh, map);
}
