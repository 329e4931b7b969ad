/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of an object file: .symtab of it or of its debug file, .dynsym, the
 * .gnu_debugdata that distributions add, Go's function table (go_table.h) if there is
 * no .symtab, and the stubs of the procedure linkage table.
 *
 * The table contains functions, indirect functions, data objects in code, and assembly
 * labels in text sections; not mapping symbols ($x, $d), sections, files, or symbols
 * defined elsewhere. Addresses: see elf.h. */
#ifndef STOKE_SYMBOL_SYMTAB_H
#define STOKE_SYMBOL_SYMTAB_H

#include "symbol/elf.h"
#include "symbol/symbol_table.h"

/* Fills and finishes a table. `file` is the file that is executed; `debug`, or NULL,
 * the file with its debug information. Both, and the bytes that they were read from,
 * must outlive the table; so must the arena, which may be file->arena. False only when
 * out of memory: an object without symbols makes an empty table. */
bool symtab_init(struct symbol_table *t, struct elf *file, struct elf *debug,
                 struct arena *arena, struct error *err);

/* The same with a filter (symbol_table.h): most symbols are not stored, nor their names
 * read. NULL: all are stored. */
bool symtab_init_filtered(struct symbol_table *t, struct elf *file, struct elf *debug,
                          struct symbol_filter *filter, struct arena *arena,
                          struct error *err);

/* Finds a defined function or variable by its exact name in .dynsym, then in .symtab. False if
 * there is none. Linear time, except for what the hash table of .dynsym (DT_GNU_HASH) finds. */
bool symtab_find(struct elf *e, struct str name, uint64_t *address);

/* A variable: a data object in .symtab or .dynsym. */
struct symtab_variable {
    struct str name; /* as in the file */
    uint64_t address, size;
};

/* The variable that contains an address. False if there is none. Linear time. */
bool symtab_find_variable(struct elf *e, uint64_t address, struct symtab_variable *v);

/* Names variables by the addresses where they begin, which ascend; a name that is not empty
 * stays. A pointer that the dynamic linker sets (in the GOT) has the name of what it points to.
 * Reads each symbol once. */
void symtab_name_variables(struct elf *e, struct symtab_variable *v, size_t count);

/* The variable that begins at an address; NULL if there is none. */
struct symtab_variable *symtab_variable_at(struct symtab_variable *v, size_t count,
                                           uint64_t address);

/* A mapping symbol: from its address on there is code or data. */
struct symtab_mark {
    uint64_t address;
    char kind; /* 'a', 't', 'x': code of ARM, of Thumb, of others; 'd': data */
};

/* The mapping symbols in [low, high), as they are in the file, in the arena. */
size_t symtab_marks(struct elf *e, uint64_t low, uint64_t high,
                    struct symtab_mark **marks, struct arena *arena);

#endif
