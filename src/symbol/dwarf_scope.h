/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries an entry lies in. DWARF tells children, not parents: so the way goes down
 * from the unit's first entry. What lies in an entry on the way is stepped over once, as
 * far as somebody asked, and every DWARF_SCOPE_MARKth noted; later ways begin there. */
#ifndef STOKE_SYMBOL_DWARF_SCOPE_H
#define STOKE_SYMBOL_DWARF_SCOPE_H

#include "symbol/dwarf_function.h"

/* Entries within entries. What is deeper is said to lie in none. */
#define DWARF_SCOPES_MAX 64

/* The entries around the one at that offset in .debug_info, outermost first, without the
 * unit's: writes their offsets, returns how many. 0 also where memory is short. */
size_t dwarf_scopes_around(struct dwarf_reader *r, struct dwarf_unit_state *s,
                           uint64_t offset, uint64_t around[DWARF_SCOPES_MAX]);

/* Notes one of the unit's entries, seen on a way over all of them: the first, and then
 * every DWARF_SCOPE_MARKth. False when memory is short. */
bool dwarf_scope_note(struct dwarf_reader *r, struct dwarf_unit_state *s, uint64_t entry);

/* Goes over the entries in an entry, one after the other. */
struct dwarf_children {
    struct dwarf_reader *reader;
    struct dwarf_unit_state *state;
    const struct dwarf_abbrev *abbrev; /* of this one */
    uint64_t entry;                    /* its offset in .debug_info */
    struct bytes at;                   /* its attributes */
    size_t level;                      /* how many were entered; 0: the end */
};

/* Begins before the first one. */
void dwarf_children_init(struct dwarf_children *c, struct dwarf_reader *r,
                         struct dwarf_unit_state *s, uint64_t offset);

/* The next one; false at the end. */
bool dwarf_children_next(struct dwarf_children *c);

/* The next one will be the first in this one, and all that are in it come before the one
 * behind it. */
void dwarf_children_enter(struct dwarf_children *c);

void dwarf_children_read(const struct dwarf_children *c, struct dwarf_die *die);

#endif
