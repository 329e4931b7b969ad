/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"
#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

void sha256_begin(struct sha256 *h)
{
    *h = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static uint32_t rotate(uint32_t x, unsigned bits)
{
    return x >> bits | x << (32 - bits);
}

static void read_words(const unsigned char *block, uint32_t *w)
{
    for (unsigned i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
               (uint32_t)block[2] << 8 | block[3];
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void add_block(struct sha256 *h, const unsigned char *block)
{
    uint32_t w[64], s[8];
    read_words(block, w);
    memcpy(s, h->state, sizeof s);
    for (unsigned i = 0; i < 64; i++) { /* value k of the definition is at (k - i) % 8 */
        uint32_t a = s[-i % 8], b = s[(1 - i) % 8], c = s[(2 - i) % 8],
                 e = s[(4 - i) % 8];
        uint32_t x = s[(7 - i) % 8] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                     ((e & s[(5 - i) % 8]) ^ (~e & s[(6 - i) % 8])) + constants[i] + w[i];
        uint32_t y = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                     ((a & b) ^ (a & c) ^ (b & c));
        s[(3 - i) % 8] += x;
        s[(7 - i) % 8] = x + y;
    }
    for (unsigned i = 0; i < 8; i++)
        h->state[i] += s[i];
}

/* Whole blocks are hashed where they are: only what begins or ends within one is copied. */
void sha256_add(struct sha256 *h, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    size_t used = h->length % sizeof h->block;
    h->length += length;
    if (used > 0 && length >= sizeof h->block - used) {
        size_t room = sizeof h->block - used;
        memcpy(h->block + used, from, room);
        add_block(h, h->block);
        from += room;
        length -= room;
        used = 0;
    }
    for (; used == 0 && length >= sizeof h->block; length -= sizeof h->block) {
        add_block(h, from);
        from += sizeof h->block;
    }
    if (length > 0)
        memcpy(h->block + used, from, length);
}

void sha256_end(struct sha256 *h, unsigned char out[SHA256_SIZE])
{
    static const unsigned char padding[64] = {0x80};
    unsigned char bits[8];
    for (unsigned i = 0; i < 8; i++)
        bits[i] = (unsigned char)(h->length * 8 >> (56 - 8 * i));
    size_t used = h->length % 64;
    sha256_add(h, padding, used < 56 ? 56 - used : 120 - used);
    sha256_add(h, bits, sizeof bits);
    for (unsigned i = 0; i < SHA256_SIZE; i++)
        out[i] = (unsigned char)(h->state[i / 4] >> (24 - i % 4 * 8));
}
