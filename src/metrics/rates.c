/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/rates.h"
#include "base/format.h"
#include "metrics/number.h"

#define TICK_MS 10 /* of /proc/stat */
#define SECTOR 512
#define KIB 1024

struct rates {
    const struct metrics *before, *now;
    const struct metrics_numbers *to;
    double seconds;
};

static void put(const struct rates *r, const char *name, const char *unit, uint64_t value)
{
    uint64_t most = INT64_MAX;
    r->to->put(r->to->context, name, unit, (int64_t)(value < most ? value : most));
}

static uint64_t per_second(const struct rates *r, uint64_t before, uint64_t now,
                           uint64_t scale)
{
    double rate = (double)metrics_increase(before, now) * (double)scale / r->seconds;
    return rate < 1e18 ? (uint64_t)(rate + 0.5) : 0;
}

static void put_rate(const struct rates *r, const char *name, const char *unit,
                     uint64_t before, uint64_t now)
{
    put(r, name, unit, per_second(r, before, now, 1));
}

/* --- CPU ---------------------------------------------------------------------------- */

static void put_modes(const struct rates *r, const char *prefix,
                      const struct cpu_time *before, const struct cpu_time *now)
{
    char name[METRICS_NAME_MAX];
    for (int mode = 0; mode < CPU_GUEST; mode++) { /* user time includes guests */
        format_text(name, sizeof name, "%s.%s", prefix,
                    cpu_mode_name((enum cpu_mode)mode));
        put(r, name, "ms/s",
            per_second(r, before->ticks[mode], now->ticks[mode], TICK_MS));
    }
}

static void put_cpu(const struct rates *r)
{
    char name[METRICS_NAME_MAX];
    const struct cpu_counters *b = &r->before->cpu, *n = &r->now->cpu;
    put(r, "cpu.count", "", n->count);
    put_modes(r, "cpu", &b->all, &n->all);
    put_rate(r, "kernel.context_switches", "1/s", b->context_switches,
             n->context_switches);
    put_rate(r, "kernel.interrupts", "1/s", b->interrupts, n->interrupts);
    put_rate(r, "kernel.softirqs", "1/s", b->softirqs, n->softirqs);
    put_rate(r, "kernel.forks", "1/s", b->forks, n->forks);
    put(r, "threads.running", "", n->running);
    put(r, "threads.blocked", "", n->blocked);
    for (size_t i = 0; i < n->count && i < METRICS_CORES_MAX; i++) {
        const struct cpu_time *before = cpu_counters_find(b, n->cpus[i].cpu);
        format_text(name, sizeof name, "core.%u", n->cpus[i].cpu);
        if (before)
            put_modes(r, name, before, &n->cpus[i]);
    }
}

/* --- Memory, load, pressure --------------------------------------------------------- */

static void put_memory(const struct rates *r)
{
    static const struct {
        const char *name, *field;
    } fields[] = {{"memory.total", "MemTotal"},
                  {"memory.free", "MemFree"},
                  {"memory.available", "MemAvailable"},
                  {"memory.buffers", "Buffers"},
                  {"memory.cached", "Cached"},
                  {"memory.slab", "Slab"},
                  {"memory.reclaimable", "SReclaimable"},
                  {"memory.anonymous", "AnonPages"},
                  {"memory.dirty", "Dirty"},
                  {"swap.total", "SwapTotal"},
                  {"swap.free", "SwapFree"}};
    const struct metric_fields *m = &r->now->memory;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        put(r, fields[i].name, "bytes", metric_field(m, str_of(fields[i].field)) * KIB);
    uint64_t others = metric_field(m, STR("Buffers")) + metric_field(m, STR("Cached")) +
                      metric_field(m, STR("SReclaimable")) +
                      metric_field(m, STR("MemFree"));
    uint64_t total = metric_field(m, STR("MemTotal"));
    put(r, "memory.used", "bytes", total > others ? (total - others) * KIB : 0);
}

static void put_load(const struct rates *r)
{
    static const char *const names[PRESSURE_RESOURCES][PRESSURE_KINDS] = {
        {"pressure.cpu.some", "pressure.cpu.full"},
        {"pressure.memory.some", "pressure.memory.full"},
        {"pressure.io.some", "pressure.io.full"}};
    put(r, "load.1", "1/100", (uint64_t)(r->now->load.minutes[0] * 100 + 0.5));
    put(r, "load.threads", "", r->now->load.threads);
    for (size_t i = 0; r->now->has_pressure && i < PRESSURE_RESOURCES; i++)
        for (size_t k = 0; k < PRESSURE_KINDS; k++)
            put_rate(r, names[i][k], "us/s", r->before->pressure[i][k].total,
                     r->now->pressure[i][k].total);
}

/* --- Devices ------------------------------------------------------------------------ */

/* sda1 of sda, nvme0n1p1 of nvme0n1 */
static bool is_part_of(struct str name, struct str disk)
{
    if (name.len <= disk.len || !str_starts(name, disk))
        return false;
    struct str rest = str_skip(name, disk.len);
    if (rest.ptr[0] == 'p' && rest.len > 1)
        rest = str_skip(rest, 1);
    for (size_t i = 0; i < rest.len; i++)
        if (rest.ptr[i] < '0' || rest.ptr[i] > '9')
            return false;
    return true;
}

bool metrics_is_whole_disk(const struct disks *all, const struct disk *d)
{
    static const char *const others[] = {"loop", "ram", "dm-", "md", "zram"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (str_starts(d->name, str_of(others[i])))
            return false;
    for (size_t i = 0; i < all->count; i++)
        if (is_part_of(d->name, all->items[i].name))
            return false;
    return true;
}

static void put_disk(const struct rates *r, const struct disk *before,
                     const struct disk *now, uint64_t *read, uint64_t *written)
{
    static const struct {
        const char *name, *unit;
        enum disk_counter counter;
        uint64_t scale;
    } numbers[] = {{"read", "bytes/s", DISK_SECTORS_READ, SECTOR},
                   {"write", "bytes/s", DISK_SECTORS_WRITTEN, SECTOR},
                   {"reads", "1/s", DISK_READS, 1},
                   {"writes", "1/s", DISK_WRITES, 1},
                   {"read_time", "ms/s", DISK_READ_TIME, 1},
                   {"write_time", "ms/s", DISK_WRITE_TIME, 1},
                   {"busy", "ms/s", DISK_BUSY_TIME, 1}};
    char name[METRICS_NAME_MAX];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t rate = per_second(r, before->counters[numbers[i].counter],
                                   now->counters[numbers[i].counter], numbers[i].scale);
        format_text(name, sizeof name, "disk.%.*s.%s", STR_ARG(now->name),
                    numbers[i].name);
        put(r, name, numbers[i].unit, rate);
        *read += numbers[i].counter == DISK_SECTORS_READ ? rate : 0;
        *written += numbers[i].counter == DISK_SECTORS_WRITTEN ? rate : 0;
    }
}

static void put_disks(const struct rates *r)
{
    const struct disks *disks = &r->now->disks;
    uint64_t read = 0, written = 0;
    size_t shown = 0;
    for (size_t i = 0; i < disks->count && shown < METRICS_DEVICES_MAX; i++) {
        const struct disk *now = &disks->items[i];
        const struct disk *before = disks_find(&r->before->disks, now->name);
        if (!before || !metrics_is_whole_disk(disks, now))
            continue;
        put_disk(r, before, now, &read, &written);
        shown++;
    }
    put(r, "disk.read", "bytes/s", read);
    put(r, "disk.write", "bytes/s", written);
}

static const struct network_interface *find_interface(
    const struct network_interfaces *all, struct str name)
{
    for (size_t i = 0; i < all->count; i++)
        if (str_equal(all->items[i].name, name))
            return &all->items[i];
    return NULL;
}

static void put_network(const struct rates *r)
{
    const struct network_interfaces *all = &r->now->network;
    char name[METRICS_NAME_MAX];
    uint64_t received = 0, sent = 0;
    for (size_t i = 0; i < all->count && i < METRICS_DEVICES_MAX; i++) {
        const struct network_interface *now = &all->items[i];
        const struct network_interface *before =
            find_interface(&r->before->network, now->name);
        if (!before)
            continue;
        uint64_t in = per_second(r, before->received.bytes, now->received.bytes, 1);
        uint64_t out = per_second(r, before->sent.bytes, now->sent.bytes, 1);
        format_text(name, sizeof name, "net.%.*s.in", STR_ARG(now->name));
        put(r, name, "bytes/s", in);
        format_text(name, sizeof name, "net.%.*s.out", STR_ARG(now->name));
        put(r, name, "bytes/s", out);
        if (!str_equal(now->name, STR("lo"))) {
            received += in;
            sent += out;
        }
    }
    put(r, "net.in", "bytes/s", received);
    put(r, "net.out", "bytes/s", sent);
}

void metrics_rates(const struct metrics *before, const struct metrics *now,
                   const struct metrics_numbers *to)
{
    struct rates r = {before, now, to, metrics_seconds(before, now)};
    put_cpu(&r);
    put_memory(&r);
    put_load(&r);
    put_disks(&r);
    put_network(&r);
}
