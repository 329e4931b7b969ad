/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, inlined calls and source lines of Go programs, from the table of go_table.h:
 * the same answers that DWARF gives, where there is none. */
#ifndef STOKE_SYMBOL_GO_LINES_H
#define STOKE_SYMBOL_GO_LINES_H

#include "symbol/dwarf.h"
#include "symbol/go_table.h"

/* A value that holds up to an address (and from where the one before ends). */
struct go_run {
    uint64_t end;
    int32_t value;
};

struct go_runs {
    struct go_run *items;
    size_t count, cap;
};

/* For one thread. Remembers the tables of the last function: ask in order of address. */
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

/* Answers a query that has no frames: see dwarf.h. Names and paths are the file's, frames
 * the reader's. */
void go_find(struct go_reader *r, struct dwarf_query *q);

/* The rows of [low, high), as dwarf_rows gives them; of the reader. False when memory is
 * short. */
bool go_rows(struct go_reader *r, uint64_t low, uint64_t high, struct dwarf_row **rows,
             size_t *count);

#endif
