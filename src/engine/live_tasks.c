/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/live_tasks.h"
#include "base/array.h"
#include "base/format.h"
#include "base/number.h"
#include "metrics/cgroup.h"
#include "metrics/process.h"
#include "os/machine.h"
#include "os/proc.h"

#define CGROUP_ROOM 8192
#define NS 1e9

/* A reading in progress. */
struct reading {
    struct live_tasks now;
    const struct live_tasks *before;
    const struct live_task_targets *targets;
    uint32_t process; /* whose threads are read */
};

/* --- Targets ----------------------------------------------------------------------- */

static bool is_among(const uint32_t *items, size_t count, uint32_t id)
{
    for (size_t i = 0; i < count; i++)
        if (items[i] == id)
            return true;
    return false;
}

static bool is_among_ascending(const uint32_t *items, size_t count, uint32_t id)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (items[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && items[low] == id;
}

static bool is_target(const struct live_task_targets *t, uint32_t pid, uint32_t tid)
{
    return t->everyone || is_among(t->pids, t->pid_count, pid) ||
           is_among_ascending(t->tids, t->tid_count, tid);
}

struct live_task *live_tasks_find(const struct live_tasks *t, uint32_t tid)
{
    const uint64_t *at = idmap_find(&t->by_tid, tid);
    return at ? &t->items[*at] : NULL;
}

/* --- Threads ----------------------------------------------------------------------- */

static struct live_task *add_task(struct live_tasks *t, uint32_t tid)
{
    uint64_t *at = idmap_put(&t->by_tid, &t->arena, tid);
    struct live_task *task =
        at ? ARRAY_APPEND_FROM_1(&t->arena, t->items, t->count, t->cap) : NULL;
    if (!task)
        return NULL;
    *at = t->count;
    *task = (struct live_task){.tid = tid};
    return task;
}

/* "ns that it ran, ns that it was ready, number of times": of the scheduler. False if the kernel
 * does not count them. */
static bool read_times(uint32_t pid, struct live_task *task)
{
    char path[64], room[128];
    format_text(path, sizeof path, "/proc/%u/task/%u/schedstat", pid, task->tid);
    struct str text = os_read_text(path, room, sizeof room);
    return number_parse_u64(str_word(&text), &task->ran) &&
           number_parse_u64(str_word(&text), &task->was_ready);
}

static double part_of(uint64_t before, uint64_t now, double seconds)
{
    return now > before ? (double)(now - before) / NS / seconds : 0;
}

/* What the thread did since the last reading. */
static void compare(const struct reading *r, uint32_t pid, struct live_task *task)
{
    const struct live_tasks *b = r->before;
    const struct live_task *before = live_tasks_find(b, task->tid);
    double seconds = (double)(r->now.time - b->time) / NS;
    if (!before || before->ended || b->processes[before->process].pid != pid ||
        seconds <= 0)
        return;
    double ran = part_of(before->ran, task->ran, seconds);
    task->ready = part_of(before->was_ready, task->was_ready, seconds);
    task->waits = ran + task->ready < 1 ? 1 - ran - task->ready : 0;
    task->has_times = true;
}

static void read_thread(void *context, uint32_t tid)
{
    struct reading *r = context;
    const struct live_process *p = &r->now.processes[r->process];
    char room[64];
    struct str name =
        tid == p->pid ? p->name : os_thread_name(p->pid, tid, room, sizeof room);
    struct live_task *task = name.len ? add_task(&r->now, tid) : NULL;
    if (!task)
        return;
    task->process = r->process;
    task->is_target = is_target(r->targets, p->pid, tid);
    task->name = tid == p->pid ? name : arena_str(&r->now.arena, name);
    if (read_times(p->pid, task))
        compare(r, p->pid, task);
}

/* --- Processes --------------------------------------------------------------------- */

/* The new process of that id; NULL if there is one, or if out of memory. */
static struct live_process *add_process(struct live_tasks *t, uint32_t pid)
{
    uint64_t *at = idmap_put(&t->by_pid, &t->arena, pid);
    struct live_process *p = at && !*at
                                 ? ARRAY_APPEND_FROM_1(&t->arena, t->processes,
                                                       t->process_count, t->process_cap)
                                 : NULL;
    if (!p)
        return NULL;
    *at = t->process_count;
    *p = (struct live_process){.pid = pid};
    return p;
}

static void read_groups(struct reading *r, struct live_process *p)
{
    char path[64], room[CGROUP_ROOM];
    format_text(path, sizeof path, "/proc/%u/cgroup", p->pid);
    struct cgroup_names c = cgroup_names_parse(os_read_text(path, room, sizeof room));
    struct str service = c.service.len ? c.service : c.group;
    if (!service.len)
        service = p->kernel ? STR("[kernel]") : STR("[no service]");
    struct str container = c.container;
    if (!container.len)
        container = p->kernel ? STR("[kernel]") : STR("[no container]");
    p->service = arena_str(&r->now.arena, service);
    p->container = arena_str(&r->now.arena, container);
}

static void read_process(struct reading *r, uint32_t pid)
{
    char path[64], room[1024];
    struct process_counters c;
    format_text(path, sizeof path, "/proc/%u/stat", pid);
    if (!process_stat_parse(os_read_text(path, room, sizeof room), &c) || c.state == 'Z')
        return;
    struct live_process *p = add_process(&r->now, pid);
    if (!p)
        return;
    p->name = arena_str(&r->now.arena, str_of(c.name));
    p->kernel = process_is_kernel(&c);
    read_groups(r, p);
    r->process = (uint32_t)r->now.process_count;
    if (c.threads > 1)
        os_process_threads(pid, read_thread, r);
    else
        read_thread(r, pid);
}

static void visit_folder(void *context, struct str name)
{
    uint64_t pid;
    if (number_parse_u64(name, &pid) && pid && pid < UINT32_MAX)
        read_process(context, (uint32_t)pid);
}

/* Threads do not change their process. */
static uint32_t process_of(const struct reading *r, uint32_t tid)
{
    const struct live_task *before = live_tasks_find(r->before, tid);
    return before ? r->before->processes[before->process].pid : os_thread_process(tid);
}

static void read_targets(struct reading *r)
{
    const struct live_task_targets *t = r->targets;
    if (t->everyone) {
        os_folder_each("/proc", visit_folder, r);
        return;
    }
    for (size_t i = 0; i < t->pid_count; i++)
        read_process(r, t->pids[i]);
    for (size_t i = 0; i < t->tid_count; i++)
        if (!live_tasks_find(&r->now, t->tids[i]))
            read_process(r, process_of(r, t->tids[i]));
}

static void read_sampled(struct reading *r, const struct profile *p)
{
    for (size_t i = 1; p && i < p->thread_count; i++)
        if (p->threads[i].pid > 0 && p->threads[i].pid < UINT32_MAX &&
            !idmap_find(&r->now.by_pid, (uint64_t)p->threads[i].pid))
            read_process(r, (uint32_t)p->threads[i].pid);
}

/* --- Those that have ended --------------------------------------------------------- */

/* The index of the same process now: it may have ended or continue without the thread. */
static uint32_t same_process(struct reading *r, const struct live_process *before)
{
    const uint64_t *at = idmap_find(&r->now.by_pid, before->pid);
    if (at && *at)
        return (uint32_t)*at;
    struct live_process *p = add_process(&r->now, before->pid);
    if (!p)
        return 0;
    p->ended = true;
    p->kernel = before->kernel;
    p->name = arena_str(&r->now.arena, before->name);
    p->service = arena_str(&r->now.arena, before->service);
    p->container = arena_str(&r->now.arena, before->container);
    return (uint32_t)r->now.process_count;
}

static void retain_ended(struct reading *r)
{
    const struct live_tasks *b = r->before;
    for (size_t i = 1; i <= b->count; i++) {
        const struct live_task *before = &b->items[i];
        if (before->weight <= 0 || live_tasks_find(&r->now, before->tid))
            continue;
        uint32_t process = same_process(r, &b->processes[before->process]);
        struct live_task *task = process ? add_task(&r->now, before->tid) : NULL;
        if (!task)
            return;
        task->process = process;
        task->ended = true;
        task->name = arena_str(&r->now.arena, before->name);
    }
}

struct live_task *live_tasks_add_ended(struct live_tasks *t, uint32_t pid, uint32_t tid,
                                       struct str name)
{
    const uint64_t *known = idmap_find(&t->by_pid, pid);
    uint32_t process = known ? (uint32_t)*known : 0;
    struct live_process *p = process ? NULL : add_process(t, pid);
    if (p) {
        bool idle = pid == 0 && tid == 0;
        p->ended = !idle;
        p->name = arena_str(&t->arena, name);
        p->service = p->container = idle ? STR("[idle]") : STR("[ended]");
        process = (uint32_t)t->process_count;
    }
    struct live_task *task = process ? add_task(t, tid) : NULL;
    if (!task)
        return NULL;
    task->process = process;
    task->ended = pid || tid;
    task->name = arena_str(&t->arena, name);
    return task;
}

bool live_tasks_read(struct live_tasks *t, const struct live_task_targets *targets,
                     const struct profile *p, uint64_t time, struct error *err)
{
    struct reading r = {.now = {.time = time}, .before = t, .targets = targets};
    read_targets(&r);
    read_sampled(&r, p);
    retain_ended(&r);
    if (r.now.arena.failed) {
        arena_deinit(&r.now.arena);
        return error_memory(err);
    }
    arena_deinit(&t->arena);
    *t = r.now;
    return true;
}

void live_tasks_deinit(struct live_tasks *t)
{
    arena_deinit(&t->arena);
    *t = (struct live_tasks){0};
}
