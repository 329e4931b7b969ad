/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time by mode, and the counters of /proc/stat. */
#ifndef STOKE_METRICS_CPU_H
#define STOKE_METRICS_CPU_H

#include "base/arena.h"
#include <stdint.h>

/* In the order of /proc/stat (proc(5)). */
enum cpu_mode {
    CPU_USER, /* includes guest */
    CPU_NICE, /* includes guest_nice */
    CPU_SYSTEM,
    CPU_IDLE,
    CPU_IOWAIT,
    CPU_IRQ,
    CPU_SOFTIRQ,
    CPU_STEAL,
    CPU_GUEST,
    CPU_GUEST_NICE,
    CPU_MODES
};

/* "user", "nice", "system" and so on. */
const char *cpu_mode_name(enum cpu_mode mode);

struct cpu_time {
    uint32_t cpu;              /* its number; not used for the sum of all */
    uint64_t ticks[CPU_MODES]; /* since boot, in 1/100 s on all Linux machines */
};

struct cpu_counters {
    struct cpu_time all;
    struct cpu_time *cpus; /* those online, in the order of the file */
    size_t count, cap;
    uint64_t context_switches, interrupts, softirqs, forks; /* since boot */
    uint64_t boot_time;                                     /* seconds since the epoch */
    uint64_t running, blocked;                              /* threads, now */
};

/* Reads the text of /proc/stat. Unknown lines are skipped. False if it has no line "cpu",
 * or when out of memory. */
bool cpu_counters_parse(struct str text, struct arena *a, struct cpu_counters *out);

/* The time of that CPU; NULL if it is offline. */
const struct cpu_time *cpu_counters_find(const struct cpu_counters *c, uint32_t cpu);

/* Shares of the modes between two readings, which add up to 1; all 0 if no time passed.
 * User and nice time are without that of guests, as mpstat shows it. */
void cpu_shares(const struct cpu_time *before, const struct cpu_time *now,
                double shares[CPU_MODES]);

#endif
