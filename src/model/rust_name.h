/* SPDX-License-Identifier: Apache-2.0 */
/* Rust's names in the form of tools that only know the mangling of C++:
 *   _$LT$core..ops..Range$LT$T$GT$$GT$::next::h89148bc07d25b3ae
 * is <core::ops::Range<T>>::next. */
#ifndef STOKE_MODEL_RUST_NAME_H
#define STOKE_MODEL_RUST_NAME_H

#include "base/output.h"

/* The name in Rust's syntax, in `scratch` if parts of it change. A name without a hash
 * at its end (h and 16 digits) is not a Rust name and does not change. */
struct str rust_name(struct str name, struct output *scratch);

#endif
