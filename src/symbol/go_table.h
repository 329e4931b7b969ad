/* SPDX-License-Identifier: Apache-2.0 */
/* Go's own table of functions (.gopclntab), which the linker writes into every program
 * because the runtime needs it: it stays where symbols and DWARF were left out
 * (-ldflags="-s -w", strip). Little or big endian, as the versions 1.2, 1.16, 1.18 and
 * 1.20 to 1.26 of Go write it.
 *
 * Source of the rules: "Go 1.2 Runtime Symbol Table", and the structures pcHeader, _func,
 * inlinedCall and moduledata that the runtime of each version documents.
 *
 * Addresses of the table are relative to the beginning of Go's code since 1.18. That is in
 * the table up to 1.25 (in a position independent program: in a relocation), and in the
 * runtime's module data, which also say where the trees of inlined calls are. */
#ifndef STOKE_SYMBOL_GO_TABLE_H
#define STOKE_SYMBOL_GO_TABLE_H

#include "symbol/elf.h"
#include "symbol/table.h"

enum go_version { GO_1_2, GO_1_16, GO_1_18, GO_1_20 };

struct go_table {
    struct elf *elf;
    enum go_version version;
    unsigned quantum, pointer; /* bytes of an instruction and of a pointer */
    bool big_endian;
    struct str all;                         /* from the header on */
    struct str list, functions;             /* of functions; what they are */
    struct str names, units, files, values; /* that these refer to */
    size_t count;                           /* of functions */
    uint64_t address;                       /* of the header */
    uint64_t text;                          /* added to addresses */
    uint64_t trees; /* address of the inlined calls; 0: not known */
};

/* Offsets of tables of values by address, in `values`; 0 of one that is not there. */
struct go_function {
    uint64_t start, end; /* [start, end) */
    struct str name;     /* as Go writes it: "main.(*T).Method" */
    uint32_t stack_values, file_values, line_values, tree_values;
    uint32_t unit;   /* where the numbers of its files begin */
    struct str tree; /* of the calls inlined into it */
    bool is_top;     /* nothing has called it: the outermost of a stack */
};

/* A walk over a table of values: each holds from `start` to `end`. */
struct go_values {
    struct bytes bytes;
    uint64_t start, end;
    uint64_t limit; /* the end of the function */
    int32_t value;
    unsigned quantum;
};

/* Finds the table of a file. `e` outlives it. False: there is none, or none that can be
 * read. */
bool go_table_init(struct go_table *t, struct elf *e);

/* Number i of t->count, in the order of addresses; false where it is broken. */
bool go_table_get(const struct go_table *t, size_t i, struct go_function *f);

/* The number of the function at an address; false: there is none. */
bool go_table_find(const struct go_table *t, uint64_t address, size_t *i);

/* A walk over a table of a function, and its next value; false behind the last. */
struct go_values go_values_of(const struct go_table *t, const struct go_function *f,
                              uint32_t offset);
bool go_values_next(struct go_values *v);

/* Text of a table of texts that end with a zero; empty where there is none. */
struct str go_table_text(struct str texts, uint64_t offset);

/* Adds the functions to a table of symbols, which refers to the names. */
void go_table_symbols(const struct go_table *t, struct symbol_table *symbols);

#endif
