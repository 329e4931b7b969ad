/* SPDX-License-Identifier: Apache-2.0 */
/* Functions' names in text that other tools wrote: demangled as --demangle says. */
#ifndef STOKE_ENGINE_DEMANGLE_H
#define STOKE_ENGINE_DEMANGLE_H

#include "model/profile.h"
#include "symbol/demangle.h"

/* The profile with its mangled names demangled, and Rust's without their hashes and
 * escapes. Takes `p` over: gives back p itself where no name changes, else a new profile
 * with p destroyed; NULL, with err set and p destroyed, when memory is short. p may be
 * NULL: nothing happens then. */
struct profile *demangle_names(struct profile *p, enum demangle how, struct error *err);

#endif
