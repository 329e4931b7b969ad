/* SPDX-License-Identifier: Apache-2.0 */
/* A lookup table of address ranges: of units, and of the functions of a unit. */
#ifndef STOKE_SYMBOL_DWARF_TABLE_H
#define STOKE_SYMBOL_DWARF_TABLE_H

#include "symbol/dwarf.h"

/* Adds [low, high) unless it is empty. False when out of memory. */
bool dwarf_table_add(struct dwarf_table *t, struct arena *a, uint64_t low, uint64_t high,
                     uint32_t value);

/* Sorts the ranges for lookups. Among equal ranges, the first one added counts, or,
 * without first_counts, the last. False when out of memory. */
bool dwarf_table_sort(struct dwarf_table *t, bool first_counts);

/* The innermost range that contains the address: the one that begins last. NULL: none. */
const struct dwarf_range *dwarf_table_find(const struct dwarf_table *t, uint64_t address);

#endif
