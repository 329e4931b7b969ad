/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a unit and what is inlined into them. */
#ifndef STOKE_SYMBOL_DWARF_FUNCTION_H
#define STOKE_SYMBOL_DWARF_FUNCTION_H

#include "base/idmap.h"
#include "base/output.h"
#include "symbol/dwarf_line.h"
#include "symbol/dwarf_unit.h"

/* Where functions are looked for, one after the other: most are found in the first, which
 * costs least. */
enum dwarf_depth {
    DWARF_OUTER,  /* beside namespaces that are stepped over at once (as GCC writes them:
                     what it compiled of them lies outside) */
    DWARF_SCOPES, /* in namespaces, too */
    DWARF_ALL,    /* in bodies and types, too */
    DWARF_DEPTHS,
};

/* What is known of where the entries in an entry are: see symbol/dwarf_scope.h. */
struct dwarf_scope {
    uint32_t
        *marks; /* offsets in the unit, of every DWARF_SCOPE_MARKth, from the first */
    size_t count, cap;
};

#define DWARF_SCOPE_MARK 16

/* What a reader knows of a unit. */
struct dwarf_unit_state {
    const struct dwarf_unit *unit; /* NULL: nothing yet */
    struct dwarf_file_state *file;
    struct dwarf_abbrevs *abbrevs;
    struct dwarf_lines *lines;
    struct dwarf_unit_state *body; /* where the entries are: here, or in a split file */
    struct dwarf_table functions[DWARF_DEPTHS]; /* by offset of the entry in the unit */
    bool has_functions[DWARF_DEPTHS];
    bool has_closed_scopes;   /* namespaces that were stepped over */
    struct dwarf_scope scope; /* the unit's own */
};

struct dwarf_file_state {
    const struct dwarf_file *file;
    struct dwarf_unit_state *units;
    struct idmap abbrevs; /* by offset: tables are shared */
    struct idmap scopes;  /* by offset of their entries: struct dwarf_scope */
    uint64_t abbrev_budget;
};

/* The name of an entry that others are instances of. */
struct dwarf_known_name {
    const struct dwarf_file *file; /* NULL: nothing is known here */
    uint64_t entry;                /* offset in .debug_info */
    struct str name;
    bool is_linkage_name, is_made; /* as in struct dwarf_frame */
};

#define DWARF_KNOWN_NAMES 1024 /* a power of two */

/* What a reader keeps for all units. */
struct dwarf_caches {
    struct dwarf_abbrev_scratch scratch;
    struct idmap lines; /* by offset */
    uint64_t line_budget;
    uint64_t range_budget; /* entries of range lists, for all tables of functions */
    struct str *paths;
    size_t path_count, path_cap;
    /* by a hash of the entry: of several the one that was asked for last */
    struct dwarf_known_name names[DWARF_KNOWN_NAMES];
    struct output text, other, demangled; /* where names are made */
};

/* An inlined call in the body that is walked; [0] is the body itself. */
struct dwarf_inlined {
    uint64_t entry;            /* offset in .debug_info */
    struct dwarf_value origin; /* what it is an instance of, where that alone names it */
    uint64_t file;
    uint32_t line, column, parent;
    bool is_named;
    bool is_linkage_name, is_made; /* as in struct dwarf_frame */
    struct str name;
};

/* A file of which nothing is known yet; NULL when memory is short. */
struct dwarf_file_state *dwarf_file_state_make(struct dwarf_reader *r,
                                               const struct dwarf_file *file);

/* The state of a unit, with its abbreviations. NULL when memory is short. */
struct dwarf_unit_state *dwarf_unit_state_at(struct dwarf_reader *r,
                                             struct dwarf_file_state *file, size_t index);

/* Finds the function of that unit's entries at the address: *entry is its offset in
 * .debug_info, DWARF_NONE where there is none. False when memory is short. */
bool dwarf_function_at(struct dwarf_reader *r, struct dwarf_unit_state *s,
                       uint64_t address, uint64_t *entry);

/* Walks the body of the function for queries sorted by address. r->inlined is then what
 * is inlined around them, and the count of each the index of the innermost. False when
 * memory is short. */
bool dwarf_walk_body(struct dwarf_reader *r, struct dwarf_unit_state *s, uint64_t entry,
                     struct dwarf_query *queries, size_t count);

/* Takes so many steps of the budget; false when none is left. */
static inline bool dwarf_spend(struct dwarf_reader *r, uint64_t steps)
{
    r->budget -= steps < r->budget ? steps : r->budget;
    return r->budget != 0;
}

/* The abbreviation of the entry that the cursor is at, which is behind its code then.
 * NULL at the end of a list of children, and where the code means nothing. */
static inline const struct dwarf_abbrev *dwarf_next_entry(
    struct bytes *b, const struct dwarf_unit_state *s)
{
    uint64_t code = dwarf_uleb(b);
    const struct dwarf_abbrev *abbrev = code ? dwarf_abbrev_of(s->abbrevs, code) : NULL;
    b->failed |= code && !abbrev;
    return abbrev;
}

#endif
