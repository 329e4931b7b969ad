/* SPDX-License-Identifier: Apache-2.0 */
/* A cursor over the bytes of a binary file: bounded, of either byte order, with a failure
 * that sticks.
 *
 * Whatever is read behind the end is 0 (or empty), and `failed` says so: a reader takes a
 * whole record and looks once. Nothing of the file is ever read through a struct. */
#ifndef STOKE_BASE_BYTES_H
#define STOKE_BASE_BYTES_H

#include "base/str.h"
#include <stdint.h>
#include <string.h>

struct bytes {
    const char *begin, *at, *end;
    bool big_endian;
    bool failed; /* something behind the end was asked for; `at` is where */
};

static inline struct bytes bytes_of(struct str s, bool big_endian)
{
    return (struct bytes){s.ptr, s.ptr, s.ptr + s.len, big_endian, false};
}

/* What is left, 0 once it has failed. */
static inline size_t bytes_left(const struct bytes *b)
{
    return b->failed ? 0 : (size_t)(b->end - b->at);
}

/* Where the cursor is, from the beginning. */
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

/* Goes to an offset from the beginning. */
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

/* The next `size` bytes; empty where there are not so many. */
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

/* A number of 1, 2, 4 or 8 bytes; any other size fails. */
uint64_t bytes_number(struct bytes *b, unsigned size);

/* LEB128 (DWARF 5, 7.6). Bits beyond 64 are dropped; more than 16 bytes fail. */
uint64_t bytes_uleb(struct bytes *b);
int64_t bytes_sleb(struct bytes *b);

/* The text up to the next zero byte, which is skipped; without one it fails. */
struct str bytes_string(struct bytes *b);

/* The bytes from `offset` on, as far as they go, at most `size`: a section, a table. */
static inline struct str str_part(struct str s, uint64_t offset, uint64_t size)
{
    if (offset > s.len)
        return (struct str){s.ptr, 0};
    size_t left = s.len - (size_t)offset;
    return (struct str){s.ptr + offset, size < left ? (size_t)size : left};
}

#endif
