/* Limits per input: four seconds of CPU time (twice as many with sanitizers, which are 10 to 25
 * times slower), of which the inputs of the tests take a third at most on an idle machine (CPU
 * time grows, too, on a busy one), and 64 MiB of additional memory, or as configured in the
 * build: a trace may have a stack of half a million calls, which is read several times. Only allocations of stoke's own code
 * count (the program is linked with --wrap for them); mapped files are page cache. Large
 * files, which are only replayed, may use more. */
#include "fuzz.h"
#include "sanitized.h"
#include <malloc.h>
#include <time.h>

#define SMALL_INPUT ((size_t)64 << 10)
#ifndef MEMORY_MAX_MB
#define MEMORY_MAX_MB 64
#endif
#define MEMORY_MAX ((int64_t)MEMORY_MAX_MB << 20)
#ifndef CPU_SECONDS_MAX
#define CPU_SECONDS_MAX 4
#endif
#define SECONDS_MAX ((SANITIZED ? 2.0 : 1.0) * CPU_SECONDS_MAX)

/* Names that the linker requires. NOLINTBEGIN */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *block);
/* NOLINTEND */

/* The C library's own allocations are not counted, but may be freed through free, so
 * `live` may become negative. */
static int64_t live, allowed = INT64_MAX;

/* Fails immediately, so that the fuzzer shows where. Several threads may call this. */
static void *count_block(void *block)
{
    int64_t size = block ? (int64_t)malloc_usable_size(block) : 0;
    int64_t now = __atomic_add_fetch(&live, size, __ATOMIC_RELAXED);
    CHECK(now <= __atomic_load_n(&allowed, __ATOMIC_RELAXED));
    return block;
}

static void uncount_block(void *block)
{
    int64_t size = block ? (int64_t)malloc_usable_size(block) : 0;
    __atomic_sub_fetch(&live, size, __ATOMIC_RELAXED);
}

/* NOLINTBEGIN */
void *__wrap_malloc(size_t size)
{
    return count_block(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return count_block(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    uncount_block(old);
    void *block = __real_realloc(old, size);
    if (!block && size)
        count_block(old);
    return count_block(block);
}

void __wrap_free(void *block)
{
    uncount_block(block);
    __real_free(block);
}
/* NOLINTEND */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > SMALL_INPUT)
        return fuzz_one(data, size);
    double begun = seconds();
    allowed = live + MEMORY_MAX;
    fuzz_one(data, size);
    allowed = INT64_MAX;
    CHECK(seconds() - begun <= SECONDS_MAX);
    return 0;
}
