/* SPDX-License-Identifier: Apache-2.0 */
/* Reads perf maps: names of code generated at run time, which a process writes for
 * perf to /tmp/perf-PID.map. A line is "START SIZE NAME"; both numbers are
 * hexadecimal, and the name may contain spaces (Linux,
 * tools/perf/Documentation/jit-interface.txt).
 *
 * The file contains no times. If code was written over other code, the later line
 * wins. */
#ifndef STOKE_SYMBOL_PERF_MAP_H
#define STOKE_SYMBOL_PERF_MAP_H

#include "symbol/symbol_table.h"

/* Fills and finishes a table; `text` must outlive it. A last line without a line end is
 * still being written and is ignored; other invalid lines are counted in *bad_lines.
 * False only when out of memory. */
bool perf_map_init(struct symbol_table *t, struct str text, struct arena *arena,
                   uint64_t *bad_lines, struct error *err);

#endif
