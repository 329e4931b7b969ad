/* SPDX-License-Identifier: Apache-2.0 */
/* What an object file has for an unwinder: where its call frame information and its code
 * lie. */
#ifndef STOKE_UNWIND_SOURCE_H
#define STOKE_UNWIND_SOURCE_H

#include "symbol/elf.h"
#include "unwind/table.h"

/* The machine of an object file, as far as the model has a name for it. */
enum architecture unwind_machine_of(const struct elf *e);

/* Fills *source from the file that is mapped; `debug` is its separate debug file, or
 * NULL, where .debug_frame is taken from if the file has none. A Go program without any
 * gets what its own table of functions knows (symbol/go_frames.h). The elf structs' bytes and
 * arenas must outlive what is made of the source. A file without any call frame
 * information gives no sections, and a table without rows. */
void unwind_source_of(struct unwind_source *source, struct elf *e, struct elf *debug);

/* switches.c: a part of the above. `go`: Go's own table of a program without symbols, or
 * NULL. */
struct go_table;
void unwind_source_switches(struct unwind_source *source, struct elf *e,
                            struct elf *debug, const struct go_table *go);

#endif
