/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information of Go programs without DWARF, from what Go's own table knows of
 * each function's stack: the .debug_frame section that Go's linker would have written. */
#ifndef STOKE_SYMBOL_GO_FRAMES_H
#define STOKE_SYMBOL_GO_FRAMES_H

#include "symbol/go_table.h"

/* The section's bytes, in the arena; empty where the machine is neither x86-64 nor
 * AArch64, and when memory is short. */
struct str go_frames(const struct go_table *t, struct arena *arena);

#endif
