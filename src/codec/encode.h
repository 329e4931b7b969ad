/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders: an output that packs what is written to it into another output. */
#ifndef STOKE_CODEC_ENCODE_H
#define STOKE_CODEC_ENCODE_H

#include "base/error.h"
#include "base/output.h"

/* Under way; must not move until encoder_deinit. */
struct encoder {
    struct output output; /* what the writer writes to */
    struct output *to;
    void *state;
};

/* Packs into `to` with gzip. The same bytes in give the same bytes out, on every machine
 * with the same zlib. False when memory is short. */
bool encoder_init_gzip(struct encoder *e, struct output *to, struct error *err);

/* Packs what is left; `to` is still its owner's to finish. False when anything failed. */
bool encoder_finish(struct encoder *e);

/* Frees the encoder; not `to`. Also one whose init failed, or all zero. */
void encoder_deinit(struct encoder *e);

/* zstd data that goes among other things in pieces, as one stream: what an unpacker
 * (decode.h) takes. */
struct packer {
    void *state;
};

/* `level` is zstd's: the higher, the smaller and slower; negative ones are the quickest.
 * It needs memory of the order of a megabyte. False when memory is short. */
bool packer_init(struct packer *p, int level, struct error *err);
void packer_deinit(struct packer *p); /* also of one that is all zeros */

/* The room that a piece of so many bytes may take. */
size_t packer_bound(size_t size);

/* Packs all of `bytes` into `into`: with it, all that was taken up to now can be
 * unpacked. Gives the size; 0 where the room is too small or memory short, and the stream
 * is then at its end. */
size_t packer_take(struct packer *p, struct str bytes, char *into, size_t room);

/* The same, and ends the stream: what is taken from then on is a stream of its own, which
 * may be put behind this one or go without it. */
size_t packer_end(struct packer *p, struct str bytes, char *into, size_t room);

#endif
