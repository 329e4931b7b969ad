/* SPDX-License-Identifier: Apache-2.0 */
/* Line programs (DWARF 5, 6.2): from an address to a file and a line.
 *
 * A program is run once and its rows are not kept, only marks: every DWARF_MARK_EVERY
 * rows the state of the machine. To look an address up is to find the mark before it and
 * to run on from there. */
#ifndef STOKE_SYMBOL_DWARF_LINE_H
#define STOKE_SYMBOL_DWARF_LINE_H

#include "symbol/dwarf_form.h"

#define DWARF_MARK_EVERY 64

/* The machine's registers (DWARF 5, 6.2.2), right behind a row. */
struct dwarf_line_state {
    uint64_t address;
    uint32_t next; /* offset in the program of the next operation */
    uint32_t file, line;
    uint16_t column;
    uint8_t op_index;
};

/* A file of the table. Its name is looked up when it is asked for. */
struct dwarf_line_file {
    uint64_t name;
    uint16_t form; /* of the name */
    uint32_t dir;
    uint32_t path; /* 1 + index in the reader's paths, once it was asked for */
};

struct dwarf_lines {
    const struct dwarf_unit *unit; /* the first one that asked */
    struct str program;
    struct str lengths; /* of standard operations: opcode_base - 1 bytes */
    uint16_t version;
    uint8_t opcode_base, line_range, min_length, max_ops;
    int8_t line_base;
    uint32_t reciprocal; /* a byte / line_range is the byte * reciprocal >> 16 */
    struct dwarf_line_file *files;
    struct dwarf_value *dirs;
    size_t dir_count, file_count, file_cap, dir_cap;
    struct dwarf_line_state *marks; /* sorted by address */
    size_t mark_count, mark_cap;
    struct dwarf_line_state last; /* the row found last, and 1 + its mark, or 0 */
    size_t last_mark;
};

/* Reads the unit's program. Sequences that begin outside [code_low, code_high) are left
 * out. *budget is lowered by the bytes read. With `ranges`, where sequences are is added
 * to it. NULL when memory is short; where there is no program, one without rows. */
struct dwarf_lines *dwarf_lines_make(const struct dwarf_unit *u, const struct dwarf *d,
                                     struct arena *a, uint64_t *budget,
                                     struct dwarf_table *ranges);

enum dwarf_line_event {
    DWARF_LINE_NONE,
    DWARF_LINE_ROW,
    DWARF_LINE_END,  /* of a sequence; its address is one behind the last row's */
    DWARF_LINE_STOP, /* nothing more can be read */
};

/* Runs on from *s to the next row, or to the end of the sequence. */
enum dwarf_line_event dwarf_lines_next(const struct dwarf_lines *l,
                                       struct dwarf_line_state *s);

/* The row that covers the address; false: there is none. Costs least for addresses in
 * order. */
bool dwarf_lines_find(struct dwarf_lines *l, uint64_t address,
                      struct dwarf_line_state *out);

/* The first row of which it is known that it begins after the address; false: there is
 * none. */
bool dwarf_lines_after(const struct dwarf_lines *l, uint64_t address,
                       struct dwarf_line_state *out);

/* A file by its number; NULL: there is none. */
struct dwarf_line_file *dwarf_lines_file(const struct dwarf_lines *l, uint64_t number);

/* The directory and the name of a file: the path is both joined, behind the unit's own
 * directory where neither begins with '/'. */
struct str dwarf_lines_name(const struct dwarf_lines *l,
                            const struct dwarf_line_file *file);
struct str dwarf_lines_dir(const struct dwarf_lines *l,
                           const struct dwarf_line_file *file);

#endif
