/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables of CPython's code objects: three formats (Objects/lnotab_notes.txt of 3.8,
 * Objects/lnotab_notes.txt of 3.10, Objects/locations.md of 3.11). */
#ifndef STOKE_INTERPRETER_PYTHON_LINES_H
#define STOKE_INTERPRETER_PYTHON_LINES_H

#include "base/str.h"
#include <stdint.h>

/* The line of the instruction at `offset`, in bytes; below 0: before the first instruction.
 * 0 if the instruction has no line. `minor` selects the format. */
uint32_t python_line(uint32_t minor, struct str table, uint32_t first_line,
                     int64_t offset);

#endif
