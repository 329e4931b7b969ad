/* SPDX-License-Identifier: Apache-2.0 */
/* How much of an input is read: the limits of all readers.
 *
 * A small file can request endless memory: a compressed line of 2 GB, a stack of 300
 * million frames. What exceeds a limit is truncated or skipped, counted, and reported
 * among the warnings of the profile.
 *
 * The caller of a load chooses the limits. Readers find them in their source
 * (source_limits) or builder; a pointer to limits that is NULL stands for limits_default.
 * Limits must outlive what points to them. */
#ifndef STOKE_BASE_LIMITS_H
#define STOKE_BASE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limits {
    uint64_t depth;       /* frames of one stack */
    uint64_t frames;      /* of all different stacks of a profile, shared callers once */
    uint64_t line;        /* bytes of one line of text */
    uint64_t ratio;       /* decompressed bytes for each compressed one... */
    uint64_t unpacked;    /* ...if there are more than these */
    uint64_t block_ratio; /* the same for one block, such as a section of an object file:
                             the most that zlib can reach */
    uint64_t file_ratio;  /* the sum of all sections of all object files, if
                             they decompress to more than `unpacked` */
    uint64_t piece;       /* bytes that a reader may have in memory at once */
    uint64_t memory;      /* bytes that a reader of compressed input may allocate: these,
                             or `ratio` for each compressed byte */
    uint64_t expansion; /* frames, calls or bytes of names that references may expand to,
                             per byte of input... */
    uint64_t expanded;  /* ...if there are more than these */
};

/* The defaults. The depth is above the 500,000 frames with which runaway recursions are
 * recorded. */
#define LIMIT_DEPTH ((uint64_t)1 << 20)
#define LIMIT_FRAMES ((uint64_t)64 << 20)
#define LIMIT_LINE ((uint64_t)64 << 20)
#define LIMIT_RATIO ((uint64_t)500)
#define LIMIT_UNPACKED ((uint64_t)64 << 20)
#define LIMIT_BLOCK_RATIO ((uint64_t)1032)
#define LIMIT_FILE_RATIO ((uint64_t)64) /* an estimate: well above debug information */
#define LIMIT_PIECE ((uint64_t)4 << 30)
#define LIMIT_MEMORY ((uint64_t)448 << 20)
#define LIMIT_EXPANSION ((uint64_t)8)
#define LIMIT_EXPANDED ((uint64_t)64 << 20)

#define LIMITS_FACTOR_MAX 1000

extern const struct limits limits_default;

/* The defaults times `factor`, 1 to LIMITS_FACTOR_MAX. 0: as large as the program can
 * count; ids of stacks have 32 bits. */
struct limits limits_times(unsigned factor);

/* Whether decompressing `in` bytes to `out` exceeds the limits. */
static inline bool limits_exceeded(const struct limits *l, uint64_t in, uint64_t out)
{
    return out > l->unpacked && out / l->ratio > in;
}

/* The same for the memory that a reader of the decompressed bytes holds. */
static inline bool limits_memory_exceeded(const struct limits *l, uint64_t in,
                                          uint64_t held)
{
    return held > l->memory && held / l->ratio > in;
}

/* Whether `out` frames, calls or bytes of names are more than the references in an input
 * of `in` bytes may expand to. This bounds the time of files that refer to the same long
 * thing over and over. */
static inline bool limits_expansion_exceeded(const struct limits *l, uint64_t in,
                                             uint64_t out)
{
    return out > l->expanded && out / l->expansion > in;
}

#endif
