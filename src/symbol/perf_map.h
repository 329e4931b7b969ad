/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code that a program made while it ran, as it writes them for perf to
 * /tmp/perf-PID.map: a line "START SIZE NAME", both numbers hexadecimal, the name with
 * blanks in it as it likes (Linux, tools/perf/Documentation/jit-interface.txt).
 *
 * There is no time in it. Where code was written over other code, the later line wins. */
#ifndef STOKE_SYMBOL_PERF_MAP_H
#define STOKE_SYMBOL_PERF_MAP_H

#include "symbol/table.h"

/* Fills and finishes a table; `text` outlives it. A last line without an end is still
 * being written and is left out; other lines that make no sense are counted in
 * *bad_lines. False only when memory is short. */
bool perf_map_init(struct symbol_table *t, struct str text, struct arena *arena,
                   uint64_t *bad_lines, struct error *err);

#endif
