/* SPDX-License-Identifier: Apache-2.0 */
/* A reading of all metrics of a machine at one time.
 *
 * The files are read through callbacks, so a test can supply those of another machine. */
#ifndef STOKE_METRICS_SNAPSHOT_H
#define STOKE_METRICS_SNAPSHOT_H

#include "metrics/counters.h"
#include "metrics/cpu.h"
#include "metrics/devices.h"
#include "metrics/fields.h"
#include "metrics/load.h"
#include "metrics/process.h"

/* Access to the files of a machine. */
struct metrics_source {
    void *context;

    /* Returns the text of a file, in memory of the arena; empty if it cannot be read. */
    struct str (*read)(void *context, const char *path, struct arena *a);

    /* Calls `each` for all processes, with their owners. */
    void (*processes)(void *context, void (*each)(void *to, uint32_t pid, uint32_t user),
                      void *to);
};

enum pressure_resource { PRESSURE_CPU, PRESSURE_MEMORY, PRESSURE_IO, PRESSURE_RESOURCES };

struct metrics {
    struct arena arena;
    uint64_t time; /* ns on the monotonic clock */
    uint64_t wall; /* ns since the epoch */
    double uptime; /* seconds */
    struct cpu_counters cpu;
    struct cpu_counter_table interrupts, softirqs;
    struct metric_fields memory, vm;
    struct buddy_zones buddy;
    struct slab_caches slab;
    struct disks disks;
    struct network_interfaces network;
    struct load_average load;
    struct pressure pressure[PRESSURE_RESOURCES][PRESSURE_KINDS];
    bool has_pressure;
    struct process_counters *processes; /* in the order of their PIDs */
    size_t process_count, process_cap;
    bool has_processes;
};

/* Which parts to read. METRICS_BASIC: CPU, memory, disks, network, load, pressure; the
 * other files of the system take longer. */
enum metrics_parts {
    METRICS_BASIC = 1,
    METRICS_OTHERS = 2,
    METRICS_SYSTEM = METRICS_BASIC | METRICS_OTHERS,
    METRICS_PROCESSES = 4,
    METRICS_SLAB = 8 /* reading them locks each cache of the kernel for a moment */
};

/* Reads the parts at that time. What a machine does not have stays empty. Returns false
 * when out of memory. Call metrics_deinit in any case. */
bool metrics_read(struct metrics *m, const struct metrics_source *source, unsigned parts,
                  uint64_t time, uint64_t wall);
void metrics_deinit(struct metrics *m);

/* The process of that PID and start time, or NULL. */
const struct process_counters *metrics_find_process(const struct metrics *m, uint32_t pid,
                                                    uint64_t start);

/* Seconds between two readings; never 0. */
double metrics_seconds(const struct metrics *before, const struct metrics *now);

#endif
