/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF 2 to 5: from an address in an object file to the function there, the calls
 * inlined into it, and their source lines.
 *
 * `struct dwarf` is what is known of the whole: which unit an address belongs to. It is
 * made once by reading the head of each unit, and only read afterwards, so that any
 * number of threads may share it.
 *
 * `struct dwarf_reader` does the work for one thread. A unit is parsed when the first
 * address of it is asked for: one pass over its entries that jumps over namespaces (where
 * they tell their end), types and bodies and keeps where functions are, one run of its
 * line program that keeps a mark every DWARF_MARK_EVERY rows. The body of a function is
 * walked for all the addresses in it at once, and only where it leads to one of them. So
 * ask in batches, in the order that dwarf_order makes: then a body is walked once. A
 * reader keeps what it parsed until dwarf_reader_deinit; what it keeps is about a tenth
 * of the sections it has read.
 *
 * For two threads on one large file: dwarf_order all queries, cut them with dwarf_cut
 * into more pieces than there are threads, and give each thread a reader and pieces in
 * turn.
 *
 * Addresses are the file's own (as in its symbol table). Relocatable files (kernel
 * modules, .o) are not relocated: their addresses are those that the sections hold.
 *
 * A broken section loses what lies behind the break in that unit, and nothing else. No
 * input makes the time grow faster than the bytes of the sections and the queries. */
#ifndef STOKE_SYMBOL_DWARF_H
#define STOKE_SYMBOL_DWARF_H

#include "base/arena.h"
#include "base/error.h"

/* The bytes of an object's sections, decompressed; those it does not have are empty. In a
 * .dwo file, those whose names end in ".dwo". They outlive whoever was given them. */
struct dwarf_sections {
    struct str info, abbrev, line, line_str, str, str_offsets, addr, ranges, rnglists;
    bool big_endian;
};

#define DWARF_NO_SECTIONS                                                          \
    ((struct dwarf_sections){STR(""), STR(""), STR(""), STR(""), STR(""), STR(""), \
                             STR(""), STR(""), STR(""), false})

/* A unit whose entries are in a file of their own (-gsplit-dwarf; DWARF 5, 7.3.2). */
struct dwarf_split {
    struct str name;      /* DW_AT_dwo_name: a path, relative to comp_dir */
    struct str directory; /* DW_AT_comp_dir */
    uint64_t id;          /* the one that must be in the file's unit too */
};

struct dwarf_input {
    struct dwarf_sections sections;
    struct dwarf_sections alternate; /* dwz's common file, or DWARF_NO_SECTIONS */

    /* Code is in [code_low, code_high). What is said of other addresses is said of code
     * that the linker dropped, and left out. 0 and UINT64_MAX: not known. */
    uint64_t code_low, code_high;

    /* Finds the file of a split unit; false: there is none. Called by the threads of all
     * readers, at most once a unit and reader. NULL: split units have lines only. */
    bool (*split)(void *context, const struct dwarf_split *wanted,
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

/* A range of addresses and what it belongs to. */
struct dwarf_range {
    uint64_t low, high; /* [low, high) */
    uint32_t value;
    uint32_t outer; /* in a sorted table: 1 + the nearest one around it, or 0 */
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

/* Reads the heads of all units. The arena's memory lives as long as d. False only when
 * memory is short; a file without DWARF has no units. */
bool dwarf_init(struct dwarf *d, const struct dwarf_input *input, struct arena *arena,
                struct error *err);

/* A function at an address, or one inlined into it. The texts are views: names of the
 * sections or the reader, paths of the reader. */
struct dwarf_frame {
    struct str name; /* the linkage name, else a qualified one (symbol/dwarf_name.h);
                        empty: not known */
    struct str
        file;      /* directory and name joined, as addr2line prints; empty: not known */
    uint32_t line; /* of the address; of the call, for the frames around another */
    uint32_t column;      /* 0: not known */
    bool is_linkage_name; /* it may be mangled */
    bool is_made;         /* it lives as long as the reader; others as the sections */
    bool is_inlined;
};

struct dwarf_query {
    uint64_t address;
    uint32_t unit; /* set by dwarf_order: index of the unit, or DWARF_NO_UNIT */
    uint32_t tag;  /* the caller's own: which query this was before it was ordered */

    /* Out: innermost first, the last one is not inlined. None: not in any unit. Where
     * only the line is known, one without a name. */
    const struct dwarf_frame *frames;
    size_t count;
};

#define DWARF_NO_UNIT UINT32_MAX

/* Which unit the address is in. */
uint32_t dwarf_unit_at(const struct dwarf *d, uint64_t address);

/* Sets the queries' units and puts them in order of unit and address. False when memory
 * for the sorting is short. */
bool dwarf_order(const struct dwarf *d, struct dwarf_query *queries, size_t count);

/* How many of the ordered queries to give away so that it is at least `wanted` (as far as
 * there are so many) and no unit is cut in two. */
size_t dwarf_cut(const struct dwarf_query *queries, size_t count, size_t wanted);

struct dwarf_unit_state;
struct dwarf_file_state;
struct dwarf_inlined;

struct dwarf_reader {
    const struct dwarf *dwarf;
    struct arena arena;   /* what is parsed */
    struct arena results; /* frames, paths */
    struct dwarf_file_state *main, *alternate;
    struct dwarf_caches *caches;
    uint64_t budget;          /* steps that the current call may still take */
    struct dwarf_table spare; /* ranges of one entry */
    struct dwarf_inlined *inlined;
    size_t inlined_count, inlined_cap;
};

/* One reader is for one thread at a time. */
bool dwarf_reader_init(struct dwarf_reader *r, const struct dwarf *d, struct error *err);
void dwarf_reader_deinit(struct dwarf_reader *r);

/* Gives back all frames and paths handed out so far; keeps what is parsed. */
void dwarf_reader_forget(struct dwarf_reader *r);

/* Answers ordered queries. The frames live until dwarf_reader_forget or _deinit. False
 * when memory is short. */
bool dwarf_find(struct dwarf_reader *r, struct dwarf_query *queries, size_t count,
                struct error *err);

/* One address alone: writes at most `room` frames, returns how many (0 also where memory
 * is short). Walks a body for each call: for many addresses see above. */
size_t dwarf_find_one(struct dwarf_reader *r, uint64_t address,
                      struct dwarf_frame *frames, size_t room);

/* A row of a line table: from this address to the next row's. */
struct dwarf_row {
    uint64_t address;
    struct str file;
    uint32_t line, column; /* 0: compiler-made code; not known */
};

/* The rows that cover [low, high), in order of address, within one unit: the first may
 * begin before low. They live as the frames do. False when memory is short. */
bool dwarf_rows(struct dwarf_reader *r, uint64_t low, uint64_t high,
                struct dwarf_row **rows, size_t *count, struct error *err);

#endif
