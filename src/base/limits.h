/* SPDX-License-Identifier: Apache-2.0 */
/* How much of an input is kept: the limits of all readers, in one place.
 *
 * A small file can ask for endless memory: a compressed line of 2 GB, a stack of 300
 * million frames. What exceeds a limit is cut or left out, counted, and reported among the
 * warnings of the profile. The limits hold for the whole process: they are set once,
 * before the first input is read. */
#ifndef STOKE_BASE_LIMITS_H
#define STOKE_BASE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limits {
    uint64_t depth;       /* frames of one stack */
    uint64_t frames;      /* of all different stacks of a profile, shared callers once */
    uint64_t line;        /* bytes of one line of text */
    uint64_t ratio;       /* unpacked bytes for each packed one... */
    uint64_t unpacked;    /* ...once there are more than these */
    uint64_t block_ratio; /* the same for one block, such as a section of an object file:
                             zlib can do no better */
    uint64_t piece;       /* bytes that a reader may ask to have in memory at once */
    uint64_t memory;      /* bytes that a reader of packed input may take in all: these,
                             or `ratio` for each packed byte */
};

/* What `--limits x1` means. The depth is above the 500,000 frames that runaway recursions
 * are recorded with. */
#define LIMIT_DEPTH ((uint64_t)1 << 20)
#define LIMIT_FRAMES ((uint64_t)64 << 20)
#define LIMIT_LINE ((uint64_t)64 << 20)
#define LIMIT_RATIO ((uint64_t)500)
#define LIMIT_UNPACKED ((uint64_t)64 << 20)
#define LIMIT_BLOCK_RATIO ((uint64_t)1032)
#define LIMIT_PIECE ((uint64_t)4 << 30)
#define LIMIT_MEMORY ((uint64_t)448 << 20)

#define LIMITS_FACTOR_MAX 1000

/* The limits in force. Written by limits_raise only. */
extern struct limits limits;

/* Multiplies every default by `factor`, 1 to LIMITS_FACTOR_MAX; 0 removes the limits as
 * far as the program can count: numbers of stacks have 32 bits. */
void limits_raise(unsigned factor);

/* Whether unpacking `in` bytes to `out` is more than the limits allow. */
static inline bool limits_exceeded(uint64_t in, uint64_t out)
{
    return out > limits.unpacked && out / limits.ratio > in;
}

/* The same for the memory that a reader of the unpacked bytes holds. */
static inline bool limits_memory_exceeded(uint64_t in, uint64_t held)
{
    return held > limits.memory && held / limits.ratio > in;
}

#endif
