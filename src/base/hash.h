/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of bytes, for tables in memory only. They may change between versions and must
 * never decide an order that a user sees.
 *
 * The method is a folded 64 x 64 -> 128 bit multiplication, two lanes of 16 bytes per
 * step. Each process has random keys, so an attacker cannot prepare names or ids whose
 * hashes collide. Such collisions make tables slow, and confuse entries where equal hashes
 * are treated as equal bytes (memo.h). Hashes that are stored or shown have fixed keys. */
#ifndef STOKE_BASE_HASH_H
#define STOKE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 128 bits: wide enough to treat equal hashes as equal bytes (memo.h). */
struct hash128 {
    uint64_t lo, hi;
};

__extension__ typedef unsigned __int128 hash_product;

/* XOR of the high and low half of a * b. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
/* WebAssembly has no 128-bit product; the compiler would call a function */
#ifdef __wasm__
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

struct hash_keys {
    uint64_t a, b, c, d;
};

#define HASH_FIXED_KEYS                                                                \
    ((struct hash_keys){0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u, 0xa0761d6478bd642fu, \
                        0xe7037ed1a0b428dbu})

/* The keys of this process: HASH_FIXED_KEYS until hash_set_keys is called. */
extern struct hash_keys hash_keys;

#define HASH_A hash_keys.a
#define HASH_B hash_keys.b
#define HASH_C hash_keys.c
#define HASH_D hash_keys.d

/* Sets the keys, from random numbers. Call it before the first hash, and before other
 * threads run. */
void hash_set_keys(const uint64_t random[4]);

static inline struct hash128 hash_keyed128(struct hash_keys k, const void *bytes,
                                           size_t length)
{
    const unsigned char *p = bytes;
    uint64_t x = k.a ^ length, y = k.b, a, b;
    size_t left = length;
    for (; left > 32; left -= 32, p += 32) {
        x = hash_mix(hash_read64(p) ^ k.c, hash_read64(p + 8) ^ x);
        y = hash_mix(hash_read64(p + 16) ^ k.d, hash_read64(p + 24) ^ y);
    }
    if (left > 16) {
        x = hash_mix(hash_read64(p) ^ k.c, hash_read64(p + 8) ^ x);
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
    uint64_t lo = hash_mix(a ^ k.d ^ x, b ^ k.c ^ y);
    return (struct hash128){hash_mix(lo ^ x, k.a ^ y), hash_mix(lo ^ y, k.b + x)};
}

static inline struct hash128 hash_bytes128(const void *bytes, size_t length)
{
    return hash_keyed128(hash_keys, bytes, length);
}

static inline uint64_t hash_bytes(const void *bytes, size_t length)
{
    return hash_bytes128(bytes, length).lo;
}

/* The same in every process: for checksums and file names. */
static inline uint64_t hash_fixed(const void *bytes, size_t length)
{
    return hash_keyed128(HASH_FIXED_KEYS, bytes, length).lo;
}

static inline uint64_t hash_pair(uint32_t a, uint32_t b)
{
    return hash_mix(((uint64_t)a << 32 | b) ^ HASH_A, HASH_B);
}

/* Two ids of 64 bits, such as those of a process and a thread. */
static inline uint64_t hash_ids(int64_t a, int64_t b)
{
    return hash_mix((uint64_t)a ^ HASH_A, (uint64_t)b ^ HASH_B);
}

#endif
