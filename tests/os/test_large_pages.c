/* SPDX-License-Identifier: Apache-2.0 */
#include "os/large_pages.h"
#include "unit.h"

static const struct arena_source *const source = &os_large_pages;

static void allocated_memory_is_zero(void **state)
{
    (void)state;
    size_t sizes[] = {source->min_size, source->min_size + 1, (size_t)5 << 20,
                      (size_t)9 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *block = source->allocate(sizes[i]), seen = 0;
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 16, 0);
        for (size_t at = 0; at < sizes[i]; at++)
            seen |= block[at];
        assert_int_equal(seen, 0);
        memset(block, 0xff, sizes[i]);
        source->free(block, sizes[i]);
    }
}

/* Another block may follow it or not: growth in place and by moving. */
static void growing_preserves_the_content(void **state)
{
    (void)state;
    size_t size = source->min_size;
    uint32_t *block = source->allocate(size);
    void *others[6];
    assert_non_null(block);
    for (size_t i = 0; i < size / 4; i++)
        block[i] = (uint32_t)i * 7 + 1;
    for (size_t step = 0; step < 6; step++) {
        size_t more = size * 2 + 12;
        others[step] = source->allocate(source->min_size);
        block = source->resize(block, size, more);
        assert_non_null(block);
        assert_int_equal(block[more / 4 - 1], 0);
        size = more;
    }
    for (size_t i = 0; i < source->min_size / 4; i++)
        if (block[i] != (uint32_t)i * 7 + 1)
            fail_msg("word %zu has changed", i);
    source->free(block, size);
    for (size_t step = 0; step < 6; step++)
        source->free(others[step], source->min_size);
}

static void excessive_sizes_are_rejected(void **state)
{
    (void)state;
    char *block = source->allocate(source->min_size);
    assert_non_null(block);
    block[0] = 'x';
    assert_null(source->allocate(SIZE_MAX - 5));
    assert_null(source->allocate(SIZE_MAX / 4));
    assert_null(source->resize(block, source->min_size, SIZE_MAX - 5));
    assert_null(source->resize(block, source->min_size, SIZE_MAX / 4));
    assert_int_equal(block[0], 'x');
    source->free(block, source->min_size);
}

static void arenas_use_it(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    size_t cap = 0;
    uint32_t *items = NULL;
    arena_set_source(source);
    for (uint32_t i = 0; i < 3000000; i++) {
        items = arena_grow(&a, items, &cap, i + 1, sizeof *items);
        assert_non_null(items);
        items[i] = i * 3;
    }
    for (uint32_t i = 0; i < 3000000; i++)
        if (items[i] != i * 3)
            fail_msg("item %u has changed", i);
    arena_release(&a, items, cap * sizeof *items);
    for (int i = 0; i < 200000; i++) /* also chunks */
        memset(arena_alloc(&a, 100), 0xff, 100);
    arena_deinit(&a);
    arena_set_source(&(struct arena_source){.min_size = SIZE_MAX});
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(allocated_memory_is_zero),
        UNIT(growing_preserves_the_content),
        UNIT(excessive_sizes_are_rejected),
        UNIT(arenas_use_it),
    };
    return UNITS_RUN(units);
}
