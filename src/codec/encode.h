/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders: an output that compresses what is written to it into another output. */
#ifndef STOKE_CODEC_ENCODE_H
#define STOKE_CODEC_ENCODE_H

#include "base/error.h"
#include "base/output.h"

/* Must not move between init and encoder_deinit. */
struct encoder {
    struct output output; /* the writer writes here */
    struct output *to;
    void *state;
};

/* Compresses into `to` with gzip. Equal input gives equal output on every machine with
 * the same zlib. False when out of memory. */
bool encoder_init_gzip(struct encoder *e, struct output *to, struct error *err);

/* The same, larger but in half the time: for data that is used once, on this machine. */
bool encoder_init_gzip_fast(struct encoder *e, struct output *to, struct error *err);

/* Compresses the rest; the owner of `to` must still finish `to`. False if anything
 * failed. */
bool encoder_finish(struct encoder *e);

/* Frees the encoder, not `to`. Allowed if init failed, and for a zeroed struct. */
void encoder_deinit(struct encoder *e);

/* Writes a zstd stream in pieces that are stored between other data; the counterpart of
 * struct unpacker (decode.h). */
struct packer {
    void *state;
};

/* `level` is zstd's compression level: higher means smaller and slower; negative levels
 * are the fastest. Uses about a megabyte of memory. False when out of memory. */
bool packer_init(struct packer *p, int level, struct error *err);
void packer_deinit(struct packer *p); /* a zeroed struct is allowed */

/* Maximum packed size of a piece of `size` bytes. */
size_t packer_bound(size_t size);

/* Packs all of `bytes` into `into` and flushes: everything up to here can then be
 * unpacked. Returns the packed size; 0 if the room is too small or if out of memory, and
 * the stream then ends. */
size_t packer_add(struct packer *p, struct str bytes, char *into, size_t room);

/* The same, and ends the stream: the next piece begins a new, independent stream. */
size_t packer_end(struct packer *p, struct str bytes, char *into, size_t room);

/* Appends the bytes to the output as one stream. False when out of memory. */
bool packer_write(int level, struct str bytes, struct output *out, struct error *err);

#endif
