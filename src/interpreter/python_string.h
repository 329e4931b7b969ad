/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of CPython: str objects with characters of 1, 2 or 4 bytes, and bytes objects. */
#ifndef STOKE_INTERPRETER_PYTHON_STRING_H
#define STOKE_INTERPRETER_PYTHON_STRING_H

#include "interpreter/python_layout.h"

/* Largest line table that is read. */
#define PYTHON_LINES_MAX ((uint64_t)1 << 20)

/* Reads a str object as UTF-8, truncated to INTERPRETER_NAME_MAX bytes, into the arena. Empty,
 * with m->failed set, if there is no valid one. */
struct str python_string(struct memory *m, const struct python_layout *l,
                         uint64_t address, struct arena *arena);

/* Reads a bytes object into the arena; empty, with m->failed set, if it is larger than
 * PYTHON_LINES_MAX or not readable. */
struct str python_bytes(struct memory *m, const struct python_layout *l, uint64_t address,
                        struct arena *arena);

#endif
