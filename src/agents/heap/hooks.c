/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the C library that the program calls in place of its own: each calls
 * the real one, and records what it did. operator new and delete call them, too. */
#include "agents/heap/hooks.h"
#include "agents/heap/code_maps.h"
#include "agents/heap/lane.h"
#include "agents/heap/sample.h"
#include "agents/heap/stack.h"
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A library that is loaded late must not replace functions that the program finds by name. */
#ifdef STOKE_HEAP_ATTACHED
#define HOOK
#else
#define HOOK __attribute__((visibility("default")))
#endif

/* Until they are known, these are functions that find them. */
static void *first_malloc(size_t size);
static void first_free(void *block);
static struct {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *block, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    int (*posix_memalign)(void **block, size_t alignment, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
    void (*free)(void *block);
    int (*dlclose)(void *library);
} real = {.malloc = first_malloc, .free = first_free};

/* real.free is first_free for ever if the program has memory of before the start. */
static void (*library_free)(void *block);

static enum { NEW, STARTING, STARTED } state;

/* --- Before the real functions are known -------------------------------------------- */

/* dlsym may allocate. This memory is never released. */
static _Alignas(16) char first_memory[1 << 16];
static size_t first_used;

static void *first_allocate(size_t size)
{
    size_t at = first_used;
    if (size > sizeof first_memory - at - 15)
        return NULL;
    first_used = (at + size + 15) & ~(size_t)15;
    return first_memory + at;
}

static bool is_first(const void *block)
{
    return (const char *)block >= first_memory &&
           (const char *)block < first_memory + sizeof first_memory;
}

/* ISO C has no conversion of an object pointer to a function pointer. */
#define FIND(function)                                   \
    do {                                                 \
        void *found_ = hooks_find(#function);            \
        memcpy(&real.function, &found_, sizeof(found_)); \
    } while (0)

static void start(void)
{
    int before = errno;
    state = STARTING;
    FIND(calloc);
    FIND(realloc);
    FIND(memalign);
    FIND(aligned_alloc);
    FIND(posix_memalign);
    FIND(valloc);
    FIND(pvalloc);
    FIND(dlclose);
    FIND(malloc);
    FIND(free);
    library_free = real.free;
    if (first_used)
        real.free = first_free;
    confine_start();
    state = STARTED;
    hooks_ready();
    errno = before;
}

/* False while dlsym runs. The first call is made while the program is loaded, by its only
 * thread. */
static inline bool is_started(void)
{
    if (__builtin_expect(state == STARTED, 1))
        return true;
    if (state == NEW)
        start();
    return state == STARTED;
}

static void *first_malloc(size_t size)
{
    return is_started() ? real.malloc(size) : first_allocate(size);
}

static void first_free(void *block)
{
    if (is_started() && !is_first(block))
        library_free(block);
}

/* --- Records ----------------------------------------------------------------------- */

static bool is_sampled(void)
{
    return heap_shared->sample_bytes != 0;
}

/* Copies the stack, for the collector to unwind. */
static __attribute__((noinline)) void put_copy(const void *block, size_t size,
                                               uint32_t flags, uint64_t missing)
{
    struct heap_stack stack;
    struct lane_record record = {
        .kind = HEAP_COPIED, .flags = flags, .address = (uintptr_t)block, .size = size};
    STACK_TAKE(&stack);
    stack.missing = missing;
    stack_describe(&stack, &record);
    lane_put(&record);
}

/* Decides whether an allocation is recorded. The frames of its callers are part of the stack,
 * and remain until the record is put. Returns the block. */
static __attribute__((noinline)) void *take(void *block, size_t size,
                                            const uint64_t *frame)
{
    uint64_t number, missing, flag = 0;
    if (state != STARTED || is_first(block))
        return block;
    if (!lane_is_on()) {
        sample_stop();
        return block;
    }
    if (!block)
        sample_skip(size);
    if (!block || !sample_takes(size))
        return block;
    if (is_sampled() && !sample_add(block))
        flag = HEAP_UNTRACKED_BIT;
    if (stack_begin(frame, &number, &missing)) {
        lane_put_short(HEAP_ALLOCATED,
                       flag | number << HEAP_ADDRESS_BITS | (uintptr_t)block, size);
        stack_end();
    } else {
        code_maps_need(missing ? missing : frame[1] - 1);
        put_copy(block, size, flag ? HEAP_UNTRACKED : 0, missing);
    }
    return block;
}

/* Must be inlined into a function of this library. */
static inline __attribute__((always_inline)) void *allocated(void *block, size_t size)
{
    return sample_may_take(size) ? take(block, size, __builtin_frame_address(0)) : block;
}

/* The functions that are called most decide before they allocate, so that most calls are a jump
 * to the real function. (An allocation that fails then counts as a part of the distance, which has
 * no memory of what came before.) The others are jumps, too, so the frame of these functions is
 * the caller's as well; meson.build asks the compiler for that. */
#define SLOW static __attribute__((noinline))

SLOW void *take_malloc(size_t size)
{
    return take(real.malloc(size), size, __builtin_frame_address(0));
}

SLOW void *take_calloc(size_t count, size_t size)
{
    return take(real.calloc(count, size), count * size, __builtin_frame_address(0));
}

/* Whether the block's release is recorded. */
static __attribute__((noinline)) bool is_followed(const void *block)
{
    return block && !is_first(block) && lane_is_on() &&
           (!is_sampled() || sample_remove(block));
}

static void put(enum heap_record_kind kind, const void *block)
{
    lane_put_short(kind, (uintptr_t)block, 0);
}

/* --- The functions ------------------------------------------------------------------ */

HOOK void *malloc(size_t size)
{
    return sample_may_take(size) ? take_malloc(size) : real.malloc(size);
}

HOOK void *calloc(size_t count, size_t size)
{
    if (!is_started())
        return first_allocate(count * size);
    return sample_may_take(count * size) ? take_calloc(count, size)
                                         : real.calloc(count, size);
}

/* Memory of before the start is moved to the heap. */
static void *move_first(const char *block, size_t size)
{
    size_t most = (size_t)(first_memory + sizeof first_memory - block);
    void *moved = is_started() ? real.malloc(size) : first_allocate(size);
    if (moved)
        memcpy(moved, block, size < most ? size : most);
    return moved;
}

static void *reallocate(void *block, size_t size)
{
    if (is_first(block))
        return move_first(block, size);
    bool is_known = sample_may_have(block) && is_followed(block);
    if (is_known)
        put(HEAP_MOVING, block);
    void *moved = real.realloc(block, size);
    if (!moved && is_known && size != 0) {
        if (is_sampled())
            (void)sample_add(block);
        put(HEAP_MOVE_FAILED, block);
    }
    return allocated(moved, size);
}

HOOK void *realloc(void *block, size_t size)
{
    return is_started() || is_first(block) ? reallocate(block, size)
                                           : first_allocate(size);
}

HOOK void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, bytes);
}

HOOK void *memalign(size_t alignment, size_t size)
{
    return is_started() ? allocated(real.memalign(alignment, size), size) : NULL;
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
    return is_started() ? allocated(real.aligned_alloc(alignment, size), size) : NULL;
}

HOOK int posix_memalign(void **block, size_t alignment, size_t size)
{
    int status = is_started() ? real.posix_memalign(block, alignment, size) : ENOMEM;
    if (status == 0)
        allocated(*block, size);
    return status;
}

HOOK void *valloc(size_t size)
{
    return is_started() ? allocated(real.valloc(size), size) : NULL;
}

HOOK void *pvalloc(size_t size)
{
    return is_started() ? allocated(real.pvalloc(size), size) : NULL;
}

static __attribute__((noinline)) void release(void *block)
{
    if (is_followed(block))
        put(HEAP_FREED, block);
    real.free(block);
}

HOOK void free(void *block)
{
    if (sample_may_have(block))
        release(block);
    else
        real.free(block);
}

HOOK int dlclose(void *library)
{
    if (!is_started() || !lane_is_on())
        return real.dlclose ? real.dlclose(library) : -1;
    int status = real.dlclose(library);
    code_maps_unloaded();
    return status;
}

/* --- What is hooked ----------------------------------------------------------------- */

void hooks_start(void)
{
    is_started();
}

#define HOOKED(function)                      \
    {                                         \
#function, (void (*)(void))(function) \
    }

const struct hook hooks[] = {
    HOOKED(malloc),   HOOKED(calloc),        HOOKED(realloc),        HOOKED(reallocarray),
    HOOKED(memalign), HOOKED(aligned_alloc), HOOKED(posix_memalign), HOOKED(valloc),
    HOOKED(pvalloc),  HOOKED(free),          HOOKED(dlclose),        HOOKED(prctl),
    HOOKED(syscall),  {NULL, NULL},
};
