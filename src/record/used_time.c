/* SPDX-License-Identifier: Apache-2.0 */
#include "record/used_time.h"
#include "base/format.h"
#include "base/number.h"
#include "os/cgroup.h"
#include "os/machine.h"
#include <stdlib.h>
#include <unistd.h>

#define TICK_NS ((uint64_t)10000000) /* of /proc/stat, on all Linux machines */
#define STAT_ROOM ((size_t)1 << 16)

/* --- The machine, control groups --------------------------------------------------- */

/* Fields of a line: user, nice, system, idle, iowait, irq, softirq. */
static uint64_t busy_ticks(struct str line)
{
    uint64_t busy = 0, ticks;
    for (unsigned field = 0; field < 7; field++) {
        bool idle = field == 3 || field == 4;
        if (number_parse_u64(str_word(&line), &ticks) && !idle)
            busy += ticks;
    }
    return busy;
}

static bool is_target(const struct record_targets *t, struct str cpu)
{
    uint64_t number;
    if (!t->cpus)
        return cpu.len == 0; /* the sum of all */
    for (size_t i = 0; number_parse_u64(cpu, &number) && i < t->cpu_count; i++)
        if (t->cpus[i] == number)
            return true;
    return false;
}

/* The lines "cpu" and "cpu0" to "cpuN" come first. */
static uint64_t time_of_machine(const struct record_targets *t)
{
    char room[STAT_ROOM];
    uint64_t ticks = 0;
    struct str rest = os_read_text("/proc/stat", room, sizeof room);
    while (str_starts(rest, STR("cpu"))) {
        struct str line = str_cut(&rest, '\n'), name = str_word(&line);
        if (is_target(t, str_skip(name, 3)))
            ticks += busy_ticks(line);
    }
    return ticks * TICK_NS;
}

/* "usage_usec 1234": 0 if the group is of another hierarchy. */
static uint64_t time_of_group(int cgroup)
{
    char room[4096];
    uint64_t us = 0;
    struct str rest = os_cgroup_read(cgroup, "cpu.stat", room, sizeof room);
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        if (str_equal(str_word(&line), STR("usage_usec")))
            number_parse_u64(str_word(&line), &us);
    }
    return us * 1000;
}

/* --- Threads ----------------------------------------------------------------------- */

static void open_counters(struct record_used_time *u)
{
    const struct record_targets *t = u->targets;
    struct record_event clock = record_event_clock();
    clock.config = PERF_SOFTWARE_TASK_CLOCK;
    struct perf_attr attr = record_event_attr(&clock);
    attr.read_format = PERF_READ_ENABLED | PERF_READ_RUNNING;
    attr.flags |= t->alone ? 0 : PERF_FLAG_INHERIT;
    if (t->tid_count == 0 || t->tid_count > RECORD_USED_TIME_THREADS)
        return;
    u->counters = calloc(t->tid_count, sizeof *u->counters);
    for (size_t i = 0; u->counters && i < t->tid_count; i++) {
        int fd = os_perf_open(&attr, t->tids[i], OS_ANY_CPU);
        if (fd < 0) {
            record_used_time_close(u);
            return;
        }
        u->counters[u->count++] = fd;
    }
}

void record_used_time_open(struct record_used_time *u,
                           const struct record_targets *targets)
{
    *u = (struct record_used_time){.targets = targets};
    if (!targets->everyone)
        open_counters(u);
}

void record_used_time_close(struct record_used_time *u)
{
    for (size_t i = 0; i < u->count; i++)
        close(u->counters[i]);
    free(u->counters);
    u->counters = NULL;
    u->count = 0;
}

/* --- The comparison ---------------------------------------------------------------- */

static uint64_t time_of_all(const struct record_targets *t)
{
    if (!t->cgroup)
        return time_of_machine(t);
    return t->cpus ? 0 : time_of_group(t->cgroup);
}

void record_used_time_start(struct record_used_time *u)
{
    if (u->targets->everyone)
        u->before = time_of_all(u->targets);
    for (size_t i = 0; i < u->count; i++)
        os_perf_enable(u->counters[i]);
}

void record_used_time_stop(struct record_used_time *u)
{
    struct os_perf_count count;
    u->used = 0;
    if (u->targets->everyone) {
        uint64_t now = time_of_all(u->targets);
        u->known = now > u->before && (u->before || !u->targets->cgroup);
        u->used = u->known ? now - u->before : 0;
        return;
    }
    u->known = u->count > 0;
    for (size_t i = 0; i < u->count; i++) {
        u->known &= os_perf_count(u->counters[i], &count);
        u->used += u->known ? count.value : 0;
    }
}
