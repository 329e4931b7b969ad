/* SPDX-License-Identifier: Apache-2.0 */
/* Named numbers of the time between two readings, as a history stores them: rates of
 * counters, and values now. stoke-daemon(1) lists the names. */
#ifndef STOKE_METRICS_RATES_H
#define STOKE_METRICS_RATES_H

#include "metrics/snapshot.h"

#define METRICS_CORES_MAX 64   /* with numbers of their own */
#define METRICS_DEVICES_MAX 16 /* disks, interfaces: of each */
#define METRICS_NAME_MAX 64

/* Receives the number of a metric: "cpu.user", "ms/s". The name is valid during the
 * call. */
struct metrics_numbers {
    void (*put)(void *context, const char *name, const char *unit, int64_t value);
    void *context;
};

/* Reports all numbers of `now`, in an order that changes with the hardware only. */
void metrics_rates(const struct metrics *before, const struct metrics *now,
                   const struct metrics_numbers *to);

/* True for a disk whose traffic is not that of another disk in the list: no partition,
 * no loop device, no mapped device. */
bool metrics_is_whole_disk(const struct disks *all, const struct disk *d);

#endif
