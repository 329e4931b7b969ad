/* SPDX-License-Identifier: Apache-2.0 */
/* The units of a file: their headers, the attributes of their first entries, and range
 * lists. */
#ifndef STOKE_SYMBOL_DWARF_UNIT_H
#define STOKE_SYMBOL_DWARF_UNIT_H

#include "symbol/dwarf_form.h"

/* Reads the headers of all units. False when out of memory. `share`: the unit of the
 * main file that this split file belongs to, or NULL. `d`: receives the code ranges of
 * the units, or NULL. */
bool dwarf_file_init(struct dwarf_file *f, const struct dwarf_sections *sections,
                     const struct dwarf_unit *share, struct dwarf *d, struct arena *a);

/* The unit that contains the entry at that offset, or NULL. */
const struct dwarf_unit *dwarf_file_unit_at(const struct dwarf_file *f, uint64_t offset);

/* Adds the code ranges of an entry to *out, with `value`. Subtracts the entries read
 * from *budget. False when out of memory. */
bool dwarf_code_ranges(const struct dwarf_unit *u, const struct dwarf_input *input,
                       const struct dwarf_die *die, uint32_t value, struct arena *a,
                       struct dwarf_table *out, uint64_t *budget);

#endif
