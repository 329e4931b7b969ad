/* SPDX-License-Identifier: Apache-2.0 */
/* Line programs (DWARF 5, 6.2): from an address to a file and a line.
 *
 * A program is run once. Its rows are not stored, only a mark every DWARF_MARK_EVERY
 * rows: the state of the line number state machine. A lookup finds the mark before the
 * address and runs the program from there. */
#ifndef STOKE_SYMBOL_DWARF_LINE_H
#define STOKE_SYMBOL_DWARF_LINE_H

#include "symbol/dwarf_form.h"

#define DWARF_MARK_EVERY 64

/* The state machine's registers (DWARF 5, 6.2.2), right after a row. */
struct dwarf_line_state {
    uint64_t address;
    uint32_t next; /* offset of the next operation in the program */
    uint32_t file, line;
    uint16_t column;
    uint8_t op_index;
};

/* A file of the table. Its name is resolved on demand. */
struct dwarf_line_file {
    uint64_t name;
    uint16_t form; /* of the name */
    uint32_t dir;
    uint32_t path; /* 1 + index in the reader's paths, or 0: not resolved yet */
};

struct dwarf_lines {
    const struct dwarf_unit *unit; /* the first unit that uses the program */
    struct str program;
    struct str lengths; /* of standard operations: opcode_base - 1 bytes */
    uint16_t version;
    uint8_t opcode_base, line_range, min_length, max_ops;
    int8_t line_base;
    uint32_t reciprocal; /* byte / line_range equals byte * reciprocal >> 16 */
    struct dwarf_line_file *files;
    struct dwarf_value *dirs;
    size_t dir_count, file_count, file_cap, dir_cap;
    struct dwarf_line_state *marks; /* sorted by address */
    size_t mark_count, mark_cap;
    struct dwarf_line_state last; /* the row of the last lookup, and 1 + its mark, or 0 */
    size_t last_mark;
};

/* Reads the unit's line program. Sequences that begin outside [code_low, code_high) are
 * ignored. Subtracts the bytes read from *budget. If `ranges` is not NULL, adds the
 * ranges of the sequences to it. NULL when out of memory; without a program, the
 * result has no rows. */
struct dwarf_lines *dwarf_lines_make(const struct dwarf_unit *u, const struct dwarf *d,
                                     struct arena *a, uint64_t *budget,
                                     struct dwarf_table *ranges);

enum dwarf_line_event {
    DWARF_LINE_NONE,
    DWARF_LINE_ROW,
    DWARF_LINE_END,  /* end of a sequence; its address is one after the last row's */
    DWARF_LINE_STOP, /* the rest is unreadable */
};

/* Runs from *s to the next row, or to the end of the sequence. */
enum dwarf_line_event dwarf_lines_next(const struct dwarf_lines *l,
                                       struct dwarf_line_state *s);

/* Finds the row that covers the address; false if there is none. Fastest for ascending
 * addresses. */
bool dwarf_lines_find(struct dwarf_lines *l, uint64_t address,
                      struct dwarf_line_state *out);

/* Finds the first known row that begins after the address; false if there is none. */
bool dwarf_lines_after(const struct dwarf_lines *l, uint64_t address,
                       struct dwarf_line_state *out);

/* A file by its number; NULL if there is none. */
struct dwarf_line_file *dwarf_lines_file(const struct dwarf_lines *l, uint64_t number);

/* The directory and the name of a file. The path joins them, prefixed by the unit's
 * directory unless one of them begins with '/'. */
struct str dwarf_lines_name(const struct dwarf_lines *l,
                            const struct dwarf_line_file *file);
struct str dwarf_lines_dir(const struct dwarf_lines *l,
                           const struct dwarf_line_file *file);

#endif
