/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers on the wire: a cursor over the fields of a message, and a writer.
 *
 * A message is bytes at hand; a message inside it is a reader over those bytes. Lengths
 * are bounded by what is there, and failure sticks, so a loop ends where the bytes do not
 * make sense, and `failed` tells. Numbers are 64 bits; signed ones are cast by the user.
 */
#ifndef STOKE_CODEC_PROTOBUF_H
#define STOKE_CODEC_PROTOBUF_H

#include "base/output.h"
#include "base/str.h"
#include <stdint.h>

enum proto_wire {
    PROTO_VARINT = 0,
    PROTO_FIXED64 = 1,
    PROTO_BYTES = 2,
    PROTO_FIXED32 = 5
};

struct proto_reader {
    struct str rest;  /* what is not read yet */
    const char *base; /* the first byte of the outermost message, to count offsets from */
    bool failed;      /* rest begins where it went wrong */
};

struct proto_field {
    uint32_t number;
    enum proto_wire wire;
    uint64_t value;   /* of a number */
    struct str bytes; /* of a string, a message or packed numbers */
};

struct proto_reader proto_of(struct str message);

/* A reader over a field of bytes; empty where the field is a number. */
struct proto_reader proto_inside(const struct proto_reader *outer,
                                 const struct proto_field *field);

/* Takes the next field. False at the end and on failure: a number of more than ten bytes,
 * a length beyond the end, field number 0, a wire type that is none (groups are not). */
bool proto_next(struct proto_reader *r, struct proto_field *field);

/* Takes the next number of a repeated field, packed or not: call until it is false, then
 * take the next field. What is cut short at the end of a packed field is left out. */
bool proto_number(struct proto_field *field, uint64_t *value);

/* Where the reader is, counted from the beginning of the outermost message. */
uint64_t proto_offset(const struct proto_reader *r);

/* --- Writing ---------------------------------------------------------------------- */

/* A message inside another is written to an output of its own first, as its length stands
 * before it; then it is a field of bytes. */
void proto_put_u64(struct output *o, uint32_t number, uint64_t value); /* 0 is left out */
void proto_put_bytes(struct output *o, uint32_t number, struct str bytes);

/* A string; bytes that are not UTF-8 are replaced. */
void proto_put_str(struct output *o, uint32_t number, struct str s);

/* A number without a field around it, for packed fields. */
void proto_put_varint(struct output *o, uint64_t value);

#endif
