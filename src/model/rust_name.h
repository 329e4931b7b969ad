/* SPDX-License-Identifier: Apache-2.0 */
/* Rust's names as tools leave them that know only C++'s mangling:
 *   _$LT$core..ops..Range$LT$T$GT$$GT$::next::h89148bc07d25b3ae
 * is <core::ops::Range<T>>::next. */
#ifndef STOKE_MODEL_RUST_NAME_H
#define STOKE_MODEL_RUST_NAME_H

#include "base/output.h"

/* The name as Rust's programmers write it, in `scratch` where more than cutting is
 * needed. A name without the hash at its end (h and 16 digits) is not Rust's and stays.
 */
struct str rust_name(struct str name, struct output *scratch);

#endif
