/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that thresholds are compared with. */
#include "base/format.h"
#include "daemon/triggers.h"
#include "metrics/number.h"
#include <math.h>

#define LISTED_EVERY 10 /* readings: the list of all processes takes longer */
#define TICKS 100.0     /* per second, of /proc/stat: a tick per second is a percent */

/* --- Processes -------------------------------------------------------------------------- */

static bool is_watched(const struct daemon_watch *w, const char *name)
{
    for (size_t i = 0; i < w->settings->count; i++) {
        const struct daemon_threshold *t = &w->settings->items[i];
        if (t->process[0] && str_equal(str_of(t->process), str_of(name)))
            return true;
    }
    return false;
}

static const struct daemon_watched *find(const struct daemon_watch *w, uint32_t pid,
                                         uint64_t start)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->processes[i].pid == pid && w->processes[i].start == start)
            return &w->processes[i];
    return NULL;
}

struct reader {
    struct daemon_watch *watch;
    struct arena scratch;
};

static void read_process(void *to, uint32_t pid, uint32_t user)
{
    struct reader *r = to;
    struct daemon_watch *w = r->watch;
    struct process_counters c;
    char path[64], name[DAEMON_COMM_SIZE];
    (void)user;
    if (w->next_count == DAEMON_WATCHED_MAX)
        return;
    format_text(path, sizeof path, "/proc/%u/stat", pid);
    bool ok =
        process_stat_parse(w->source->read(w->source->context, path, &r->scratch), &c);
    if (r->scratch.total > (1u << 20))
        arena_deinit(&r->scratch);
    if (!ok)
        return;
    format_text(name, sizeof name, "%s", c.name);
    if (!is_watched(w, name))
        return;
    const struct daemon_watched *before = find(w, pid, c.start);
    uint64_t ticks = c.user + c.system;
    struct daemon_watched *next = &w->next[w->next_count++];
    *next = (struct daemon_watched){
        .pid = pid,
        .start = c.start,
        .ticks = ticks,
        .used = before && ticks > before->ticks ? ticks - before->ticks : 0,
        .pages = c.resident_pages};
    format_text(next->name, sizeof next->name, "%s", name);
}

static void read_processes(struct daemon_watch *w)
{
    struct reader r = {.watch = w};
    w->next_count = 0;
    if (w->readings++ % LISTED_EVERY == 0)
        w->source->processes(w->source->context, read_process, &r);
    else
        for (size_t i = 0; i < w->count; i++)
            read_process(&r, w->processes[i].pid, 0);
    memcpy(w->processes, w->next, w->next_count * sizeof *w->next);
    w->count = w->next_count;
    arena_deinit(&r.scratch);
}

static bool has_processes(const struct daemon_trigger_settings *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].process[0])
            return true;
    return false;
}

static double process_value(const struct daemon_watch *w,
                            const struct daemon_threshold *t, double seconds)
{
    uint64_t ticks = 0, pages = 0;
    for (size_t i = 0; i < w->count; i++) {
        if (!str_equal(str_of(w->processes[i].name), str_of(t->process)))
            continue;
        ticks += w->processes[i].used;
        pages += w->processes[i].pages;
    }
    return t->kind == THRESHOLD_PROCESS_CPU ? (double)ticks * 100 / TICKS / seconds
                                            : (double)pages * (double)w->page_size;
}

/* --- The machine ------------------------------------------------------------------------ */

/* Time in which CPUs were not idle. On a busy virtual machine, what the hypervisor steals is
 * time in which threads were ready to run. */
static double cpu_value(const struct cpu_time *before, const struct cpu_time *now)
{
    double all = 0, idle = 0;
    for (int mode = 0; mode < CPU_GUEST; mode++) { /* user time includes guests */
        double ticks = (double)metrics_increase(before->ticks[mode], now->ticks[mode]);
        all += ticks;
        if (mode == CPU_IDLE || mode == CPU_IOWAIT)
            idle += ticks;
    }
    return all > 0 ? (all - idle) * 100 / all : NAN;
}

static double memory_value(const struct metrics *now)
{
    double total = (double)metric_field(&now->memory, STR("MemTotal"));
    double left = (double)metric_field(&now->memory, STR("MemAvailable"));
    return total > 0 ? (total - left) * 100 / total : NAN;
}

/* Microseconds of waiting, as a part of the time. */
static double pressure_value(const struct daemon_watch *w, const struct metrics *now,
                             size_t resource, double seconds)
{
    if (!w->has_pressure || !now->has_pressure)
        return NAN;
    return (double)metrics_increase(w->pressure[resource],
                                    now->pressure[resource][PRESSURE_SOME].total) /
           1e4 / seconds;
}

static double value_of(const struct daemon_watch *w, const struct metrics *now,
                       const struct daemon_threshold *t, double seconds)
{
    switch (t->kind) {
    case THRESHOLD_MEMORY:
        return memory_value(now);
    case THRESHOLD_PROCESS_CPU:
    case THRESHOLD_PROCESS_MEMORY:
        return process_value(w, t, seconds);
    case THRESHOLD_CPU:
        return w->time ? cpu_value(&w->cpu, &now->cpu.all) : NAN;
    default:
        return pressure_value(w, now, t->kind - THRESHOLD_PRESSURE_CPU, seconds);
    }
}

void daemon_watch_read(struct daemon_watch *w, const struct metrics *now, double *values)
{
    double seconds =
        w->time && now->time > w->time ? (double)(now->time - w->time) / 1e9 : 1;
    if (has_processes(w->settings))
        read_processes(w);
    for (size_t i = 0; i < w->settings->count; i++)
        values[i] = value_of(w, now, &w->settings->items[i], seconds);
    w->time = now->time;
    w->cpu = now->cpu.all;
    w->has_pressure = now->has_pressure;
    for (size_t i = 0; i < PRESSURE_RESOURCES; i++)
        w->pressure[i] = now->pressure[i][PRESSURE_SOME].total;
}
