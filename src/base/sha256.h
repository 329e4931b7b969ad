/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), for hashes that other programs compute too. For tables in memory
 * hash.h is much faster. */
#ifndef STOKE_BASE_SHA256_H
#define STOKE_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

struct sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
};

void sha256_begin(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *bytes, size_t length);
void sha256_end(struct sha256 *h, unsigned char out[SHA256_SIZE]);

#endif
