/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions as they stand in the source: of C++ (by the C++ runtime's
 * demangler, once symbol/mangled.h has found nothing against it) and Rust.
 *
 * What is hostile or broken stays as it is: nothing here takes long, whatever it is
 * given. */
#ifndef STOKE_SYMBOL_DEMANGLE_H
#define STOKE_SYMBOL_DEMANGLE_H

#include "base/output.h"

enum demangle {
    DEMANGLE_NO,
    DEMANGLE_SIMPLE, /* foo::bar<int>, as perf has it: no parameters, no result, no suffix
                      */
    DEMANGLE_FULL,   /* int foo::bar<int>(int) [clone .cold] */
};

/* The name to show: `name` itself, or text in `scratch`, a keeping output, good until the
 * next call. "@plt" stays behind what it is a stub for; versions ("@@GLIBCXX_3.4") go
 * where something is demangled. Where memory is short the name stays as it is. */
struct str demangle(struct str name, enum demangle how, struct output *scratch);

#endif
