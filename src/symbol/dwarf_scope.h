/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the enclosing entries of an entry. DWARF stores children, not parents, so the
 * search goes down from the unit's first entry. The children of an entry on the way are
 * skipped once, as far as needed, and every DWARF_SCOPE_MARKth is recorded; later
 * searches begin there. */
#ifndef STOKE_SYMBOL_DWARF_SCOPE_H
#define STOKE_SYMBOL_DWARF_SCOPE_H

#include "symbol/dwarf_function.h"

/* Maximum nesting; deeper entries are treated as having no scopes. */
#define DWARF_SCOPES_MAX 64

/* Writes the offsets of the enclosing entries of the one at that offset in .debug_info,
 * outermost first, without the unit's entry, and returns their number. 0 also when
 * out of memory. */
size_t dwarf_scopes_around(struct dwarf_reader *r, struct dwarf_unit_state *s,
                           uint64_t offset, uint64_t around[DWARF_SCOPES_MAX]);

/* Records one of the unit's entries during a pass over all of them: the first, and then
 * every DWARF_SCOPE_MARKth. False when out of memory. */
bool dwarf_scope_note(struct dwarf_reader *r, struct dwarf_unit_state *s, uint64_t entry);

/* An iterator over the children of an entry. */
struct dwarf_children {
    struct dwarf_reader *reader;
    struct dwarf_unit_state *state;
    const struct dwarf_abbrev *abbrev; /* of the current child */
    uint64_t entry;                    /* its offset in .debug_info */
    struct bytes at;                   /* its attributes */
    size_t level;                      /* number of entered entries; 0: the end */
};

/* Starts before the first child. */
void dwarf_children_init(struct dwarf_children *c, struct dwarf_reader *r,
                         struct dwarf_unit_state *s, uint64_t offset);

/* Moves to the next child; false at the end. */
bool dwarf_children_next(struct dwarf_children *c);

/* Enters the current child: its children come next, and then its next sibling. */
void dwarf_children_enter(struct dwarf_children *c);

void dwarf_children_read(const struct dwarf_children *c, struct dwarf_die *die);

#endif
