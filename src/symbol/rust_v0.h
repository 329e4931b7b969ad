/* SPDX-License-Identifier: Apache-2.0 */
/* Rust's mangled names: version 0 (Rust RFC 2603), "_R...". The older ones look like
 * C++'s and end in a hash: model/rust_name.h. */
#ifndef STOKE_SYMBOL_RUST_V0_H
#define STOKE_SYMBOL_RUST_V0_H

#include "base/output.h"

/* A name may refer to its own parts: what would become longer is refused. */
#define RUST_V0_LENGTH_MAX ((size_t)4096)
#define RUST_V0_WRITTEN_MAX ((size_t)16 << 10)
#define RUST_V0_DEPTH_MAX 128

/* Appends the name as it stands in a source, without hashes of crates and types of
 * constants, to a keeping output. False, with nothing appended, where the name is no such
 * name, or is refused. */
bool rust_v0_write(struct output *out, struct str name);

#endif
