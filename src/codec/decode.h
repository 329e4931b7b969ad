/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders: a source over another source's bytes. gzip, zstd and the first file of a zip
 * are unpacked, UTF-16 (with a byte-order mark) becomes UTF-8, the UTF-8 mark is dropped.
 *
 * A small file may unpack to an endless one: unpacking stops, with a flaw, once the output
 * is larger than the limits allow for the input (base/limits.h). */
#ifndef STOKE_CODEC_DECODE_H
#define STOKE_CODEC_DECODE_H

#include "base/source.h"

/* What can be wrong with packed data that was read as far as it goes. */
#define DECODE_DAMAGED "the packed data is damaged: what lies behind is left out"
#define DECODE_CUT_SHORT "the packed data ends too early: what lies behind is missing"
#define DECODE_MORE_BEHIND "bytes behind the end of the gzip data are left out"

struct decoder {
    struct source source; /* what the reader reads */
    struct source *from;
    const char *what; /* "gzip", "zstd", "UTF-16"; NULL: bytes as they are */
    const char *flaw; /* once read: what was wrong with the packed data, or NULL */
    bool broken;      /* and what lies behind that could not be read */
    void *state;
    uint64_t in, out;
    bool big_endian, frame_done, zip;
    bool stopped;  /* at the limit: nothing more is unpacked */
    bool bounded;  /* see decoder_bound_memory */
    int64_t held;  /* what the arenas of the reader's thread held before it read */
    size_t step;   /* zstd: how many bytes it wants next */
    unsigned high; /* a high surrogate waiting for its low one, or 0 */
};

/* Looks at the beginning of `from` and makes d->source what it decodes to. Where nothing
 * is to be decoded, d->source is `from` itself, moved. False on a read error or where the
 * first bytes promise what this build cannot unpack. */
bool decoder_init(struct decoder *d, struct source *from, struct error *err);

/* Bounds the memory of who reads, which is the calling thread, by the size of the packed
 * data (limits.memory): at the bound the source ends, with a flaw; far above it, as where
 * all was unpacked before it is read, allocations fail (arena_was_refused). Until
 * decoder_deinit. */
void decoder_bound_memory(struct decoder *d);

/* Frees the decoder and its source; not `from`, unless it was moved. */
void decoder_deinit(struct decoder *d);

/* zstd data that comes in pieces among other things, as one stream. */
struct unpacker {
    void *state;
    uint64_t in, out;
};

bool unpacker_init(struct unpacker *u, struct error *err);
void unpacker_deinit(struct unpacker *u); /* also of one that is all zeros */

/* Unpacks some of *packed, takes that off it, and puts up to `room` bytes to `into`. All
 * of a piece is unpacked once *packed is empty and *got less than the room. False where
 * the data is damaged or unpacks to too much (see above); the stream is then at its end.
 */
bool unpacker_take(struct unpacker *u, struct str *packed, char *into, size_t room,
                   size_t *got);

#endif
