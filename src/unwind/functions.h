/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of single functions, each made when an address of it is first met: for those who
 * meet few addresses of many large files, as a recorder does. A whole module's table
 * (table.h) takes time and memory of its size; here both are of what is met.
 *
 * Functions are found by .eh_frame_hdr, the linker's sorted list; a file without one, or
 * a small one, is better served by a whole table. */
#ifndef STOKE_UNWIND_FUNCTIONS_H
#define STOKE_UNWIND_FUNCTIONS_H

#include "base/idmap.h"
#include "symbol/elf.h"
#include "unwind/table.h"

struct unwind_functions {
    struct unwind_source source;
    struct cfi_header header;
    struct arena *arena;
    struct unwind_table segments; /* without rows: what turns offsets into addresses */
    struct unwind_table **tables; /* [0] is none */
    size_t table_count, table_cap;
    struct idmap by_start;  /* from a function's address to its place */
    struct idmap by_offset; /* from an offset that was asked for to the place + 1 */
};

/* `source` is what unwind_source_of made of the file. The file's bytes and the arena
 * outlive the functions, and the tables are the arena's. False where the file has no list
 * of functions, and a whole table is to be made. */
bool unwind_functions_init(struct unwind_functions *f, const struct unwind_source *source,
                           struct elf *e, struct arena *arena);

/* The table of the function at an offset in the file, or of one that ends or begins right
 * beside it: a signal's trampoline is also met there. NULL where there is none, and when
 * memory is short. */
const struct unwind_table *unwind_functions_table(struct unwind_functions *f,
                                                  uint64_t offset);

/* Whether the code keeps frame pointers: most of it finds its frame by them. Of many
 * functions, some are looked at. */
bool unwind_functions_keep_frames(const struct unwind_functions *f);
bool unwind_table_keeps_frames(const struct unwind_table *t);

/* Where the code lies that Go has made, which always keeps frame pointers: [*start, *end).
 * The tables of Go's linker are .debug_frame, those of C beside it .eh_frame; a program
 * without any has no other code. False where there is none. */
bool unwind_table_go_code(const struct unwind_table *t, uint64_t *start, uint64_t *end);

#endif
