/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/snapshot.h"
#include "base/array.h"
#include "base/format.h"
#include "base/number.h"
#include "base/sort.h"

#define PROCESSES_MAX 4194304 /* PID_MAX_LIMIT of the kernel */

static void read_basic(struct metrics *m, const struct metrics_source *s)
{
    static const char *const pressure_files[PRESSURE_RESOURCES] = {
        "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io"};
    struct arena *a = &m->arena;
    cpu_counters_parse(s->read(s->context, "/proc/stat", a), a, &m->cpu);
    metric_fields_parse(s->read(s->context, "/proc/meminfo", a), a, &m->memory);
    disks_parse(s->read(s->context, "/proc/diskstats", a), a, &m->disks);
    network_interfaces_parse(s->read(s->context, "/proc/net/dev", a), a, &m->network);
    load_average_parse(s->read(s->context, "/proc/loadavg", a), &m->load);
    for (size_t i = 0; i < PRESSURE_RESOURCES; i++)
        m->has_pressure |=
            pressure_parse(s->read(s->context, pressure_files[i], a), m->pressure[i]);
}

static void read_others(struct metrics *m, const struct metrics_source *s)
{
    struct arena *a = &m->arena;
    cpu_counter_table_parse(s->read(s->context, "/proc/interrupts", a), a,
                            &m->interrupts);
    cpu_counter_table_parse(s->read(s->context, "/proc/softirqs", a), a, &m->softirqs);
    metric_fields_parse(s->read(s->context, "/proc/vmstat", a), a, &m->vm);
    buddy_zones_parse(s->read(s->context, "/proc/buddyinfo", a), a, &m->buddy);
    struct str uptime = s->read(s->context, "/proc/uptime", a);
    number_parse_double(str_word(&uptime), &m->uptime);
}

struct process_reader {
    struct metrics *metrics;
    const struct metrics_source *source;
    struct arena scratch;
};

static void read_process(void *to, uint32_t pid, uint32_t user)
{
    struct process_reader *r = to;
    struct metrics *m = r->metrics;
    const struct metrics_source *s = r->source;
    struct process_counters process, *slot;
    char path[64];
    format_text(path, sizeof path, "/proc/%u/stat", pid);
    if (m->process_count < PROCESSES_MAX &&
        process_stat_parse(s->read(s->context, path, &r->scratch), &process)) {
        format_text(path, sizeof path, "/proc/%u/io", pid);
        process_io_parse(s->read(s->context, path, &r->scratch), &process);
        process.user_id = user;
        slot = ARRAY_APPEND(&m->arena, m->processes, m->process_count, m->process_cap);
        if (slot)
            *slot = process;
    }
    if (r->scratch.total > (1u << 20))
        arena_deinit(&r->scratch);
}

/* Processes are usually read in the order of their PIDs already. */
static bool sort_processes(struct metrics *m)
{
    size_t n = m->process_count, in_order = 1;
    struct arena scratch = ARENA_INIT;
    while (in_order < n && m->processes[in_order - 1].pid < m->processes[in_order].pid)
        in_order++;
    if (in_order >= n)
        return true;
    struct sort_key *keys = arena_zalloc(&scratch, 2 * n, sizeof *keys);
    struct process_counters *sorted = arena_zalloc(&m->arena, n, sizeof *sorted);
    bool ok = keys && sorted;
    for (size_t i = 0; ok && i < n; i++)
        keys[i] = (struct sort_key){m->processes[i].pid, (uint32_t)i};
    if (ok)
        sort_keys(keys, n, keys + n);
    for (size_t i = 0; ok && i < n; i++)
        sorted[i] = m->processes[keys[i].id];
    if (ok)
        m->processes = sorted;
    arena_deinit(&scratch);
    return ok;
}

bool metrics_read(struct metrics *m, const struct metrics_source *source, unsigned parts,
                  uint64_t time, uint64_t wall)
{
    *m = (struct metrics){.time = time, .wall = wall};
    if (parts & METRICS_BASIC)
        read_basic(m, source);
    if (parts & METRICS_OTHERS)
        read_others(m, source);
    if (parts & METRICS_SLAB)
        slab_caches_parse(source->read(source->context, "/proc/slabinfo", &m->arena),
                          &m->arena, &m->slab);
    if (parts & METRICS_PROCESSES) {
        struct process_reader reader = {m, source, ARENA_INIT};
        source->processes(source->context, read_process, &reader);
        arena_deinit(&reader.scratch);
        m->has_processes = true;
        if (!sort_processes(m))
            return false;
    }
    return !m->arena.failed;
}

void metrics_deinit(struct metrics *m)
{
    arena_deinit(&m->arena);
    *m = (struct metrics){0};
}

const struct process_counters *metrics_find_process(const struct metrics *m, uint32_t pid,
                                                    uint64_t start)
{
    size_t low = 0, high = m->process_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->processes[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    const struct process_counters *p = m->processes + low;
    return low < m->process_count && p->pid == pid && p->start == start ? p : NULL;
}

double metrics_seconds(const struct metrics *before, const struct metrics *now)
{
    return now->time > before->time ? (double)(now->time - before->time) / 1e9 : 1;
}
