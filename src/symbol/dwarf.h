/* SPDX-License-Identifier: Apache-2.0 */
/* A DWARF reader, versions 2 to 5: finds the function at an address of an object file,
 * the calls inlined into it, and their source lines.
 *
 * `struct dwarf` knows which unit an address belongs to. It is built once, from the
 * header of each unit, and is read-only after that, so any number of threads may share
 * it.
 *
 * `struct dwarf_reader` does the work for one thread. A unit is parsed when one of its
 * addresses is queried for the first time. One pass over its entries stores where
 * functions are; it skips namespaces (if their entries have sibling offsets), types and
 * bodies. One run of its line program stores a mark every DWARF_MARK_EVERY rows. The
 * body of a function is walked once for all queried addresses in it, and only into
 * entries that cover one of them. So query in batches, in the order of dwarf_order:
 * then each body is walked once. A reader retains what it parsed until
 * dwarf_reader_deinit; that is about a tenth of the size of the sections it has read.
 *
 * For several threads on one large file: call dwarf_order on all queries, divide them
 * with dwarf_cut into more pieces than there are threads, and give each thread a reader
 * and one piece after the other.
 *
 * Addresses are file addresses (as in the symbol table). Relocatable files (kernel
 * modules, .o) are not relocated: their addresses are those stored in the sections.
 *
 * In a corrupt section, only the rest of that unit is lost. The time is at most linear
 * in the size of the sections and the number of queries. */
#ifndef STOKE_SYMBOL_DWARF_H
#define STOKE_SYMBOL_DWARF_H

#include "base/arena.h"
#include "base/error.h"

/* The content of an object file's sections, decompressed; missing ones are empty. In a
 * .dwo file, the sections whose names end in ".dwo". The bytes must outlive all users. */
struct dwarf_sections {
    struct str info, abbrev, line, line_str, str, str_offsets, addr, ranges, rnglists;
    bool big_endian;
};

#define DWARF_NO_SECTIONS                                                          \
    ((struct dwarf_sections){STR(""), STR(""), STR(""), STR(""), STR(""), STR(""), \
                             STR(""), STR(""), STR(""), false})

/* A unit whose entries are in a separate file (-gsplit-dwarf; DWARF 5, 7.3.2). */
struct dwarf_split {
    struct str name;      /* DW_AT_dwo_name: a path, relative to comp_dir */
    struct str directory; /* DW_AT_comp_dir */
    uint64_t id;          /* must equal the id of the unit in that file */
};

struct dwarf_input {
    struct dwarf_sections sections;
    struct dwarf_sections alternate; /* the common file of dwz, or DWARF_NO_SECTIONS */

    /* Code is in [code_low, code_high). Entries for other addresses describe code that
     * the linker dropped, and are ignored. 0 and UINT64_MAX: unknown. */
    uint64_t code_low, code_high;

    /* Finds the file of a split unit; false if there is none. The threads of all
     * readers call it, at most once per unit and reader. NULL: split units have lines
     * only. */
    bool (*split)(void *context, const struct dwarf_split *unit,
                  struct dwarf_sections *out);
    void *split_context;
};

struct dwarf_unit;

/* The units of one file, sorted by offset. */
struct dwarf_file {
    struct dwarf_sections sections;
    struct dwarf_unit *units;
    size_t count;
    const struct dwarf_file *alternate; /* or NULL */
};

/* A range of addresses, and what it belongs to. */
struct dwarf_range {
    uint64_t low, high; /* [low, high) */
    uint32_t value;
    /* in a sorted table: 1 + index of the innermost enclosing range, or 0 */
    uint32_t outer;
};

struct dwarf_table {
    struct dwarf_range *items;
    size_t count, cap;
};

struct dwarf {
    struct dwarf_input input;
    struct dwarf_file main, alternate;
    struct dwarf_table ranges; /* of units, by index in `main` */
    struct arena *arena;
};

/* Reads the headers of all units. The arena must live as long as d. False only when
 * out of memory; a file without DWARF has no units. */
bool dwarf_init(struct dwarf *d, const struct dwarf_input *input, struct arena *arena,
                struct error *err);

/* A function at an address, or one inlined into it. The texts are views: names in the
 * sections or the reader, paths in the reader. */
struct dwarf_frame {
    /* the linkage name, or a qualified name (symbol/dwarf_name.h); empty: unknown */
    struct str name;
    struct str file; /* directory and name joined, as addr2line prints; empty: unknown */
    uint32_t line;   /* of the address; of the call, for the enclosing frames */
    uint32_t column; /* 0: unknown */
    bool is_linkage_name; /* it may be mangled */
    /* generated: lives as long as the reader; others live as long as the sections */
    bool is_made;
    bool is_inlined;
};

struct dwarf_query {
    uint64_t address;
    uint32_t unit; /* set by dwarf_order: index of the unit, or DWARF_NO_UNIT */
    uint32_t tag;  /* for the caller: identifies the query after sorting */

    /* Result: innermost first, the last one is not inlined. Empty: not in any unit. If
     * only the line is known, one frame without a name. */
    const struct dwarf_frame *frames;
    size_t count;
};

#define DWARF_NO_UNIT UINT32_MAX

/* The unit that contains the address. */
uint32_t dwarf_unit_at(const struct dwarf *d, uint64_t address);

/* Sets the units of the queries and sorts them by unit and address. False
 * when out of memory. */
bool dwarf_order(const struct dwarf *d, struct dwarf_query *queries, size_t count);

/* Number of sorted queries in the next piece: at least `min_count`, if there are that
 * many, without splitting a unit. */
size_t dwarf_cut(const struct dwarf_query *queries, size_t count, size_t min_count);

struct dwarf_unit_state;
struct dwarf_file_state;
struct dwarf_inlined;

struct dwarf_reader {
    const struct dwarf *dwarf;
    struct arena arena;   /* parsed data */
    struct arena results; /* frames, paths */
    struct dwarf_file_state *main, *alternate;
    struct dwarf_caches *caches;
    uint64_t budget;          /* steps that the current call may still take */
    struct dwarf_table spare; /* ranges of one entry */
    struct dwarf_inlined *inlined;
    size_t inlined_count, inlined_cap;
};

/* A reader may be used by one thread at a time. */
bool dwarf_reader_init(struct dwarf_reader *r, const struct dwarf *d, struct error *err);
void dwarf_reader_deinit(struct dwarf_reader *r);

/* Frees all frames and paths returned so far; retains the parsed data. */
void dwarf_reader_forget(struct dwarf_reader *r);

/* Answers sorted queries. The frames are valid until dwarf_reader_forget or _deinit.
 * False when out of memory. */
bool dwarf_find(struct dwarf_reader *r, struct dwarf_query *queries, size_t count,
                struct error *err);

/* Answers a single address: writes at most `room` frames and returns their number (0
 * also when out of memory). Each call walks a body: for many addresses use
 * dwarf_find. */
size_t dwarf_find_one(struct dwarf_reader *r, uint64_t address,
                      struct dwarf_frame *frames, size_t room);

/* A row of a line table: valid from this address to that of the next row. */
struct dwarf_row {
    uint64_t address;
    struct str file;
    uint32_t line, column; /* 0: compiler-generated code; unknown */
};

/* The rows that cover [low, high), sorted by address, within one unit; the first may
 * begin before low. They are valid as long as the frames. False when out of memory. */
bool dwarf_rows(struct dwarf_reader *r, uint64_t low, uint64_t high,
                struct dwarf_row **rows, size_t *count, struct error *err);

#endif
