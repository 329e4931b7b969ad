/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF packages: the split units of an executable in one file, ".dwp" (DWARF 5, 7.3.5;
 * GNU's version 2 of DWARF 4). */
#ifndef STOKE_SYMBOL_DWARF_PACKAGE_H
#define STOKE_SYMBOL_DWARF_PACKAGE_H

#include "symbol/dwarf_elf.h"

struct dwarf_package {
    struct dwarf_sections sections; /* of all units, concatenated */
    struct str index;               /* .debug_cu_index */
};

/* Returns a package without an index if the file is not a package. Valid as long as
 * dwarf_elf_sections. */
struct dwarf_package dwarf_elf_package(struct elf *e);

/* Gets the sections of one unit, as if they came from its own .dwo. False if the unit
 * is not in the package. */
bool dwarf_package_find(const struct dwarf_package *p, uint64_t id,
                        struct dwarf_sections *out);

#endif
