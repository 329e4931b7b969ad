/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what an object file contains for unwinding: its call frame information and
 * its code. */
#ifndef STOKE_UNWIND_SOURCE_H
#define STOKE_UNWIND_SOURCE_H

#include "symbol/elf.h"
#include "unwind/unwind_table.h"

/* The architecture of an object file; ARCH_UNKNOWN if it is not supported. */
enum architecture unwind_machine_of(const struct elf *e);

/* Fills *source from the mapped file. `debug` is its separate debug file, or NULL;
 * .debug_frame is taken from it if the file has none. For a Go executable without both,
 * .debug_frame is generated from its function table (symbol/go_frames.h). The bytes and
 * arenas of the elf structs must outlive everything made from the source. A file
 * without call frame information has no sections, and its table has no rows. */
void unwind_source_of(struct unwind_source *source, struct elf *e, struct elf *debug);

/* A part of unwind_source_of, in switches.c. `go`: the function table of a Go
 * executable without symbols, or NULL. */
struct go_table;
void unwind_source_switches(struct unwind_source *source, struct elf *e,
                            struct elf *debug, const struct go_table *go);

#endif
