/* SPDX-License-Identifier: Apache-2.0 */
/* Content hashes: 128 bits that name a frame or a stack in every profile and process.
 * stoke-file(5) specifies them byte by byte, so that other programs can compute them.
 *
 * A named frame is hashed by kind, name, source file and module; one without a name by
 * the module's build ID and the offset in its file. Addresses, process ids and line
 * numbers do not count. So frames that differ only in these have the same hash. A stack
 * is hashed by its frames, from the root on. */
#ifndef STOKE_MODEL_CONTENT_HASH_H
#define STOKE_MODEL_CONTENT_HASH_H

#include "model/profile.h"

struct content_hash {
    unsigned char bytes[16];
};

#define CONTENT_HASH_TEXT 33

/* The hash of a frame other than 0. */
struct content_hash content_hash_frame(const struct profile *p, frame_id frame);

/* The hash of the stack in which `frame` is called by the stack `parent`; of an outermost
 * frame, the parent is all zero. */
struct content_hash content_hash_stack(const struct content_hash *parent,
                                       const struct content_hash *frame);

/* Writes 32 lower-case hexadecimal digits and a zero. */
void content_hash_text(const struct content_hash *hash, char text[CONTENT_HASH_TEXT]);

/* The hashes of all frames and stacks of a profile, by id; the hashes of id 0 are
 * zero. */
struct content_hashes {
    struct arena arena;
    struct content_hash *frames, *stacks;
};

/* Takes one step per frame and stack. False, with err set, when out of memory; deinit in
 * every case. The profile need not outlive the hashes. */
bool content_hashes_init(struct content_hashes *h, const struct profile *p,
                         struct error *err);
void content_hashes_deinit(struct content_hashes *h);

#endif
