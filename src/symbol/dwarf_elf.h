/* SPDX-License-Identifier: Apache-2.0 */
/* The DWARF of an ELF file. */
#ifndef STOKE_SYMBOL_DWARF_ELF_H
#define STOKE_SYMBOL_DWARF_ELF_H

#include "symbol/dwarf.h"
#include "symbol/elf.h"

/* The sections of a file; with `split`, those of a .dwo. They live as long as the file
 * and the arena of e. Not for several threads with one e at once. */
struct dwarf_sections dwarf_elf_sections(struct elf *e, bool split);

/* All that dwarf_init needs, but for `split`. `alternate`: dwz's common file, or NULL. */
struct dwarf_input dwarf_elf_input(struct elf *e, struct elf *alternate);

#endif
