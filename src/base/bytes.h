/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded cursor over the bytes of a binary file, in either byte order, with sticky
 * failure.
 *
 * Reading beyond the end returns 0 (or an empty string) and sets `failed`. A reader
 * reads a whole record and checks `failed` once. The file is never read through a
 * struct. */
#ifndef STOKE_BASE_BYTES_H
#define STOKE_BASE_BYTES_H

#include "base/str.h"
#include <stdint.h>
#include <string.h>

struct bytes {
    const char *begin, *at, *end;
    bool big_endian;
    bool failed; /* a read went beyond the end; `at` is where */
};

static inline struct bytes bytes_of(struct str s, bool big_endian)
{
    return (struct bytes){s.ptr, s.ptr, s.ptr + s.len, big_endian, false};
}

/* Bytes that remain; 0 after a failure. */
static inline size_t bytes_left(const struct bytes *b)
{
    return b->failed ? 0 : (size_t)(b->end - b->at);
}

/* Offset of the cursor from the beginning. */
static inline size_t bytes_offset(const struct bytes *b)
{
    return (size_t)(b->at - b->begin);
}

static inline bool bytes_has(struct bytes *b, uint64_t size)
{
    if (size <= bytes_left(b))
        return true;
    b->failed = true;
    return false;
}

/* Moves the cursor to an offset from the beginning. */
static inline void bytes_seek(struct bytes *b, uint64_t offset)
{
    if (offset > (size_t)(b->end - b->begin))
        b->failed = true;
    else if (!b->failed)
        b->at = b->begin + offset;
}

static inline void bytes_skip(struct bytes *b, uint64_t size)
{
    if (bytes_has(b, size))
        b->at += size;
}

/* Returns the next `size` bytes; empty if fewer remain. */
static inline struct str bytes_take(struct bytes *b, uint64_t size)
{
    struct str taken = {b->at, 0};
    if (bytes_has(b, size)) {
        taken.len = (size_t)size;
        b->at += size;
    }
    return taken;
}

static inline uint8_t bytes_u8(struct bytes *b)
{
    return bytes_has(b, 1) ? (uint8_t)*b->at++ : 0;
}

static inline uint16_t bytes_u16(struct bytes *b)
{
    uint16_t value = 0;
    if (!bytes_has(b, sizeof value))
        return 0;
    memcpy(&value, b->at, sizeof value);
    b->at += sizeof value;
    return b->big_endian ? __builtin_bswap16(value) : value;
}

static inline uint32_t bytes_u32(struct bytes *b)
{
    uint32_t value = 0;
    if (!bytes_has(b, sizeof value))
        return 0;
    memcpy(&value, b->at, sizeof value);
    b->at += sizeof value;
    return b->big_endian ? __builtin_bswap32(value) : value;
}

static inline uint64_t bytes_u64(struct bytes *b)
{
    uint64_t value = 0;
    if (!bytes_has(b, sizeof value))
        return 0;
    memcpy(&value, b->at, sizeof value);
    b->at += sizeof value;
    return b->big_endian ? __builtin_bswap64(value) : value;
}

/* Reads a number of 1, 2, 4 or 8 bytes; any other size fails. */
uint64_t bytes_number(struct bytes *b, unsigned size);

/* Read a LEB128 number (DWARF 5, 7.6). Bits beyond 64 are dropped; more than 16 bytes
 * fail. */
uint64_t bytes_long_uleb(struct bytes *b); /* the slow path: not in one byte */
static inline uint64_t bytes_uleb(struct bytes *b)
{
    if (!b->failed && b->at < b->end && !(*b->at & 0x80))
        return (uint8_t)*b->at++;
    return bytes_long_uleb(b);
}
int64_t bytes_sleb(struct bytes *b);

/* Returns the text up to the next zero byte and skips that byte. Fails if there is
 * none. */
struct str bytes_string(struct bytes *b);

/* Returns at most `size` bytes from `offset` on, fewer if s ends before: a section, a
 * table. */
static inline struct str str_part(struct str s, uint64_t offset, uint64_t size)
{
    if (offset > s.len)
        return (struct str){s.ptr, 0};
    size_t left = s.len - (size_t)offset;
    return (struct str){s.ptr + offset, size < left ? (size_t)size : left};
}

#endif
