/* SPDX-License-Identifier: Apache-2.0 */
/* What JITs have written of their code, /tmp/perf-PID.map: held open while their processes
 * are there, so that the recording has the names when map and process are gone.
 *
 * Most processes have none and most that have one write it some time after they began: a
 * process that is sampled is looked at again and again, each time after twice as long. */
#ifndef STOKE_RECORD_JIT_MAPS_H
#define STOKE_RECORD_JIT_MAPS_H

#include "base/output.h"
#include <stdint.h>

struct jit_map;

struct record_jit_maps {
    struct jit_map *items;
    size_t count, cap;
    size_t held; /* files that are open */
    uint64_t looks;
};

/* A process has samples, for the first time since it began. Those that there is no room
 * for are left out. */
void record_jit_maps_see(struct record_jit_maps *m, uint32_t pid);

/* Once in a while: looks for maps of those that are seen. */
void record_jit_maps_look(struct record_jit_maps *m);

/* Writes what the maps have by now, for PERF_FEATURE_JIT_MAPS (perf/format.h):
 * nothing where there are none. */
void record_jit_maps_write(struct record_jit_maps *m, struct output *out);

/* Takes the counts of those processes, by their number, whose maps were written: gives
 * their sum, and leaves 0 of them. */
uint64_t record_jit_maps_take(const struct record_jit_maps *m, uint32_t *counts,
                              uint32_t limit);

void record_jit_maps_deinit(
    struct record_jit_maps *m); /* also of one that is all zeros */

#endif
