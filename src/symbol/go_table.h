/* SPDX-License-Identifier: Apache-2.0 */
/* Go's function table (.gopclntab). The linker writes it into every executable because
 * the runtime needs it, even if symbols and DWARF are left out (-ldflags="-s -w",
 * strip). Supports both byte orders and the formats of Go 1.2, 1.16, 1.18, and 1.20 to
 * 1.26.
 *
 * Source: "Go 1.2 Runtime Symbol Table", and the structures pcHeader, _func,
 * inlinedCall and moduledata in the runtime of each version.
 *
 * Since 1.18, addresses in the table are relative to the beginning of Go's code. That
 * address is in the table up to 1.25 (in a position independent executable: in a
 * relocation), and in the runtime's module data, which also locate the trees of inlined
 * calls. */
#ifndef STOKE_SYMBOL_GO_TABLE_H
#define STOKE_SYMBOL_GO_TABLE_H

#include "symbol/elf.h"
#include "symbol/symbol_table.h"

enum go_version { GO_1_2, GO_1_16, GO_1_18, GO_1_20 };

struct go_table {
    struct elf *elf;
    enum go_version version;
    unsigned quantum, pointer; /* size of an instruction and of a pointer, in bytes */
    bool big_endian;
    struct str all;                         /* from the header on */
    struct str list, functions;             /* the function list, and the function data */
    struct str names, units, files, values; /* tables that these refer to */
    size_t count;                           /* number of functions */
    uint64_t address;                       /* of the header */
    uint64_t text;                          /* added to addresses */
    uint64_t trees; /* address of the inlining trees; 0: unknown */
};

/* Offsets of value tables by address, in `values`; 0 for a missing table. */
struct go_function {
    uint64_t start, end; /* [start, end) */
    struct str name;     /* as Go writes it: "main.(*T).Method" */
    uint32_t stack_values, file_values, line_values, tree_values;
    uint32_t unit;   /* index of its first file number */
    struct str tree; /* of the calls inlined into it */
    bool is_top;     /* the outermost function of a stack: it has no caller */
};

/* An iterator over a value table: each value is valid from `start` to `end`. */
struct go_values {
    struct bytes bytes;
    uint64_t start, end;
    uint64_t limit; /* the end of the function */
    int32_t value;
    unsigned quantum;
};

/* Returns true for a Go program: by its sections or, if their names are wrong, by the note
 * with its build ID. */
bool go_table_is_go(const struct elf *e);

/* Finds the table of a file, which must outlive it. False if there is none, or if it is
 * unreadable. */
bool go_table_init(struct go_table *t, struct elf *e);

/* Function i of t->count, in order of address; false if it is corrupt. */
bool go_table_get(const struct go_table *t, size_t i, struct go_function *f);

/* The index of the function at an address; false if there is none. */
bool go_table_find(const struct go_table *t, uint64_t address, size_t *i);

/* Starts an iteration over a value table of a function, and moves to the next value;
 * false after the last. */
struct go_values go_values_of(const struct go_table *t, const struct go_function *f,
                              uint32_t offset);
bool go_values_next(struct go_values *v);

/* A zero-terminated string of a string table; empty if there is none. */
struct str go_table_text(struct str texts, uint64_t offset);

/* Adds the functions to a symbol table, which refers to the names. */
void go_table_symbols(const struct go_table *t, struct symbol_table *symbols);

#endif
