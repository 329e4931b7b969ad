/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of functions for graphs and tables: without arguments and offsets.
 *
 * Importers of tools that print whole signatures call these functions for each distinct
 * name. */
#ifndef STOKE_MODEL_NAME_H
#define STOKE_MODEL_NAME_H

#include "base/output.h"
#include "base/str.h"

/* The name without its argument list and the text after it:
 *   v8::Call(v8::Isolate*, int) const  ->  v8::Call
 *   foo<void (*)(int)>(char)           ->  foo<void (*)(int)>
 *   A::operator()(int)                 ->  A::operator()
 *   (anonymous namespace)::f(int)      ->  (anonymous namespace)::f
 *   f(int)::{lambda(int)#1}::g(int)    ->  f(int)::{lambda(int)#1}::g
 *   net/http.(*Client).Do              ->  net/http.(*Client).Do   (Go: nothing is cut)
 *   closure #1 (Int) -> () in A.f(x:)  ->  closure #1 (Int) -> () in A.f   (Swift)
 * A name that is all brackets does not change.
 * Brackets that do not close (tools cut long names) end at the first '('. */
struct str name_without_arguments(struct str name);

/* Writes the name without template arguments:
 *   std::vector<int, A<int>>::at   ->  std::vector::at
 *   core::ptr::drop_in_place::<T>  ->  core::ptr::drop_in_place   (Rust)
 *   <Vec<T> as Iterator>::next     ->  <Vec as Iterator>::next
 * A '<' that follows no name (Map.<init>, f::<lambda()>) and operators stay. */
void name_write_without_templates(struct output *o, struct str name);

/* The name without a trailing "+0x1f" or "+0x1f/0x20". */
struct str name_without_offset(struct str name);

/* A Java type descriptor's class without its leading L: Ljava/util/List;.add ->
 * java/util/List;.add. Other names do not change. */
struct str name_without_descriptor(struct str name);

/* Applies the three functions above. */
struct str name_tidy(struct str name);

/* Removes the next function from *rest, a chain that a JIT or tool prints, outermost
 * first: "a->b->c". operator-> and "-> T" of a signature are not links. */
struct str name_next_link(struct str *rest);

#endif
