/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the functions of a unit and the calls inlined into them. */
#ifndef STOKE_SYMBOL_DWARF_FUNCTION_H
#define STOKE_SYMBOL_DWARF_FUNCTION_H

#include "base/idmap.h"
#include "base/output.h"
#include "symbol/dwarf_line.h"
#include "symbol/dwarf_unit.h"

/* Where functions are searched, in this order: most are found in the first pass, which
 * costs least. */
enum dwarf_depth {
    /* outside namespaces, which are skipped in one step (GCC writes compiled functions
     * of a namespace outside of it) */
    DWARF_OUTER,
    DWARF_SCOPES, /* also in namespaces */
    DWARF_ALL,    /* also in bodies and types */
    DWARF_DEPTHS,
};

/* Offsets of the children of an entry: see symbol/dwarf_scope.h. */
struct dwarf_scope {
    uint32_t
        /* offsets in the unit of every DWARF_SCOPE_MARKth child, starting with the
         * first */
        *marks;
    size_t count, cap;
};

#define DWARF_SCOPE_MARK 16

/* The state of a unit in a reader. */
struct dwarf_unit_state {
    const struct dwarf_unit *unit; /* NULL: not initialised */
    struct dwarf_file_state *file;
    struct dwarf_abbrevs *abbrevs;
    struct dwarf_lines *lines;
    /* the unit that has the entries: this one, or one in a split file */
    struct dwarf_unit_state *body;
    struct dwarf_table functions[DWARF_DEPTHS]; /* by offset of the entry in the unit */
    bool has_functions[DWARF_DEPTHS];
    bool has_closed_scopes;   /* namespaces were skipped */
    struct dwarf_scope scope; /* of the unit's own children */
};

struct dwarf_file_state {
    const struct dwarf_file *file;
    struct dwarf_unit_state *units;
    struct idmap abbrevs; /* by offset: tables are shared */
    struct idmap scopes;  /* by offset of their entries: struct dwarf_scope */
    uint64_t abbrev_budget;
};

/* The name of an entry that other entries are instances of. */
struct dwarf_known_name {
    const struct dwarf_file *file; /* NULL: empty slot */
    uint64_t entry;                /* offset in .debug_info */
    struct str name;
    bool is_linkage_name, is_made; /* as in struct dwarf_frame */
};

#define DWARF_KNOWN_NAMES 1024 /* a power of two */

/* Data of a reader shared by all units. */
struct dwarf_caches {
    struct dwarf_abbrev_scratch scratch;
    struct idmap lines; /* by offset */
    uint64_t line_budget;
    uint64_t range_budget; /* entries of range lists, for all function tables */
    struct str *paths;
    size_t path_count, path_cap;
    /* by hash of the entry; a collision replaces the older name */
    struct dwarf_known_name names[DWARF_KNOWN_NAMES];
    struct output text, other, demangled; /* buffers for building names */
};

/* An inlined call in the body that is walked; [0] is the body itself. */
struct dwarf_inlined {
    uint64_t entry; /* offset in .debug_info */
    /* if the entry has no name: the entry of which it is an instance, which has it */
    struct dwarf_value origin;
    uint64_t file;
    uint32_t line, column, parent;
    bool is_named;
    bool is_linkage_name, is_made; /* as in struct dwarf_frame */
    struct str name;
};

/* Creates the empty state of a file; NULL when out of memory. */
struct dwarf_file_state *dwarf_file_state_make(struct dwarf_reader *r,
                                               const struct dwarf_file *file);

/* Returns the state of a unit, with its abbreviations. NULL when out of memory. */
struct dwarf_unit_state *dwarf_unit_state_at(struct dwarf_reader *r,
                                             struct dwarf_file_state *file, size_t index);

/* Finds the function of that unit's entries at the address: sets *entry to its offset
 * in .debug_info, or to DWARF_NONE. False when out of memory. */
bool dwarf_function_at(struct dwarf_reader *r, struct dwarf_unit_state *s,
                       uint64_t address, uint64_t *entry);

/* Walks the body of the function for queries sorted by address. Sets r->inlined to the
 * enclosing inlined calls, and the count of each query to the index of its innermost
 * call. False when out of memory. */
bool dwarf_walk_body(struct dwarf_reader *r, struct dwarf_unit_state *s, uint64_t entry,
                     struct dwarf_query *queries, size_t count);

/* Subtracts steps from the budget; false if it is exhausted. */
static inline bool dwarf_spend(struct dwarf_reader *r, uint64_t steps)
{
    r->budget -= steps < r->budget ? steps : r->budget;
    return r->budget != 0;
}

/* Reads the code of the next entry and returns its abbreviation. NULL at the end of a
 * list of children, and for an undefined code. */
static inline const struct dwarf_abbrev *dwarf_next_entry(
    struct bytes *b, const struct dwarf_unit_state *s)
{
    uint64_t code = dwarf_uleb(b);
    const struct dwarf_abbrev *abbrev = code ? dwarf_abbrev_of(s->abbrevs, code) : NULL;
    b->failed |= code && !abbrev;
    return abbrev;
}

#endif
