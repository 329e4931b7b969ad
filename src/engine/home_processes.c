/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "base/number.h"
#include "engine/home_parts.h"
#include "metrics/process.h"
#include "os/machine.h"
#include "os/proc.h"
#include <stdlib.h>

#define TICKS 100.0        /* in a second, on all Linux machines */
#define RETAINED 500000000 /* ns */

/* A reading in progress. */
struct reading {
    const struct home_processes *before;
    struct home_processes now;
    double seconds; /* since the reading before; 0: there was none */
    uint64_t page_size;
    struct json_writer *w;
};

static int by_pid(const void *a, const void *b)
{
    const struct home_process *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool add(struct home_processes *p, struct home_process one)
{
    if (p->count == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 256;
        struct home_process *items = realloc(p->items, cap * sizeof *items);
        if (!items)
            return false;
        p->items = items;
        p->cap = cap;
    }
    p->items[p->count++] = one;
    return true;
}

/* CPU time in percent of one CPU; -1: unknown. */
static double cpu_percent(const struct reading *r, const struct home_process *now)
{
    const struct home_process *before =
        r->before->count ? bsearch(now, r->before->items, r->before->count,
                                   sizeof *r->before->items, by_pid)
                         : NULL;
    if (r->seconds == 0)
        return -1;
    /* a process that began since has used its time since then */
    uint64_t ticks = before && before->start == now->start ? before->ticks : 0;
    return now->ticks > ticks ? (double)(now->ticks - ticks) / TICKS / r->seconds * 100
                              : 0;
}

/* The last part of the process' cgroup that is a unit of systemd, or the cgroup. */
static struct str service_of(uint32_t pid, char *room, size_t size)
{
    char path[64];
    format_text(path, sizeof path, "/proc/%u/cgroup", pid);
    struct str text = os_read_text(path, room, size);
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        if (str_starts(line, STR("0::")))
            return str_basename(str_skip(line, 3));
    }
    return STR("");
}

static void write_process(const struct reading *r, const struct process_counters *p,
                          uint32_t user, double percent)
{
    char room[4096], name[64];
    struct json_writer *w = r->w;
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "pid", p->pid);
    json_member_str(w, "name", str_of(p->name));
    json_member_str(w, "service", service_of(p->pid, room, sizeof room));
    json_member_str(w, "user", os_user_name(user, name, sizeof name));
    json_put_key(w, "cpu");
    if (percent < 0)
        json_put_null(w);
    else
        json_put_double(w, percent);
    json_member_u64(w, "memory", p->resident_pages * r->page_size);
    json_end(w, JSON_OBJECT);
}

static void visit(void *context, struct str name)
{
    struct reading *r = context;
    char path[64], room[1024];
    uint64_t pid;
    uint32_t user = 0;
    struct process_counters p = {0};
    if (!number_parse_u64(name, &pid) || pid > UINT32_MAX ||
        r->now.count >= HOME_PROCESSES_MAX)
        return;
    format_text(path, sizeof path, "/proc/%u/stat", (uint32_t)pid);
    if (pid == os_own_pid() || !os_process_user((uint32_t)pid, &user) ||
        !process_stat_parse(os_read_text(path, room, sizeof room), &p) ||
        process_is_kernel(&p) || p.state == 'Z')
        return;
    struct home_process one = {p.pid, p.start, p.user + p.system};
    if (add(&r->now, one))
        write_process(r, &p, user, cpu_percent(r, &one));
}

static void read_again(struct home_processes *p, uint64_t time)
{
    struct reading r = {.before = p,
                        .now = HOME_PROCESSES_NONE,
                        .page_size = os_page_size(),
                        .w = &(struct json_writer){.out = &r.now.text}};
    r.now.time = time;
    r.seconds = p->time ? (double)(time - p->time) / 1e9 : 0;
    json_begin(r.w, JSON_OBJECT);
    json_member_double(r.w, "seconds", r.seconds);
    json_put_key(r.w, "processes");
    json_begin(r.w, JSON_ARRAY);
    os_folder_each("/proc", visit, &r);
    json_end(r.w, JSON_ARRAY);
    json_end(r.w, JSON_OBJECT);
    if (r.now.count)
        qsort(r.now.items, r.now.count, sizeof *r.now.items, by_pid);
    home_processes_deinit(p);
    *p = r.now;
}

struct str home_processes_read(struct home_processes *p)
{
    uint64_t now = os_clock_monotonic();
    if (!p->time || now - p->time >= RETAINED)
        read_again(p, now);
    return output_contents(&p->text);
}

void home_processes_deinit(struct home_processes *p)
{
    free(p->items);
    output_deinit(&p->text);
    *p = HOME_PROCESSES_NONE;
}
