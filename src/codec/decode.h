/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders: a source over another source's bytes. They unpack gzip, zstd, xz, bzip2 and
 * the first file of a zip, convert UTF-16 (with a byte order mark) to UTF-8, and remove a
 * UTF-8 byte order mark. These may be nested: a zip of a .pb.gz, a .gz of UTF-16.
 *
 * A small file can unpack to unlimited size: unpacking stops with a flaw when the
 * output exceeds the limits for the input (base/limits.h). */
#ifndef STOKE_CODEC_DECODE_H
#define STOKE_CODEC_DECODE_H

#include "base/arena.h"
#include "base/source.h"
#include "codec/packed.h"

/* Flaws of packed data whose beginning was read. */
#define DECODE_DAMAGED "the packed data is damaged: the rest is skipped"
#define DECODE_TRUNCATED "the packed data is truncated"
#define DECODE_TRAILING_BYTES "bytes after the end of the packed data are ignored"

struct decoder {
    struct source source; /* what the reader reads */
    struct source *from;
    const char *what; /* "gzip", "xz", "UTF-16", ...; NULL: unchanged bytes */
    const char *flaw; /* after reading: a fault of the packed data, or NULL */
    bool broken;      /* the flaw makes the rest unreadable */
    const struct packed_format *format; /* NULL: zstd, or not compressed */
    void *state;
    struct decoder *under,
        *over;   /* the layer that this one reads; the one that reads it */
    uint64_t in; /* bytes of the file that were read */
    uint64_t out;
    bool big_endian, frame_done, zip;
    bool stopped; /* a limit was reached: unpacking has stopped */
    struct arena_bound *bound, *bound_before; /* see decoder_bound_memory; or NULL */
    size_t step;                              /* zstd: suggested size of the next input */
    unsigned high; /* a high surrogate that waits for its low one, or 0 */
};

/* Detects the encoding of `from` and makes d->source the decoded bytes. If nothing has
 * to be decoded, d->source is `from` itself, moved. Returns false on a read error, or
 * if this build cannot decode the format. */
bool decoder_init(struct decoder *d, struct source *from, struct error *err);

/* Limits the memory of the reader, which is the calling thread, by the size of the
 * packed data (limits.memory). At the limit the source ends with a flaw; far above it,
 * which can happen if everything is unpacked before it is read, allocations fail and
 * bound->refused is set. `bound` is all zero and outlives the decoder. Ends with
 * decoder_deinit, which the same thread calls. */
void decoder_bound_memory(struct decoder *d, struct arena_bound *bound);

/* Frees the decoder and its source; not `from`, unless it was moved. */
void decoder_deinit(struct decoder *d);

/* Unpacks a zstd stream that is stored in pieces between other data. */
struct unpacker {
    void *state;
    uint64_t in, out;
    const struct limits *limits;
};

/* The limits outlive it; NULL: limits_default. */
bool unpacker_init(struct unpacker *u, const struct limits *limits, struct error *err);
void unpacker_deinit(struct unpacker *u); /* a zeroed struct is allowed */

/* Unpacks some of *packed, removes that part from it, and writes up to `room` bytes to
 * `into`. A piece is complete when *packed is empty and *got is less than `room`.
 * Returns false if the data is damaged or exceeds the limits (see above); the stream
 * then ends. */
bool unpacker_unpack(struct unpacker *u, struct str *packed, char *into, size_t room,
                     size_t *got);

#endif
