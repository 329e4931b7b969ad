/* SPDX-License-Identifier: Apache-2.0 */
/* Which allocations are recorded. Samples are a Poisson process over the allocated bytes:
 * their distances have an exponential distribution, so an allocation of `size` bytes is
 * sampled with the probability 1 - exp(-size / mean), whatever came before it.
 *
 * The two inline functions are all that most calls of the program cost. */
#ifndef STOKE_AGENTS_HEAP_SAMPLE_H
#define STOKE_AGENTS_HEAP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the table of sampled blocks, or clears that of an earlier recording. mean 0: every
 * allocation is recorded. False if there is no memory for it, or after too many
 * recordings. */
bool sample_start(uint64_t mean, uint64_t seed);

/* The thread's next sample is when this number, less the bytes that it allocates, is at
 * most the floor. Each recording of a process has a floor of its own, above all numbers of
 * the one before, and above the 0 that threads begin with. */
extern __thread int64_t sample_left;
extern int64_t sample_floor;

/* False if the allocation is not recorded. True if sample_takes decides. */
static inline bool sample_may_take(uint64_t size)
{
    sample_left = (int64_t)((uint64_t)sample_left - size);
    return __builtin_expect(sample_left <= sample_floor, 0);
}

/* Whether this allocation is a sample, after sample_may_take. */
bool sample_takes(uint64_t size);

/* The same for an allocation that failed: it does not count. */
static inline void sample_skip(uint64_t size)
{
    sample_left = (int64_t)((uint64_t)sample_left + size);
}

/* Takes no more samples in this thread. */
void sample_stop(void);

/* Number of sampled blocks by hash, up to 255, which stays: such blocks are searched
 * for. It is small, because each release reads it: it must stay in the first cache. */
#define SAMPLE_FILTER_BITS 12
extern uint8_t sample_filter[1 << SAMPLE_FILTER_BITS];

static inline uint64_t sample_hash(const void *block)
{
    return (uint64_t)(uintptr_t)block * UINT64_C(0x9e3779b97f4a7c15);
}

/* False if the block was not sampled. */
static inline bool sample_may_have(const void *block)
{
    uint64_t at = sample_hash(block) >> (64 - SAMPLE_FILTER_BITS);
    return __builtin_expect(__atomic_load_n(&sample_filter[at], __ATOMIC_RELAXED) != 0,
                            0);
}

/* Adds a block to the table; false if its part of the table is full. */
bool sample_add(const void *block);

/* Removes a block; false if it is not in the table. */
bool sample_remove(const void *block);

#endif
