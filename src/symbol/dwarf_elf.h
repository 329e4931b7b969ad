/* SPDX-License-Identifier: Apache-2.0 */
/* Gets the DWARF sections of an ELF file. */
#ifndef STOKE_SYMBOL_DWARF_ELF_H
#define STOKE_SYMBOL_DWARF_ELF_H

#include "symbol/dwarf.h"
#include "symbol/elf.h"

/* The sections of a file; with `split`, those of a .dwo. Valid as long as the file and
 * the arena of e. Not thread-safe for the same e. */
struct dwarf_sections dwarf_elf_sections(struct elf *e, bool split);

/* Everything that dwarf_init needs except `split`. `alternate`: the common file of dwz,
 * or NULL. */
struct dwarf_input dwarf_elf_input(struct elf *e, struct elf *alternate);

#endif
