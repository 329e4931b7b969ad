/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps of JITs, /tmp/perf-PID.map: held open while their processes exist, so that the
 * recording has the names after map and process are gone.
 * Most processes have none, and most others write it some time after they start: a sampled
 * process is checked again and again, at intervals that double. JVMs are requested to write theirs
 * (java_map.h). */
#ifndef STOKE_RECORD_JIT_MAPS_H
#define STOKE_RECORD_JIT_MAPS_H

#include "base/output.h"
#include <stdint.h>

struct jit_map;

struct record_jit_maps {
    struct jit_map *items;
    size_t count, cap;
    size_t held; /* open files */
    uint64_t checks;
    /* Set by the owner: */
    bool request_java;
    struct os_process_probe *probe; /* or NULL */
};

/* Adds a process when its first sample comes. Ignores it if there is no memory for it. */
void record_jit_maps_add(struct record_jit_maps *m, uint32_t pid);

/* Once per interval: checks for maps of the processes that were added. */
void record_jit_maps_check(struct record_jit_maps *m);

/* Writes the maps for PERF_FEATURE_JIT_MAPS (perf/format.h); nothing if there are none. */
void record_jit_maps_write(struct record_jit_maps *m, struct output *out);

/* How many JVMs that still run have given no map, or no longer give it, and why the first has not;
 * valid until the next call of another function. */
const char *record_jit_maps_problem(const struct record_jit_maps *m, uint64_t *count);

/* Adds up the counts, by process id, of the processes whose maps were written (`written`), or are
 * known and were not, because a stream has none. Sets them to 0. Returns the sum. */
uint64_t record_jit_maps_count(const struct record_jit_maps *m, bool written,
                               uint32_t *counts, uint32_t limit);

void record_jit_maps_deinit(struct record_jit_maps *m); /* also if it is all zeros */

#endif
