/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/heap/sample.h"
#include "agents/heap/lane.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A bucket is a line of the cache, so that a release costs one access. A full bucket takes
 * no more blocks: their release is not recorded, and the collector knows it. */
#define BUCKET 8

#define BUCKETS ((uint64_t)1 << 17)
#define BUCKETS_OF_LARGE ((uint64_t)1 << 13) /* samples are so rare that this is enough */
#define LARGE_MEAN 65536

/* Distance between the floors of two recordings; no sample is farther than the half. */
#define FLOOR_STEP ((int64_t)1 << 56)
#define RECORDINGS_MAX 100

static uint64_t *table;
static uint64_t bucket_mask;
static double mean_distance;
static uint64_t first_seed;

struct sampler {
    uint64_t random;
    uint32_t generation; /* 0: not started */
};

static __thread struct sampler own;
__thread int64_t sample_left;
int64_t sample_floor;
static unsigned recordings;
uint8_t sample_filter[1 << SAMPLE_FILTER_BITS];

static bool make_table(void)
{
    uint64_t size = BUCKETS * BUCKET * sizeof *table;
    if (table)
        return madvise(table, size, MADV_DONTNEED) == 0;
    long address = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == -1)
        return false;
    table = (uint64_t *)address; /* NOLINT(performance-no-int-to-ptr) */
    return true;
}

bool sample_start(uint64_t mean, uint64_t seed)
{
    if (recordings == RECORDINGS_MAX || (mean && !make_table()))
        return false;
    mean_distance = (double)mean;
    first_seed = seed;
    bucket_mask = (mean >= LARGE_MEAN ? BUCKETS_OF_LARGE : BUCKETS) - 1;
    memset(sample_filter, mean ? 0 : UINT8_MAX, sizeof sample_filter);
    sample_floor = recordings++ * FLOOR_STEP;
    return true;
}

/* --- Distances --------------------------------------------------------------------- */

/* splitmix64 (Steele, Lea, Flood, 2014) */
static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* -ln(u) of a number in (0, 1]: no library of mathematics is loaded for it. With u =
 * m * 2^-k, 0.5 <= m < 1: ln m = 2 artanh((m - 1) / (m + 1)), whose series converges by a
 * factor of 9 per term. */
static double negative_log(double u)
{
    int halvings = 0;
    while (u < 0.5) {
        u *= 2;
        halvings++;
    }
    double x = (u - 1) / (u + 1), square = x * x, power = x, sum = 0;
    for (int term = 1; term < 33; term += 2) {
        sum += power / term;
        power *= square;
    }
    return halvings * 0.69314718055994530942 - 2 * sum;
}

static int64_t next_distance(void)
{
    own.random += UINT64_C(0x9e3779b97f4a7c15);
    double u = (double)((mixed(own.random) >> 11) + 1) * 0x1p-53;
    double distance = negative_log(u) * mean_distance;
    /* rounded up: a number of bytes is less than it as often as than the distance */
    return distance < 0x1p54 ? (int64_t)distance + 1 : FLOOR_STEP / 2;
}

static void start_thread(void)
{
    uint64_t thread = __atomic_fetch_add(&heap_shared->claims, 1, __ATOMIC_RELAXED);
    own.random = mixed(first_seed + thread) ^ mixed(first_seed ? 0 : heap_ticks());
    own.generation = lane_generation();
}

/* The first distance of a thread begins with its first allocation. */
bool sample_takes(uint64_t size)
{
    if (mean_distance == 0) {
        sample_left = sample_floor;
        return true;
    }
    if (own.generation != lane_generation()) {
        start_thread();
        sample_left =
            (int64_t)((uint64_t)sample_floor + (uint64_t)next_distance() - size);
    }
    if (sample_left > sample_floor)
        return false;
    sample_left = sample_floor + next_distance();
    return true;
}

void sample_stop(void)
{
    sample_left = sample_floor + FLOOR_STEP / 2;
}

/* --- The table of sampled blocks ---------------------------------------------------- */

static uint64_t *bucket_of(const void *block)
{
    return table + (sample_hash(block) >> 32 & bucket_mask) * BUCKET;
}

/* A count of 255 stays: some blocks are not counted in it. */
static void count_block(const void *block, int change)
{
    uint8_t *count = &sample_filter[sample_hash(block) >> (64 - SAMPLE_FILTER_BITS)];
    uint8_t before = __atomic_load_n(count, __ATOMIC_RELAXED);
    while (before != UINT8_MAX &&
           !__atomic_compare_exchange_n(count, &before, (uint8_t)(before + change), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

bool sample_add(const void *block)
{
    uint64_t *slots = bucket_of(block), address = (uintptr_t)block;
    for (int i = 0; i < BUCKET; i++) {
        uint64_t empty = 0;
        if (__atomic_load_n(&slots[i], __ATOMIC_RELAXED) != 0 ||
            !__atomic_compare_exchange_n(&slots[i], &empty, address, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        count_block(block, 1);
        return true;
    }
    return false;
}

bool sample_remove(const void *block)
{
    uint64_t *slots = bucket_of(block);
    for (int i = 0; i < BUCKET; i++) {
        uint64_t expected = (uintptr_t)block;
        if (__atomic_load_n(&slots[i], __ATOMIC_RELAXED) != expected ||
            !__atomic_compare_exchange_n(&slots[i], &expected, 0, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        count_block(block, -1);
        return true;
    }
    return false;
}
