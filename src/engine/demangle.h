/* SPDX-License-Identifier: Apache-2.0 */
/* Demangles function names in text that other tools wrote, according to --demangle. */
#ifndef STOKE_ENGINE_DEMANGLE_H
#define STOKE_ENGINE_DEMANGLE_H

#include "model/profile.h"
#include "symbol/demangle.h"

/* Returns the profile with its mangled names demangled, and Rust names without hashes
 * and escapes. Takes ownership of `p`: returns p itself if no name changes, otherwise
 * a new profile, and destroys p. NULL, with err set and p destroyed, if memory is
 * short. p may be NULL; the result is then NULL. */
struct profile *demangle_names(struct profile *p, enum demangle how, struct error *err);

#endif
