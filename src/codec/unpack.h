/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks whole blocks in memory: sections of object files, files of archives. For
 * streams see decode.h.
 *
 * A small block can unpack to unlimited size: a result above the limits (base/limits.h)
 * or above UNPACK_MAX is rejected. */
#ifndef STOKE_CODEC_UNPACK_H
#define STOKE_CODEC_UNPACK_H

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"

#define UNPACK_MAX ((uint64_t)4 << 30)

#define UNPACK_SIZE_UNKNOWN UINT64_MAX

enum pack { PACK_ZLIB, PACK_ZSTD, PACK_XZ, PACK_DEFLATE };

/* Unpacks `packed` to *out, in the arena. `size` is the declared size and must be
 * exact; UNPACK_SIZE_UNKNOWN: unknown. `limits`: NULL for limits_default. Returns false,
 * with *out empty, if the block is damaged, has another size or is rejected (then err
 * has a hint), or when out of memory (the arena has then failed too). */
bool unpack(enum pack kind, struct str packed, uint64_t size, const struct limits *limits,
            struct arena *arena, struct str *out, struct error *err);

/* The same for a deflated block that is truncated or damaged: *out is what precedes the
 * fault, at most `room` bytes. It may be empty: the viewer's page cannot unpack parts. */
void unpack_part(struct str packed, size_t room, struct arena *arena, struct str *out);

/* One attempt to unpack a block, until it ends or the room is full. */
struct unpack_run {
    struct str in;
    char *out;
    size_t room, done;
    bool part; /* deflate: `done` also counts what precedes a fault */
    bool ended;
    bool lacks_memory; /* failed to allocate its state */
};

/* Implemented with the compression libraries (unpack_run.c); the viewer's page has its
 * own. False if the data is damaged. */
bool unpack_run(enum pack kind, struct unpack_run *r);

#endif
