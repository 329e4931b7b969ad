/* SPDX-License-Identifier: Apache-2.0 */
/* Counters by CPU: /proc/interrupts and /proc/softirqs. */
#ifndef STOKE_METRICS_COUNTERS_H
#define STOKE_METRICS_COUNTERS_H

#include "base/arena.h"
#include <stdint.h>

struct cpu_counter {
    struct str name;        /* "24", "NMI", "NET_RX"; part of the text */
    struct str description; /* of an interrupt; part of the text */
    uint64_t *counts;       /* by column */
    size_t count;           /* counts in this line: ERR has only one */
};

struct cpu_counter_table {
    uint32_t *cpus; /* the CPU of each column */
    size_t cpu_count, cpu_cap;
    struct cpu_counter *rows;
    size_t count, cap;
};

/* Reads such a file; the result refers to the text. Invalid lines are skipped. False if
 * no line names the CPUs, or when out of memory. */
bool cpu_counter_table_parse(struct str text, struct arena *a,
                             struct cpu_counter_table *out);

/* The row of that name, or NULL. `hint` is its likely index. */
const struct cpu_counter *cpu_counter_find(const struct cpu_counter_table *t,
                                           struct str name, size_t hint);

/* The sum of all rows and columns. */
uint64_t cpu_counter_sum(const struct cpu_counter_table *t);

/* The count in a column; 0 if the row has fewer. `row` may be NULL. */
static inline uint64_t cpu_counter_at(const struct cpu_counter *row, size_t column)
{
    return row && column < row->count ? row->counts[column] : 0;
}

#endif
