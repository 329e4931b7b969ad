/* SPDX-License-Identifier: Apache-2.0 */
/* Generates call frame information for Go executables without DWARF, from the stack
 * sizes in Go's own function table: the .debug_frame section that Go's linker would
 * have written. */
#ifndef STOKE_SYMBOL_GO_FRAMES_H
#define STOKE_SYMBOL_GO_FRAMES_H

#include "symbol/go_table.h"

/* The bytes of the section, in the arena; empty if the architecture is neither x86-64
 * nor AArch64, and when out of memory. */
struct str go_frames(const struct go_table *t, struct arena *arena);

#endif
