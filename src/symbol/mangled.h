/* SPDX-License-Identifier: Apache-2.0 */
/* Mangled C++ names: where their parts are, and what it would cost to write them out.
 *
 * A name may refer to its own parts, and those to further ones, so that a hundred bytes
 * stand for more text than there is room or time for (as in CVE-2021-3530). Before a name
 * is given to the C++ runtime it is walked over here, by the grammar of the Itanium C++
 * ABI, 5.1: nothing is written, the nodes that would be are counted. */
#ifndef STOKE_SYMBOL_MANGLED_H
#define STOKE_SYMBOL_MANGLED_H

#include "base/str.h"
#include <stdint.h>

/* What is longer, deeper or would take more nodes is not demangled. */
#define MANGLED_LENGTH_MAX 4096
#define MANGLED_DEPTH_MAX 128
#define MANGLED_COST_MAX ((uint64_t)1 << 18)

struct mangled {
    bool is_special; /* a table, a thunk, a guard: nothing can be left out */
    size_t name_end; /* what follows are the types of the parameters */
    size_t quals,
        quals_end; /* "const" and "&" of a member function: [quals, quals_end) */
    size_t end;    /* of what is mangled: a suffix such as ".cold" follows */
};

/* Walks over a name that begins with "_Z". Without `whole` the parameters are not looked
 * at, and m->end is m->name_end. False where the name is not to be demangled. */
bool mangled_scan(struct str name, bool whole, struct mangled *m);

#endif
