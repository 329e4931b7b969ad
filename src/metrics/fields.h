/* SPDX-License-Identifier: Apache-2.0 */
/* Files of named numbers: /proc/meminfo, /proc/vmstat, /proc/PID/io,
 * /proc/PID/smaps_rollup. */
#ifndef STOKE_METRICS_FIELDS_H
#define STOKE_METRICS_FIELDS_H

#include "base/arena.h"
#include <stdint.h>

struct metric_field {
    struct str name; /* without ':'; part of the text */
    uint64_t value;  /* as in the file: meminfo has KiB */
    bool has_unit;   /* followed by "kB" */
};

struct metric_fields {
    struct metric_field *items;
    size_t count, cap;
};

/* Reads lines "NAME VALUE" and "NAME: VALUE kB"; the result refers to the text. Other lines
 * are skipped. False when out of memory. */
bool metric_fields_parse(struct str text, struct arena *a, struct metric_fields *out);

/* The value of that name; 0 if there is none. */
uint64_t metric_field(const struct metric_fields *f, struct str name);

/* The same from the text, for one or two values. */
uint64_t metric_field_in(struct str text, struct str name);

#endif
