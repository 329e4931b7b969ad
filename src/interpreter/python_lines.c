/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/python_lines.h"
#include "base/bytes.h"

#define NO_LINE (-128)  /* 3.10 */
#define VARINT_BYTES 11 /* of 6 bits: more than 64 bits */

/* Kinds of entries, from 3.11. */
enum { LINE_LONG = 14, LINE_ONLY = 13, LINE_PLUS = 10, LINE_NONE = 15 };

static uint32_t line_of(int64_t line)
{
    return line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
}

/* Up to 3.9: pairs of byte count and line count; the line changes after the bytes. */
static int64_t line_3_8(struct bytes b, int64_t line, int64_t offset)
{
    int64_t at = 0;
    while (bytes_left(&b) >= 2) {
        at += bytes_u8(&b);
        if (at > offset)
            break;
        line += (int8_t)bytes_u8(&b);
    }
    return line;
}

/* 3.10: the same pairs; the line changes before the bytes. */
static int64_t line_3_10(struct bytes b, int64_t line, int64_t offset)
{
    int64_t at = 0;
    while (bytes_left(&b) >= 2) {
        at += bytes_u8(&b);
        int8_t change = (int8_t)bytes_u8(&b);
        if (change != NO_LINE)
            line += change;
        if (at > offset)
            return change == NO_LINE ? 0 : line;
    }
    return 0;
}

/* Six bits a byte, the lowest first; bit 6: more follow; bit 0 of the number is the sign. */
static int64_t signed_varint(struct bytes *b)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_BYTES; i++) {
        uint8_t byte = bytes_u8(b);
        value |= i < 10 ? (uint64_t)(byte & 63) << (6 * i) : 0;
        if (!(byte & 64))
            break;
    }
    value &= UINT32_MAX;
    int64_t size = (int64_t)(value >> 1);
    return value & 1 ? -size : size;
}

/* From 3.11: an entry begins with a byte that has bit 7 set. */
static int64_t line_3_11(struct bytes b, int64_t line, int64_t offset)
{
    int64_t at = 0;
    while (bytes_left(&b)) {
        uint8_t first = bytes_u8(&b);
        unsigned kind = first >> 3 & 15;
        at += ((int64_t)(first & 7) + 1) * 2;
        if (kind == LINE_LONG || kind == LINE_ONLY)
            line += signed_varint(&b);
        else if (kind >= LINE_PLUS && kind < LINE_ONLY)
            line += kind - LINE_PLUS;
        if (at > offset)
            return kind == LINE_NONE ? 0 : line;
        while (bytes_left(&b) && !(*b.at & 0x80))
            bytes_skip(&b, 1);
    }
    return 0;
}

uint32_t python_line(uint32_t minor, struct str table, uint32_t first_line,
                     int64_t offset)
{
    struct bytes b = bytes_of(table, false);
    if (offset < 0)
        return first_line;
    return line_of(minor < 10    ? line_3_8(b, first_line, offset)
                   : minor == 10 ? line_3_10(b, first_line, offset)
                                 : line_3_11(b, first_line, offset));
}
