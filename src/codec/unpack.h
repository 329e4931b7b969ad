/* SPDX-License-Identifier: Apache-2.0 */
/* Packed blocks that are at hand whole: sections of object files, files of archives. What comes in a stream
 * is decode.h's.
 *
 * A small block may unpack to an endless one: what would be more than the limits allow
 * (base/limits.h) is refused, and all above UNPACK_MAX is. */
#ifndef STOKE_CODEC_UNPACK_H
#define STOKE_CODEC_UNPACK_H

#include "base/arena.h"
#include "base/error.h"

#define UNPACK_MAX ((uint64_t)4 << 30)

#define UNPACK_SIZE_UNKNOWN UINT64_MAX

enum pack { PACK_ZLIB, PACK_ZSTD, PACK_XZ, PACK_DEFLATE };

/* Unpacks `packed` to *out, in the arena. `size` is what it is said to become, and must
 * be exact; UNPACK_SIZE_UNKNOWN: it is found out. False, with *out empty, where the block
 * is damaged, of another size or refused, and where memory is short: that the arena
 * knows, too. */
bool unpack(enum pack kind, struct str packed, uint64_t size, struct arena *arena,
            struct str *out, struct error *err);

/* A run over a block, until it ends or the room is full. */
struct unpack_run {
    struct str in;
    char *out;
    size_t room, done;
    bool ended;
    bool lacks_memory; /* it could not begin */
};

/* What the libraries do (unpack_run.c; the viewer's page brings its own). False where the
 * data is damaged. */
bool unpack_run(enum pack kind, struct unpack_run *r);

#endif
