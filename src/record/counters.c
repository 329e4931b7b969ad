/* SPDX-License-Identifier: Apache-2.0 */
#include "record/counters.h"
#include "base/array.h"
#include "os/machine.h"
#include "perf/format.h"
#include "record/refusal.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_split(const struct record_counters *c, size_t event)
{
    uint32_t group = c->settings.events.items[event].group;
    return group && c->split >> (group - 1) & 1;
}

/* The event that leads this one's group; the event itself if it is alone. */
static size_t leader_of(const struct record_counters *c, size_t event)
{
    return is_split(c, event) ? event : record_events_leader(&c->settings.events, event);
}

static struct perf_attr attr_of(const struct record_counters *c, size_t event)
{
    const struct record_event *e = &c->settings.events.items[event];
    const struct record_targets *t = &c->settings.targets;
    struct perf_attr attr = record_event_attr(e);
    attr.read_format = PERF_READ_ENABLED | PERF_READ_RUNNING;
    if (!t->everyone && !t->alone)
        attr.flags |= PERF_FLAG_INHERIT;
    if (t->from_exec)
        attr.flags |= PERF_FLAG_ENABLE_ON_EXEC;
    if (leader_of(c, event) != event) /* it counts while the leader does */
        attr.flags &= ~(PERF_FLAG_DISABLED | PERF_FLAG_ENABLE_ON_EXEC);
    return attr;
}

/* The counters of a target are the last. -1: the event leads its group. */
static int leader_counter(const struct record_counters *c, size_t event, int64_t tid,
                          uint32_t cpu)
{
    size_t leader = leader_of(c, event);
    for (size_t i = c->count; leader != event && i-- > 0;)
        if (c->items[i].event == leader && c->items[i].tid == tid &&
            c->items[i].cpu == cpu)
            return c->items[i].fd;
    return -1;
}

/* Errors of events that the machine does not have, or not with these settings. */
static bool means_missing(int why)
{
    return why == ENOENT || why == EOPNOTSUPP || why == ENXIO || why == ENODEV ||
           why == EINVAL || why == ENOSYS;
}

static bool refused(const struct record_counters *c, size_t event, int why,
                    struct error *err)
{
    struct perf_sampler_settings as_sampled = {
        .events = c->settings.events, .targets = c->settings.targets, .command = "stat"};
    return record_refusal(&as_sampled, event, why, err);
}

/* Changes an event that the kernel refuses, so that it may be accepted: without the right to see the
 * kernel, user code is counted; some units do not distinguish guests. False if nothing helps. */
static bool adapt(struct record_counters *c, struct record_event *e, int why)
{
    bool hidden = (why == EACCES || why == EPERM) && !e->needs_kernel &&
                  !(e->exclude & PERF_FLAG_EXCLUDE_KERNEL) && record_paranoid() > 1;
    if (hidden) {
        record_event_only_user(e);
        c->hidden++;
        return true;
    }
    if (why != EINVAL || e->guests || e->type <= PERF_TYPE_BREAKPOINT)
        return false;
    e->guests = true;
    return true;
}

/* Opens an event's counter. */
static int open_event(struct record_counters *c, size_t event, int64_t tid, uint32_t cpu)
{
    struct record_event *e = &c->settings.events.items[event];
    int cgroup = c->settings.targets.cgroup, leader = leader_counter(c, event, tid, cpu);
    for (;;) {
        struct perf_attr attr = attr_of(c, event);
        int fd = cgroup ? os_perf_open_cgroup(&attr, cgroup, (int)cpu, leader)
                        : os_perf_open_in(&attr, tid, (int)cpu, leader);
        if (fd >= 0 || !adapt(c, e, -fd))
            return fd;
    }
}

/* Closes the counters of this target that belong to the group, whose events are then counted one
 * by one. */
static void split_group(struct record_counters *c, size_t event, int64_t tid,
                        uint32_t cpu)
{
    uint32_t group = c->settings.events.items[event].group;
    c->split |= (uint32_t)1 << (group - 1);
    for (size_t i = c->count; i-- > 0;) {
        struct record_counter *k = &c->items[i];
        if (k->tid != tid || k->cpu != cpu ||
            c->settings.events.items[k->event].group != group)
            continue;
        close(k->fd);
        *k = c->items[--c->count];
    }
}

/* A group is counted at once, or its events are missing; a weak one is split instead. */
static bool can_split(const struct record_counters *c, size_t event)
{
    uint32_t group = c->settings.events.items[event].group;
    return group && !is_split(c, event) && c->settings.events.groups[group - 1].weak;
}

/* Retains the counter, with the filter of its event. */
static bool add_counter(struct record_counters *c, const struct record_counter *k,
                        struct error *err)
{
    const char *filter = c->settings.events.items[k->event].filter;
    if (filter && !os_perf_filter(k->fd, filter)) {
        error_set(err, "the kernel rejects the filter '%s'", filter);
        error_hint(err, "the fields of the event: /sys/kernel/tracing/events/*/*/format");
    } else if (ARRAY_RESERVE_HEAP(c->items, c->cap, c->count + 1)) {
        c->items[c->count++] = *k;
        return true;
    } else {
        error_memory(err);
    }
    close(k->fd);
    return false;
}

/* Adds the counters of a target: a thread, or a CPU. */
static bool add_target(struct record_counters *c, int64_t tid, uint32_t cpu,
                       struct error *err)
{
    for (size_t i = 0; i < c->settings.events.count; i++) {
        c->missing[i] |= c->missing[leader_of(c, i)];
        if (c->missing[i])
            continue;
        struct record_counter k = {open_event(c, i, tid, cpu), (uint32_t)i, cpu, tid};
        if (k.fd == -ESRCH && tid != OS_ANY_THREAD)
            return true; /* the thread has ended */
        if (k.fd == -EINVAL && can_split(c, i)) {
            size_t first = record_events_leader(&c->settings.events, i);
            split_group(c, i, tid, cpu);
            i = first - 1; /* opens all of its events again */
        } else if (k.fd < 0 && means_missing(-k.fd)) {
            c->missing[i] = true;
        } else if (k.fd < 0) {
            return refused(c, i, -k.fd, err);
        } else if (!add_counter(c, &k, err)) {
            return false;
        }
    }
    return true;
}

/* An event of a unit with a cpumask is counted on those CPUs only. */
static void remove_other_cpus(struct record_counters *c, size_t event, uint32_t *cpus)
{
    size_t count = record_event_unit_cpus(&c->settings.events.items[event], cpus),
           left = 0;
    for (size_t i = 0; count && i < c->count; i++) {
        bool counts = c->items[i].event != event;
        for (size_t k = 0; !counts && k < count; k++)
            counts = cpus[k] == c->items[i].cpu;
        if (counts)
            c->items[left++] = c->items[i];
        else
            close(c->items[i].fd);
    }
    if (count)
        c->count = left;
}

static bool add_cpus(struct record_counters *c, struct error *err)
{
    const struct record_targets *t = &c->settings.targets;
    uint32_t *online = malloc(OS_CPUS_MAX * sizeof *online);
    if (!online)
        return error_memory(err);
    size_t count = t->cpus ? t->cpu_count : os_cpus_online(online);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = add_target(c, OS_ANY_THREAD, t->cpus ? t->cpus[i] : online[i], err);
    for (size_t i = 0; ok && i < c->settings.events.count; i++)
        remove_other_cpus(c, i, online);
    free(online);
    return ok;
}

bool record_counters_open(struct record_counters *c,
                          const struct record_counters_settings *settings,
                          struct error *err)
{
    const struct record_targets *t = &settings->targets;
    *c = (struct record_counters){.settings = *settings};
    os_raise_file_limit();
    if (t->everyone)
        return add_cpus(c, err);
    for (size_t i = 0; i < t->tid_count; i++)
        if (!add_target(c, t->tids[i], (uint32_t)OS_ANY_CPU, err))
            return false;
    return true;
}

void record_counters_close(struct record_counters *c)
{
    for (size_t i = 0; i < c->count; i++)
        close(c->items[i].fd);
    free(c->items);
    *c = (struct record_counters){.count = 0};
}

static bool leads(const struct record_counters *c, const struct record_counter *k)
{
    return leader_of(c, k->event) == k->event;
}

void record_counters_enable(struct record_counters *c)
{
    for (size_t i = 0; i < c->count && !c->settings.targets.from_exec; i++)
        if (leads(c, &c->items[i]))
            os_perf_enable(c->items[i].fd);
}

void record_counters_disable(struct record_counters *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (leads(c, &c->items[i]))
            os_perf_disable(c->items[i].fd);
}

struct os_perf_count record_counters_read(const struct record_counter *c)
{
    struct os_perf_count count;
    return os_perf_count(c->fd, &count) ? count : (struct os_perf_count){0};
}
