/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

struct hash_keys hash_keys = {0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u,
                              0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu};

/* hash_pair multiplies small numbers by b: its highest and lowest bits are set. */
void hash_set_keys(const uint64_t random[4])
{
    hash_keys = (struct hash_keys){random[0], random[1] | 1 | (uint64_t)1 << 63,
                                   random[2], random[3]};
}
