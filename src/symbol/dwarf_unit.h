/* SPDX-License-Identifier: Apache-2.0 */
/* The units of a file: their heads, what their first entries say, and range lists. */
#ifndef STOKE_SYMBOL_DWARF_UNIT_H
#define STOKE_SYMBOL_DWARF_UNIT_H

#include "symbol/dwarf_form.h"

/* Reads the heads of all units. False when memory is short. `share`: the unit of the
 * program's file that this split file belongs to, or NULL. `d`: whose ranges are to be
 * filled with where the units' code is, or NULL. */
bool dwarf_file_init(struct dwarf_file *f, const struct dwarf_sections *sections,
                     const struct dwarf_unit *share, struct dwarf *d, struct arena *a);

/* The unit that holds the entry at that offset, or NULL. */
const struct dwarf_unit *dwarf_file_unit_at(const struct dwarf_file *f, uint64_t offset);

/* Where an entry's code is: added to *out, with `value`, as far as it is code. *budget is
 * lowered by the entries read. False when memory is short. */
bool dwarf_code_ranges(const struct dwarf_unit *u, const struct dwarf_input *input,
                       const struct dwarf_die *die, uint32_t value, struct arena *a,
                       struct dwarf_table *out, uint64_t *budget);

#endif
