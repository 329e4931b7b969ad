/* SPDX-License-Identifier: Apache-2.0 */
/* Population count without a CPU instruction for it: not every target of the core has
 * one. */
#ifndef STOKE_BASE_BITS_H
#define STOKE_BASE_BITS_H

#include <stdint.h>

/* Number of set bits: sums pairs, then groups of four, then eight, then all bytes. */
static inline unsigned bits_count(uint64_t v)
{
    v -= v >> 1 & 0x5555555555555555u;
    v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
    v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (unsigned)(v * 0x0101010101010101u >> 56);
}

#endif
