/* SPDX-License-Identifier: Apache-2.0 */
/* Demangles Rust names of version 0 (Rust RFC 2603), "_R...". Legacy names look like
 * C++ names and end in a hash: see model/rust_name.h. */
#ifndef STOKE_SYMBOL_RUST_V0_H
#define STOKE_SYMBOL_RUST_V0_H

#include "base/output.h"

/* A name can refer to its own parts: names that would exceed these limits are
 * rejected. */
#define RUST_V0_LENGTH_MAX ((size_t)4096)
#define RUST_V0_WRITTEN_MAX ((size_t)16 << 10)
#define RUST_V0_DEPTH_MAX 128

/* Appends the name in source form, without crate hashes and types of constants, to an
 * OUTPUT_BUFFER. If the name is not such a name, or is rejected, returns false and
 * appends nothing. */
bool rust_v0_write(struct output *out, struct str name);

#endif
