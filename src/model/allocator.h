/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that allocate memory for their callers, by name. */
#ifndef STOKE_MODEL_ALLOCATOR_H
#define STOKE_MODEL_ALLOCATOR_H

#include "base/str.h"

/* malloc and its relatives, operator new, and their mangled names. */
bool is_allocator(struct str function);

/* The same, and what stands between them and the program: containers and strings of the libraries of
 * C++ and Rust, and the calls that map memory. */
bool is_allocating(struct str function);

#endif
