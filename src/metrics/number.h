/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in the text files of /proc. */
#ifndef STOKE_METRICS_NUMBER_H
#define STOKE_METRICS_NUMBER_H

#include "base/number.h"

/* Removes the next word from *rest. Returns false, with *out unchanged, if it is not a
 * number; the word is then removed too. */
static inline bool metrics_next(struct str *rest, uint64_t *out)
{
    return number_parse_u64(str_word(rest), out);
}

/* Removes up to `count` numbers from *rest, up to the first other word. Those that are
 * missing, as in files of older kernels, become 0. Returns how many there were. */
static inline size_t metrics_next_all(struct str *rest, uint64_t *out, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        out[i] = 0;
    while (found < count && metrics_next(rest, &out[found]))
        found++;
    return found;
}

/* The increase of a counter; 0 if it went back, as when a device was replaced. */
static inline uint64_t metrics_increase(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

#endif
