/* SPDX-License-Identifier: Apache-2.0 */
#include "os/large_pages.h"
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_LARGE ((size_t)2 << 20)

/* from this size on, the unused rest of the last page is small in proportion */
#define BLOCK_MIN ((size_t)1 << 20)

static size_t whole_pages(size_t size)
{
    size_t page = PAGE_LARGE;
    return (size + page - 1) / page * page;
}

static void *map(size_t length)
{
    void *at =
        mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Maps whole pages at an address aligned to large pages; NULL when out of memory. */
static char *map_aligned(size_t length)
{
    char *at = map(length);
    if (!at || (uintptr_t)at % PAGE_LARGE == 0)
        return at;
    munmap(at, length);
    at = map(length + PAGE_LARGE);
    if (!at)
        return NULL;
    size_t before = (PAGE_LARGE - (uintptr_t)at % PAGE_LARGE) % PAGE_LARGE;
    if (before)
        munmap(at, before);
    munmap(at + before + length, PAGE_LARGE - before);
    return at + before;
}

static void *allocate(size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t length = whole_pages(size);
    char *at = map_aligned(length);
    if (at)
        (void)madvise(at, length, MADV_HUGEPAGE); /* a failure means small pages */
    return at;
}

/* Moves pages, not their content. */
static void *resize(void *block, size_t before, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t old = whole_pages(before), length = whole_pages(size);
    if (mremap(block, old, length, 0) != MAP_FAILED)
        return block;
    char *to = map_aligned(length);
    if (!to)
        return NULL;
    if (mremap(block, old, length, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
        return to;
    munmap(to, length);
    return NULL;
}

static void release(void *block, size_t size)
{
    munmap(block, whole_pages(size));
}

const struct arena_source os_large_pages = {
    .min_size = BLOCK_MIN, .allocate = allocate, .resize = resize, .free = release};
