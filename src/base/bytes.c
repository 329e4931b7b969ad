/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

/* longer than the padding of any known writer */
#define LEB_BYTES_MAX 16

uint64_t bytes_number(struct bytes *b, unsigned size)
{
    switch (size) {
    case 1:
        return bytes_u8(b);
    case 2:
        return bytes_u16(b);
    case 4:
        return bytes_u32(b);
    case 8:
        return bytes_u64(b);
    default:
        b->failed = true;
        return 0;
    }
}

/* Reads a LEB128 number. Sets *bits to the number of bits read (bits beyond 64 are
 * dropped) and *last to the last byte. */
static uint64_t read_leb(struct bytes *b, unsigned *bits, uint8_t *last)
{
    uint64_t value = 0;
    *bits = 0;
    *last = 0;
    for (int i = 0; i < LEB_BYTES_MAX; i++) {
        *last = bytes_u8(b);
        if (*bits < 64)
            value |= (uint64_t)(*last & 0x7f) << *bits;
        *bits += 7;
        if (!(*last & 0x80))
            return value;
    }
    b->failed = true;
    return 0;
}

uint64_t bytes_long_uleb(struct bytes *b)
{
    unsigned bits;
    if (bytes_left(b) >= 2 && !(b->at[1] & '\x80')) { /* two bytes are frequent, too */
        uint64_t value = (uint8_t)b->at[0] & 0x7f;
        value |= (uint64_t)(uint8_t)b->at[1] << 7;
        b->at += 2;
        return value;
    }
    uint8_t last;
    return read_leb(b, &bits, &last);
}

int64_t bytes_sleb(struct bytes *b)
{
    unsigned bits;
    uint8_t last;
    uint64_t value = read_leb(b, &bits, &last);
    if (bits < 64 && last & 0x40)
        value |= ~(uint64_t)0 << bits;
    return (int64_t)value;
}

struct str bytes_string(struct bytes *b)
{
    size_t left = bytes_left(b);
    const char *zero = left ? memchr(b->at, 0, left) : NULL;
    struct str text = {b->at, 0};
    if (!zero) {
        b->failed = true;
        return text;
    }
    text.len = (size_t)(zero - b->at);
    b->at = zero + 1;
    return text;
}
