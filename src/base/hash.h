/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of bytes, for tables in memory only: they may change from version to version and
 * must never decide an order that a user sees.
 *
 * The method is the folded 64 x 64 -> 128 bit multiplication, two lanes of 16 bytes a
 * step. Not keyed: not for data where an enemy may gain by a collision. */
#ifndef STOKE_BASE_HASH_H
#define STOKE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 128 bits: wide enough that equal hashes stand for equal bytes (memo.h). */
struct hash128 {
    uint64_t lo, hi;
};

__extension__ typedef unsigned __int128 hash_product;

/* High and low half of a * b, folded together. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
#ifdef __wasm__ /* has no such product, and would call a function for it */
    uint64_t a_low = (uint32_t)a, a_high = a >> 32;
    uint64_t b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t low = a_low * b_low;
    uint64_t middle = a_high * b_low + (low >> 32);
    uint64_t other = a_low * b_high + (uint32_t)middle;
    return (a * b) ^ (a_high * b_high + (middle >> 32) + (other >> 32));
#else
    hash_product p = (hash_product)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
#endif
}

static inline uint64_t hash_read64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t hash_read32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#define HASH_A 0x9e3779b97f4a7c15u
#define HASH_B 0xd6e8feb86659fd93u
#define HASH_C 0xa0761d6478bd642fu
#define HASH_D 0xe7037ed1a0b428dbu

static inline struct hash128 hash_bytes128(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    uint64_t x = HASH_A ^ length, y = HASH_B, a, b;
    size_t left = length;
    for (; left > 32; left -= 32, p += 32) {
        x = hash_mix(hash_read64(p) ^ HASH_C, hash_read64(p + 8) ^ x);
        y = hash_mix(hash_read64(p + 16) ^ HASH_D, hash_read64(p + 24) ^ y);
    }
    if (left > 16) {
        x = hash_mix(hash_read64(p) ^ HASH_C, hash_read64(p + 8) ^ x);
        p += 16;
        left -= 16;
    }
    if (left >= 8) {
        a = hash_read64(p);
        b = hash_read64(p + left - 8);
    } else if (left >= 4) {
        a = hash_read32(p);
        b = hash_read32(p + left - 4);
    } else {
        a = left ? (uint64_t)p[0] << 16 | (uint64_t)p[left >> 1] << 8 | p[left - 1] : 0;
        b = left;
    }
    uint64_t lo = hash_mix(a ^ HASH_D ^ x, b ^ HASH_C ^ y);
    return (struct hash128){hash_mix(lo ^ x, HASH_A ^ y), hash_mix(lo ^ y, HASH_B + x)};
}

static inline uint64_t hash_bytes(const void *bytes, size_t length)
{
    return hash_bytes128(bytes, length).lo;
}

static inline uint64_t hash_pair(uint32_t a, uint32_t b)
{
    return hash_mix(((uint64_t)a << 32 | b) ^ HASH_A, HASH_B);
}

#endif
