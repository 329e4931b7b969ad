/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks a file of one or more compressed streams ("members"), a step at a time: gzip, the
 * deflated bytes of a zip, xz and bzip2. The caller reads the input and joins the members. */
#ifndef STOKE_CODEC_PACKED_H
#define STOKE_CODEC_PACKED_H

#include "base/str.h"

enum packed_status {
    PACKED_MORE, /* the member continues */
    PACKED_END,  /* its last byte was unpacked */
    PACKED_DAMAGED,
    PACKED_MEMORY, /* out of memory */
};

/* A step reads from `in` and writes to `out`, and moves both. */
struct packed_step {
    struct str in;
    char *out;
    size_t room;
};

struct packed_format {
    const char *name;
    const char *magic; /* the first bytes of a member; NULL: there is only one member */
    void *(*create)(void); /* ready for the first member; NULL when out of memory */
    void (*free)(void *state);
    bool (*next_member)(void *state); /* false when out of memory */
    enum packed_status (*step)(void *state, struct packed_step *s);
};

extern const struct packed_format packed_gzip, packed_deflate, packed_xz, packed_bzip2;

#endif
