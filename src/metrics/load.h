/* SPDX-License-Identifier: Apache-2.0 */
/* Load average and pressure: /proc/loadavg, /proc/pressure. */
#ifndef STOKE_METRICS_LOAD_H
#define STOKE_METRICS_LOAD_H

#include "base/str.h"
#include <stdint.h>

struct load_average {
    double minutes[3]; /* of the last 1, 5 and 15 minutes */
    uint64_t running, threads;
};

bool load_average_parse(struct str text, struct load_average *out);

/* Waiting for a resource. */
struct pressure {
    double average[3]; /* percent of the last 10, 60 and 300 s */
    uint64_t total;    /* microseconds since boot */
};

enum pressure_kind { PRESSURE_SOME, PRESSURE_FULL, PRESSURE_KINDS };

/* Reads /proc/pressure/cpu, memory or io. A line that is missing is 0. False if both
 * are. */
bool pressure_parse(struct str text, struct pressure out[PRESSURE_KINDS]);

#endif
