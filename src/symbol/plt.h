/* SPDX-License-Identifier: Apache-2.0 */
/* The procedure linkage table: stubs that jump to functions of other objects, named
 * "printf@plt" after them as disassemblers do. x86-64 and AArch64. */
#ifndef STOKE_SYMBOL_PLT_H
#define STOKE_SYMBOL_PLT_H

#include "symbol/elf.h"
#include "symbol/table.h"

/* Adds the stubs to a table that is not finished, but has the object's own symbols, by
 * which stubs of its indirect functions are named. Names are made in the table's arena.
 * False when memory is short. */
bool plt_add(struct symbol_table *t, struct elf *file, struct error *err);

#endif
