/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/protobuf.h"
#include "base/utf8.h"

#define VARINT_MAX 10
#define FIELD_NUMBER_MAX ((1u << 29) - 1)

struct proto_reader proto_of(struct str message)
{
    return (struct proto_reader){.rest = message, .base = message.ptr};
}

struct proto_reader proto_inside(const struct proto_reader *outer,
                                 const struct proto_field *field)
{
    return (struct proto_reader){.rest = field->bytes, .base = outer->base};
}

uint64_t proto_offset(const struct proto_reader *r)
{
    return (uint64_t)(r->rest.ptr - r->base);
}

/* Reads a varint from *rest. Its tenth byte may hold one bit only. */
static bool read_varint(struct str *rest, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < VARINT_MAX && i < rest->len; i++) {
        unsigned char c = (unsigned char)rest->ptr[i];
        if (i == VARINT_MAX - 1 && c > 1)
            return false;
        v |= (uint64_t)(c & 0x7f) << (7 * i);
        if (c < 0x80) {
            *out = v;
            *rest = str_skip(*rest, i + 1);
            return true;
        }
    }
    return false;
}

/* Reads a little-endian number of `size` bytes. */
static bool read_fixed(struct str *rest, size_t size, uint64_t *out)
{
    uint64_t v = 0;
    if (rest->len < size)
        return false;
    for (size_t i = 0; i < size; i++)
        v |= (uint64_t)(unsigned char)rest->ptr[i] << (8 * i);
    *out = v;
    *rest = str_skip(*rest, size);
    return true;
}

static bool read_bytes(struct str *rest, struct str *out)
{
    uint64_t length;
    struct str s = *rest;
    if (!read_varint(&s, &length) || length > s.len)
        return false;
    *out = str_head(s, (size_t)length);
    *rest = str_skip(s, (size_t)length);
    return true;
}

static bool read_value(struct str *rest, struct proto_field *field)
{
    switch (field->wire) {
    case PROTO_VARINT:
        return read_varint(rest, &field->value);
    case PROTO_FIXED64:
        return read_fixed(rest, 8, &field->value);
    case PROTO_FIXED32:
        return read_fixed(rest, 4, &field->value);
    case PROTO_BYTES:
        return read_bytes(rest, &field->bytes);
    }
    return false;
}

bool proto_next(struct proto_reader *r, struct proto_field *field)
{
    struct str rest = r->rest;
    uint64_t tag = 0;
    if (r->failed || rest.len == 0)
        return false;
    bool ok = read_varint(&rest, &tag) && tag >> 3 != 0 && tag >> 3 <= FIELD_NUMBER_MAX;
    *field = (struct proto_field){.number = (uint32_t)(tag >> 3),
                                  .wire = (enum proto_wire)(tag & 7),
                                  .bytes = STR("")};
    if (!ok || !read_value(&rest, field)) {
        r->failed = true;
        return false;
    }
    r->rest = rest;
    return true;
}

/* A field with a single number returns it once and then becomes an empty field. */
bool proto_number(struct proto_field *field, uint64_t *value)
{
    if (field->wire == PROTO_BYTES)
        return read_varint(&field->bytes, value);
    *value = field->value;
    field->wire = PROTO_BYTES;
    return true;
}

void proto_put_varint(struct output *o, uint64_t value)
{
    char bytes[VARINT_MAX];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (char)(value | 0x80);
    bytes[n++] = (char)value;
    output_bytes(o, bytes, n);
}

static void put_tag(struct output *o, uint32_t number, enum proto_wire wire)
{
    proto_put_varint(o, (uint64_t)number << 3 | wire);
}

void proto_put_u64(struct output *o, uint32_t number, uint64_t value)
{
    if (value == 0)
        return;
    put_tag(o, number, PROTO_VARINT);
    proto_put_varint(o, value);
}

void proto_put_bytes(struct output *o, uint32_t number, struct str bytes)
{
    put_tag(o, number, PROTO_BYTES);
    proto_put_varint(o, bytes.len);
    output_str(o, bytes);
}

void proto_put_str(struct output *o, uint32_t number, struct str s)
{
    struct output clean = OUTPUT_BUFFER;
    if (utf8_valid(s) == s.len) {
        proto_put_bytes(o, number, s);
        return;
    }
    utf8_print(&clean, s);
    proto_put_bytes(o, number, output_contents(&clean));
    o->failed |= clean.failed;
    output_deinit(&clean);
}
