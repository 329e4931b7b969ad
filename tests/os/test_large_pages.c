/* SPDX-License-Identifier: Apache-2.0 */
#include "os/large_pages.h"
#include "unit.h"

static const struct arena_source *const source = &os_large_pages;

static void what_is_taken_is_zero(void **state)
{
    (void)state;
    size_t sizes[] = {source->least, source->least + 1, (size_t)5 << 20, (size_t)9 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *block = source->take(sizes[i]), seen = 0;
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 16, 0);
        for (size_t at = 0; at < sizes[i]; at++)
            seen |= block[at];
        assert_int_equal(seen, 0);
        memset(block, 0xff, sizes[i]);
        source->give_back(block, sizes[i]);
    }
}

/* Another block may lie behind it, or not: in place and moved. */
static void what_grows_keeps_what_is_there(void **state)
{
    (void)state;
    size_t size = source->least;
    uint32_t *block = source->take(size);
    void *others[6];
    assert_non_null(block);
    for (size_t i = 0; i < size / 4; i++)
        block[i] = (uint32_t)i * 7 + 1;
    for (size_t step = 0; step < 6; step++) {
        size_t more = size * 2 + 12;
        others[step] = source->take(source->least);
        block = source->resize(block, size, more);
        assert_non_null(block);
        assert_int_equal(block[more / 4 - 1], 0);
        size = more;
    }
    for (size_t i = 0; i < source->least / 4; i++)
        if (block[i] != (uint32_t)i * 7 + 1)
            fail_msg("word %zu has changed", i);
    source->give_back(block, size);
    for (size_t step = 0; step < 6; step++)
        source->give_back(others[step], source->least);
}

static void what_is_too_much_is_refused(void **state)
{
    (void)state;
    char *block = source->take(source->least);
    assert_non_null(block);
    block[0] = 'x';
    assert_null(source->take(SIZE_MAX - 5));
    assert_null(source->take(SIZE_MAX / 4));
    assert_null(source->resize(block, source->least, SIZE_MAX - 5));
    assert_null(source->resize(block, source->least, SIZE_MAX / 4));
    assert_int_equal(block[0], 'x');
    source->give_back(block, source->least);
}

static void arenas_take_from_it(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    size_t cap = 0;
    uint32_t *items = NULL;
    arena_take_from(source);
    for (uint32_t i = 0; i < 3000000; i++) {
        items = arena_grow(&a, items, &cap, i + 1, sizeof *items);
        assert_non_null(items);
        items[i] = i * 3;
    }
    for (uint32_t i = 0; i < 3000000; i++)
        if (items[i] != i * 3)
            fail_msg("item %u has changed", i);
    arena_release(&a, items, cap * sizeof *items);
    for (int i = 0; i < 200000; i++) /* chunks, too */
        memset(arena_alloc(&a, 100), 0xff, 100);
    arena_deinit(&a);
    arena_take_from(&(struct arena_source){.least = SIZE_MAX});
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(what_is_taken_is_zero),
        UNIT(what_grows_keeps_what_is_there),
        UNIT(what_is_too_much_is_refused),
        UNIT(arenas_take_from_it),
    };
    return UNITS_RUN(units);
}
