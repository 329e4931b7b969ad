/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32.h"

#define POLYNOMIAL 0xedb88320u

void crc32_init(struct crc32 *c)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i;
        for (int bit = 0; bit < 8; bit++)
            v = v >> 1 ^ (v & 1 ? POLYNOMIAL : 0);
        c->table[0][i] = v;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int row = 1; row < 4; row++)
            c->table[row][i] =
                c->table[row - 1][i] >> 8 ^ c->table[0][c->table[row - 1][i] & 0xff];
}

uint32_t crc32_sum(const struct crc32 *c, struct str bytes)
{
    const unsigned char *at = (const unsigned char *)bytes.ptr;
    const unsigned char *end = at + bytes.len;
    uint32_t v = UINT32_MAX;
    for (; end - at >= 4; at += 4) {
        v ^= (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
             (uint32_t)at[3] << 24;
        v = c->table[3][v & 0xff] ^ c->table[2][v >> 8 & 0xff] ^
            c->table[1][v >> 16 & 0xff] ^ c->table[0][v >> 24];
    }
    for (; at < end; at++)
        v = v >> 8 ^ c->table[0][(v ^ *at) & 0xff];
    return ~v;
}
