/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers wire format: a cursor over the fields of a message, and a writer.
 *
 * A message is bytes in memory; a nested message is a reader over a part of those
 * bytes. Lengths are checked against the available bytes. Failure is sticky: a loop
 * ends at invalid bytes, and `failed` is set. Numbers are 64 bits; the caller casts
 * signed ones. */
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
    struct str rest;  /* bytes not read yet */
    const char *base; /* the first byte of the outermost message, for offsets */
    bool failed;      /* rest begins at the invalid bytes */
};

struct proto_field {
    uint32_t number;
    enum proto_wire wire;
    uint64_t value;   /* of a number */
    struct str bytes; /* of a string, a message or packed numbers */
};

struct proto_reader proto_of(struct str message);

/* A reader over a field of bytes; empty if the field is a number. */
struct proto_reader proto_inside(const struct proto_reader *outer,
                                 const struct proto_field *field);

/* Reads the next field. False at the end and on failure: a number of more than ten
 * bytes, a length beyond the end, field number 0, or an invalid wire type (groups are
 * not supported). */
bool proto_next(struct proto_reader *r, struct proto_field *field);

/* Returns the next number of a repeated field, packed or not: call it until it is
 * false, then read the next field. A truncated number at the end of a packed field is
 * dropped. */
bool proto_number(struct proto_field *field, uint64_t *value);

/* Offset of the reader from the beginning of the outermost message. */
uint64_t proto_offset(const struct proto_reader *r);

/* --- Writing ---------------------------------------------------------------------- */

/* To write a nested message, write it to a separate output first, because its length
 * comes before it; then add it as a field of bytes. */
/* 0 is not written */
void proto_put_u64(struct output *o, uint32_t number, uint64_t value);
void proto_put_bytes(struct output *o, uint32_t number, struct str bytes);

/* A string; bytes that are not UTF-8 are replaced. */
void proto_put_str(struct output *o, uint32_t number, struct str s);

/* A number without a field tag, for packed fields. */
void proto_put_varint(struct output *o, uint64_t value);

#endif
