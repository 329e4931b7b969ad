/* SPDX-License-Identifier: Apache-2.0 */
/* Bits counted without an instruction for it, which not every machine that the core is
 * built for has. */
#ifndef STOKE_BASE_BITS_H
#define STOKE_BASE_BITS_H

#include <stdint.h>

/* How many bits are set: by twos, by fours, by eights, and the bytes added up. */
static inline unsigned bits_count(uint64_t v)
{
    v -= v >> 1 & 0x5555555555555555u;
    v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
    v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (unsigned)(v * 0x0101010101010101u >> 56);
}

#endif
