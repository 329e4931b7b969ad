/* SPDX-License-Identifier: Apache-2.0 */
/* Scans mangled C++ names: finds their parts, and computes the cost of demangling.
 *
 * A name can refer to its own parts, and those to other parts, so a hundred bytes can
 * expand to more text than memory or time allow (CVE-2021-3530). Before the C++ runtime
 * gets a name, it is scanned here with the grammar of the Itanium C++ ABI, 5.1: nothing
 * is written, but the nodes that the runtime would create are counted. */
#ifndef STOKE_SYMBOL_MANGLED_H
#define STOKE_SYMBOL_MANGLED_H

#include "base/str.h"
#include <stdint.h>

/* Names beyond these limits are not demangled. */
#define MANGLED_LENGTH_MAX 4096
#define MANGLED_DEPTH_MAX 128
#define MANGLED_COST_MAX ((uint64_t)1 << 18)

struct mangled {
    bool is_special; /* a table, a thunk, a guard: nothing can be omitted */
    size_t name_end; /* followed by the types of the parameters */
    size_t quals,
        quals_end; /* "const" and "&" of a member function: [quals, quals_end) */
    size_t end;    /* end of the mangled part: a suffix such as ".cold" follows */
};

/* Scans a name that begins with "_Z". Without `whole` the parameters are not scanned,
 * and m->end is m->name_end. False if the name must not be demangled. */
bool mangled_scan(struct str name, bool whole, struct mangled *m);

#endif
