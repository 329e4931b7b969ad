/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables of single functions, each built when one of its addresses is first
 * needed: for users that need few addresses of many large files, such as the recorder.
 * A table of a whole module (table.h) takes time and memory proportional to its size.
 *
 * Functions are found with .eh_frame_hdr, the linker's sorted list. For a small file,
 * or one without the list, a table of the whole module is better. */
#ifndef STOKE_UNWIND_FUNCTIONS_H
#define STOKE_UNWIND_FUNCTIONS_H

#include "base/idmap.h"
#include "symbol/elf.h"
#include "unwind/unwind_table.h"

struct unwind_functions {
    struct unwind_source source;
    struct cfi_header header;
    struct arena *arena;
    struct unwind_table segments; /* without rows: converts offsets to addresses */
    struct unwind_table **tables; /* [0] is unused */
    size_t table_count, table_cap;
    struct idmap by_start;  /* from a function's address to its index */
    struct idmap by_offset; /* from a requested offset to 1 + index */
};

/* `source` comes from unwind_source_of. The file's bytes and the arena must outlive the
 * functions; the arena owns the tables. Returns false if the file has no list of
 * functions; the caller then builds a whole table. */
bool unwind_functions_init(struct unwind_functions *f, const struct unwind_source *source,
                           struct elf *e, struct arena *arena);

/* The table of the function at an offset in the file. A function directly before or
 * after the offset is also accepted, because samples in a signal trampoline have such
 * addresses. NULL if there is none, and when out of memory. */
const struct unwind_table *unwind_functions_table(struct unwind_functions *f,
                                                  uint64_t offset);

/* The range of the function at an address of the file's tables. */
bool unwind_functions_range(const struct unwind_functions *f, uint64_t address,
                            uint64_t *start, uint64_t *end);

/* Return true if the code uses frame pointers: most of it computes the CFA from them.
 * In a large file, only some functions are checked. */
bool unwind_functions_use_frame_pointers(const struct unwind_functions *f);
bool unwind_table_uses_frame_pointers(const struct unwind_table *t);

/* The address range of code compiled by Go, which always uses frame pointers: [*start,
 * *end). Go's linker writes .debug_frame, C code beside it has .eh_frame; an executable
 * without .eh_frame contains only Go code. False if there is no Go code. */
bool unwind_table_go_code(const struct unwind_table *t, uint64_t *start, uint64_t *end);

#endif
