/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of an object file: .symtab of it or of its debug file, .dynsym, what the
 * distribution packed into .gnu_debugdata, Go's own table of functions (go_table.h) where
 * there is no .symtab, and the stubs of the procedure linkage table.
 *
 * In the table are functions, indirect functions, what lies as data in code, and labels
 * of assembly in sections of text; no mapping symbols ($x, $d), sections, files, or
 * symbols defined elsewhere. Addresses: see elf.h. */
#ifndef STOKE_SYMBOL_SYMTAB_H
#define STOKE_SYMBOL_SYMTAB_H

#include "symbol/elf.h"
#include "symbol/table.h"

/* Fills and finishes a table. `file` is what runs; `debug`, or NULL, the file with its
 * debug information. Both, and what they were read from, outlive the table; so does the
 * arena, which is not file->arena only where the caller wants that. False only when
 * memory is short: an object without symbols makes an empty table. */
bool symtab_init(struct symbol_table *t, struct elf *file, struct elf *debug,
                 struct arena *arena, struct error *err);

#endif
