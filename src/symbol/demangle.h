/* SPDX-License-Identifier: Apache-2.0 */
/* Demangles function names of C++ (with the C++ runtime's demangler, after
 * symbol/mangled.h has checked the name), Rust and OCaml.
 *
 * Hostile or invalid names are returned unchanged. The time is bounded for every
 * input. */
#ifndef STOKE_SYMBOL_DEMANGLE_H
#define STOKE_SYMBOL_DEMANGLE_H

#include "base/output.h"

enum demangle {
    DEMANGLE_NO,
    /* foo::bar<int>, as in perf: no parameters, no result type, no suffix */
    DEMANGLE_SIMPLE,
    DEMANGLE_FULL, /* int foo::bar<int>(int) [clone .cold] */
};

/* Returns the name to display: `name` itself, or text in `scratch` (an OUTPUT_BUFFER),
 * valid until the next call. The suffix "@plt" stays; a version suffix
 * ("@@GLIBCXX_3.4") is dropped when the name is demangled. When out of memory, the
 * name is returned unchanged. */
struct str demangle(struct str name, enum demangle how, struct output *scratch);

#endif
