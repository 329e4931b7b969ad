/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/openmetrics.h"

#define TICK 0.01         /* seconds */
#define SECTOR 512        /* bytes */
#define MILLISECOND 0.001 /* seconds */

void openmetrics_family(struct output *o, const char *name, enum openmetrics_kind kind,
                        const char *unit, const char *help)
{
    output_format(o, "# TYPE %s %s\n", name,
                  kind == OPENMETRICS_COUNTER ? "counter" : "gauge");
    if (unit[0])
        output_format(o, "# UNIT %s %s\n", name, unit);
    output_format(o, "# HELP %s %s\n", name, help);
}

void openmetrics_label_value(struct output *o, struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        if (c == '\\' || c == '"')
            output_char(o, '\\');
        if (c == '\n')
            output_text(o, "\\n");
        else
            output_char(o, (unsigned char)c < 0x80 ? c : '?');
    }
}

static void put_value(struct output *o, double v)
{
    output_char(o, ' ');
    output_double(o, v);
    output_char(o, '\n');
}

static void put_plain(struct output *o, const char *name, enum openmetrics_kind kind,
                      const char *unit, const char *help, double v)
{
    openmetrics_family(o, name, kind, unit, help);
    output_text(o, name);
    output_text(o, kind == OPENMETRICS_COUNTER ? "_total" : "");
    put_value(o, v);
}

static void write_cpu(struct output *o, const struct cpu_counters *c)
{
    openmetrics_family(o, "system_cpu_seconds", OPENMETRICS_COUNTER, "seconds",
                       "CPU time since boot by mode; user includes guest.");
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < CPU_MODES; k++) {
            output_format(o, "system_cpu_seconds_total{cpu=\"%u\",mode=\"%s\"}",
                          c->cpus[i].cpu, cpu_mode_name((enum cpu_mode)k));
            put_value(o, (double)c->cpus[i].ticks[k] * TICK);
        }
    put_plain(o, "system_context_switches", OPENMETRICS_COUNTER, "",
              "Context switches since boot.", (double)c->context_switches);
    put_plain(o, "system_forks", OPENMETRICS_COUNTER, "",
              "Processes and threads created since boot.", (double)c->forks);
    put_plain(o, "system_threads_running", OPENMETRICS_GAUGE, "", "Runnable threads.",
              (double)c->running);
    put_plain(o, "system_threads_blocked", OPENMETRICS_GAUGE, "",
              "Threads that wait for disks.", (double)c->blocked);
    put_plain(o, "system_boot_time_seconds", OPENMETRICS_GAUGE, "seconds",
              "Time of boot since the epoch.", (double)c->boot_time);
}

static void write_counters(struct output *o, const char *name, const char *label,
                           const char *help, const struct cpu_counter_table *t)
{
    openmetrics_family(o, name, OPENMETRICS_COUNTER, "", help);
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < t->rows[i].count; k++) {
            output_format(o, "%s_total{cpu=\"%u\",%s=\"", name, t->cpus[k], label);
            openmetrics_label_value(o, t->rows[i].name);
            output_text(o, "\"}");
            put_value(o, (double)t->rows[i].counts[k]);
        }
}

static void write_fields(struct output *o, const char *name, const char *unit,
                         const char *help, const struct metric_fields *f, bool with_unit)
{
    openmetrics_family(o, name, OPENMETRICS_GAUGE, unit, help);
    for (size_t i = 0; i < f->count; i++) {
        if (f->items[i].has_unit != with_unit)
            continue;
        output_format(o, "%s{field=\"", name);
        openmetrics_label_value(o, f->items[i].name);
        output_text(o, "\"}");
        put_value(o, (double)f->items[i].value * (with_unit ? 1024 : 1));
    }
}

static void write_load(struct output *o, const struct metrics *m)
{
    static const char *const minutes[3] = {"1", "5", "15"};
    static const char *const resources[PRESSURE_RESOURCES] = {"cpu", "memory", "io"};
    static const char *const kinds[PRESSURE_KINDS] = {"some", "full"};
    openmetrics_family(o, "system_load", OPENMETRICS_GAUGE, "",
                       "Load average by minutes.");
    for (size_t i = 0; i < 3; i++) {
        output_format(o, "system_load{minutes=\"%s\"}", minutes[i]);
        put_value(o, m->load.minutes[i]);
    }
    if (!m->has_pressure)
        return;
    openmetrics_family(o, "system_pressure_seconds", OPENMETRICS_COUNTER, "seconds",
                       "Time in which some or all threads waited for the resource.");
    for (size_t i = 0; i < PRESSURE_RESOURCES; i++)
        for (size_t k = 0; k < PRESSURE_KINDS; k++) {
            output_format(o, "system_pressure_seconds_total{resource=\"%s\",kind=\"%s\"}",
                          resources[i], kinds[k]);
            put_value(o, (double)m->pressure[i][k].total / 1e6);
        }
}

static void write_buddy(struct output *o, const struct buddy_zones *b)
{
    openmetrics_family(o, "system_free_blocks", OPENMETRICS_GAUGE, "",
                       "Free memory blocks of 2^order pages.");
    for (size_t i = 0; i < b->count; i++)
        for (size_t k = 0; k < b->items[i].orders; k++) {
            output_format(o, "system_free_blocks{node=\"%u\",zone=\"", b->items[i].node);
            openmetrics_label_value(o, b->items[i].name);
            output_format(o, "\",order=\"%zu\"}", k);
            put_value(o, (double)b->items[i].free[k]);
        }
}

/* A family with one value for each disk. */
static void write_disk_family(struct output *o, const struct disks *d, const char *name,
                              const char *unit, const char *help,
                              enum disk_counter counter, double scale)
{
    openmetrics_family(o, name, OPENMETRICS_COUNTER, unit, help);
    for (size_t i = 0; i < d->count; i++) {
        output_format(o, "%s_total{device=\"", name);
        openmetrics_label_value(o, d->items[i].name);
        output_text(o, "\"}");
        put_value(o, (double)d->items[i].counters[counter] * scale);
    }
}

static void write_disks(struct output *o, const struct disks *d)
{
    write_disk_family(o, d, "system_disk_reads", "", "Completed reads.", DISK_READS, 1);
    write_disk_family(o, d, "system_disk_writes", "", "Completed writes.", DISK_WRITES,
                      1);
    write_disk_family(o, d, "system_disk_read_bytes", "bytes", "Bytes read.",
                      DISK_SECTORS_READ, SECTOR);
    write_disk_family(o, d, "system_disk_written_bytes", "bytes", "Bytes written.",
                      DISK_SECTORS_WRITTEN, SECTOR);
    write_disk_family(o, d, "system_disk_read_seconds", "seconds", "Time of all reads.",
                      DISK_READ_TIME, MILLISECOND);
    write_disk_family(o, d, "system_disk_write_seconds", "seconds", "Time of all writes.",
                      DISK_WRITE_TIME, MILLISECOND);
    write_disk_family(o, d, "system_disk_busy_seconds", "seconds",
                      "Time with requests in progress.", DISK_BUSY_TIME, MILLISECOND);
}

static void write_network_family(struct output *o, const struct network_interfaces *n,
                                 const char *name, const char *unit, const char *help,
                                 size_t field)
{
    openmetrics_family(o, name, OPENMETRICS_COUNTER, unit, help);
    for (size_t i = 0; i < n->count; i++)
        for (size_t sent = 0; sent < 2; sent++) {
            const struct network_traffic *t =
                sent ? &n->items[i].sent : &n->items[i].received;
            const uint64_t values[] = {t->bytes, t->packets, t->errors, t->drops};
            output_format(o, "%s_total{device=\"", name);
            openmetrics_label_value(o, n->items[i].name);
            output_format(o, "\",direction=\"%s\"}", sent ? "sent" : "received");
            put_value(o, (double)values[field]);
        }
}

void openmetrics_write(struct output *o, const struct metrics *m)
{
    write_cpu(o, &m->cpu);
    write_load(o, m);
    write_counters(o, "system_interrupts", "interrupt", "Interrupts since boot.",
                   &m->interrupts);
    write_counters(o, "system_softirqs", "kind", "Softirqs since boot.", &m->softirqs);
    write_fields(o, "system_memory_bytes", "bytes", "Memory as in /proc/meminfo.",
                 &m->memory, true);
    write_fields(o, "system_memory_pages", "", "Counts of /proc/meminfo without a unit.",
                 &m->memory, false);
    write_fields(o, "system_vm", "", "Values of /proc/vmstat.", &m->vm, false);
    write_buddy(o, &m->buddy);
    write_disks(o, &m->disks);
    write_network_family(o, &m->network, "system_network_bytes", "bytes",
                         "Bytes of network interfaces.", 0);
    write_network_family(o, &m->network, "system_network_packets", "",
                         "Packets of network interfaces.", 1);
    write_network_family(o, &m->network, "system_network_errors", "",
                         "Errors of network interfaces.", 2);
    write_network_family(o, &m->network, "system_network_drops", "",
                         "Dropped packets of network interfaces.", 3);
}

void openmetrics_end(struct output *o)
{
    output_text(o, "# EOF\n");
}
