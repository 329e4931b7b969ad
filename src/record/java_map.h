/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the code that a Java virtual machine compiled, without any option of the JVM: it is
 * requested to write them (Compiler.perfmap, JDK 17 and later) again and again while it runs, at
 * intervals that grow with its age, and at the end of the recording. A map lists only the code that
 * exists, so the maps are merged: of two functions at the same address, the newer one
 * counts. The files are removed; a map that exists before the first request is not touched. */
#ifndef STOKE_RECORD_JAVA_MAP_H
#define STOKE_RECORD_JAVA_MAP_H

#include "base/error.h"
#include <stdint.h>

struct java_map;

/* NULL if the process is not a JVM, if it has a map of its own, or if out of memory. */
struct java_map *java_map_new(uint32_t pid);

/* Continues or begins a request if it is time. Does not wait. */
void java_map_step(struct java_map *m);

/* Begins a request now, unless the last one just ended; waits for its end until that time (ns). */
void java_map_finish(struct java_map *m, uint64_t deadline);

/* The merged map in the format of symbol/perf_map.h; empty if there is none. Valid until the next
 * step. */
struct str java_map_text(const struct java_map *m);

/* Why there are no more requests; empty: there are, or the process has ended. */
const char *java_map_problem(const struct java_map *m);

void java_map_destroy(struct java_map *m); /* also NULL */

#endif
