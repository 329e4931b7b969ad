/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum of gzip, PNG and zip: CRC-32 (ISO 3309), reflected, polynomial
 * 0xedb88320. */
#ifndef STOKE_BASE_CRC32_H
#define STOKE_BASE_CRC32_H

#include "base/str.h"
#include <stdint.h>

/* table[i][b]: the checksum of byte b followed by i zero bytes. */
struct crc32 {
    uint32_t table[4][256];
};

void crc32_init(struct crc32 *c);

uint32_t crc32_sum(const struct crc32 *c, struct str bytes);

#endif
