/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as valgrind's tools write them, and programs that use their formats:
 *   0x651D960: ??? (in /usr/lib/libkateinterfaces.so.4.4.0)
 *   0x109246: main (w.c:7)
 *   0x10AE8441B: alloc::alloc::alloc (alloc/src/alloc.rs:237:9) */
#ifndef STOKE_IMPORT_VALGRIND_FRAME_H
#define STOKE_IMPORT_VALGRIND_FRAME_H

#include "import/importer.h"

/* The frame of such a text, which begins with the address. */
frame_id valgrind_frame(struct builder *b, const struct import_options *options,
                        struct str text, bool inlined);

/* Whether a frame is inlined into its caller: then both have the address of the caller.
 * Recursive calls from the same location also have one address, and the same text. */
bool valgrind_is_inlined(struct str text, struct str caller);

#endif
