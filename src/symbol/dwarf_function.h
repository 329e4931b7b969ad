/* The functions of a unit, what is inlined into them, and their names. */
#ifndef STOKE_SYMBOL_DWARF_FUNCTION_H
#define STOKE_SYMBOL_DWARF_FUNCTION_H

#include "base/idmap.h"
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

/* What a reader knows of a unit. */
struct dwarf_unit_state {
    const struct dwarf_unit *unit; /* NULL: nothing yet */
    struct dwarf_file_state *file;
    struct dwarf_abbrevs *abbrevs;
    struct dwarf_lines *lines;
    struct dwarf_unit_state *body; /* where the entries are: here, or in a split file */
    struct dwarf_table functions[DWARF_DEPTHS]; /* by offset of the entry in the unit */
    bool has_functions[DWARF_DEPTHS];
    bool has_closed_scopes; /* namespaces that were stepped over */
};

struct dwarf_file_state {
    const struct dwarf_file *file;
    struct dwarf_unit_state *units;
    struct idmap abbrevs; /* by offset: tables are shared */
    uint64_t abbrev_budget;
};

/* The name of an entry that others are instances of. */
struct dwarf_known_name {
    const struct dwarf_file *file; /* NULL: nothing is known here */
    uint64_t entry;                /* offset in .debug_info */
    struct str name;
    bool is_linkage_name;
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
};

/* An inlined call in the body that is walked; [0] is the body itself. */
struct dwarf_inlined {
    uint64_t entry;            /* offset in .debug_info */
    struct dwarf_value origin; /* what it is an instance of, where that alone names it */
    uint64_t file;
    uint32_t line, column, parent;
    bool is_named;
    bool is_linkage_name;
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

/* Looks the name up, once. */
void dwarf_name_inlined(struct dwarf_reader *r, struct dwarf_unit_state *s,
                        struct dwarf_inlined *inlined);

#endif
