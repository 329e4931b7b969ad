/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions.
 *
 * If a function has a linkage name, that is its name. Other functions (C++ functions
 * that are not visible in other files: static ones, those of unnamed namespaces, of
 * local types, and with such types as template arguments) get their plain name,
 * qualified with their scopes in the form that demanglers write:
 *
 *   namespaces, types    std::vector<int>::grow; as spelled in the DWARF
 *   without a name       (anonymous namespace), {unnamed type#1}
 *   functions            demangled if they have a linkage name: f(int)::local::get;
 *                        otherwise plain, without arguments, with their scopes
 *   lambdas              main::{lambda(int)#2}::operator(): the types of the parameters,
 *                        and the number of the lambda in that function, in the order of
 *                        lines and columns. These are the numbers that GCC uses in the
 *                        symbol table, unless it removed a lambda. In DWARF, a lambda is
 *                        an unnamed type with a function operator() whose object is
 *                        named __closure; other compilers write linkage names.
 *
 * C names need no qualification and are unchanged. */
#ifndef STOKE_SYMBOL_DWARF_NAME_H
#define STOKE_SYMBOL_DWARF_NAME_H

#include "symbol/dwarf_function.h"

/* Finds the name of an inlined call, if not done before. */
void dwarf_name_inlined(struct dwarf_reader *r, struct dwarf_unit_state *s,
                        struct dwarf_inlined *inlined);

#endif
