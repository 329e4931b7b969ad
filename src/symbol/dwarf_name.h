/* SPDX-License-Identifier: Apache-2.0 */
/* What functions are called.
 *
 * Where a function has a linkage name, that is its name. Others (C++ functions that no
 * other file can see: static ones, those of unnamed namespaces, of local types and with
 * such in their template arguments) have the plain name, in front of it those of all
 * that they lie in, as a demangler writes them:
 *
 *   namespaces, types      std::vector<int>::grow; as the DWARF spells them
 *   without a name         (anonymous namespace), {unnamed type#1}
 *   functions              demangled, where they have a linkage name: f(int)::local::get;
 *                          else plain, without arguments, and what they lie in
 *   lambdas                main::{lambda(int)#2}::operator(): the parameters' types, and
 *                          the how manieth of that function's lambdas it is, in the order
 *                          of lines and columns: GCC's numbers for the symbol table,
 *                          unless it left a lambda out. They are unnamed types with a
 *                          function operator() whose object is named __closure; other
 *                          compilers give their functions linkage names.
 *
 * C has no such things, so its names stay as they are. */
#ifndef STOKE_SYMBOL_DWARF_NAME_H
#define STOKE_SYMBOL_DWARF_NAME_H

#include "symbol/dwarf_function.h"

/* Looks the name up, once. */
void dwarf_name_inlined(struct dwarf_reader *r, struct dwarf_unit_state *s,
                        struct dwarf_inlined *inlined);

#endif
