/* SPDX-License-Identifier: Apache-2.0 */
/* The procedure linkage table (PLT): stubs that jump to functions of other objects.
 * They are named "printf@plt", as in disassemblers. x86-64 and AArch64. */
#ifndef STOKE_SYMBOL_PLT_H
#define STOKE_SYMBOL_PLT_H

#include "symbol/elf.h"
#include "symbol/symbol_table.h"
#include "symbol/symtab.h"

/* Adds the stubs to a table that is not finished and already has the object's own
 * symbols, which give names to stubs of its indirect functions. The table's arena owns
 * the names. False when out of memory. */
bool plt_add(struct symbol_table *t, struct elf *file, struct error *err);

/* Names those of the variables, sorted by address and without a name, that are pointers to
 * symbols which the dynamic linker finds: slots of the global offset table. */
void plt_name_slots(struct elf *file, struct symtab_variable *v, size_t count);

#endif
