/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, inlined calls and source lines of Go executables, from the table of
 * go_table.h: the same answers as from DWARF, for executables without it. */
#ifndef STOKE_SYMBOL_GO_LINES_H
#define STOKE_SYMBOL_GO_LINES_H

#include "symbol/dwarf.h"
#include "symbol/go_table.h"

/* A value that is valid up to an address, from the end of the previous run on. */
struct go_run {
    uint64_t end;
    int32_t value;
};

struct go_runs {
    struct go_run *items;
    size_t count, cap;
};

/* For one thread. Caches the tables of the last function: query in order of address. */
struct go_reader {
    const struct go_table *table;
    struct arena arena;   /* of the tables */
    struct arena results; /* frames */
    uint64_t budget;      /* steps that it may still take */
    bool has_function;
    struct go_function function;
    struct go_runs files, lines, trees;
};

void go_reader_init(struct go_reader *r, const struct go_table *t);
void go_reader_deinit(struct go_reader *r);

/* Answers a query that has no frames yet: see dwarf.h. The file owns names and paths,
 * the reader owns frames. */
void go_find(struct go_reader *r, struct dwarf_query *q);

/* The rows of [low, high), like dwarf_rows; owned by the reader. False when memory is
 * short. */
bool go_rows(struct go_reader *r, uint64_t low, uint64_t high, struct dwarf_row **rows,
             size_t *count);

#endif
