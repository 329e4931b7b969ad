/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "unit.h"

static void pieces_do_not_overlap(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    unsigned char *pieces[600];
    size_t sizes[600];
    for (size_t i = 0; i < 600; i++) {
        sizes[i] = i * 131 % 700 + (i % 50 == 0) * 60000;
        pieces[i] = arena_alloc(&a, sizes[i]);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 8, 0);
        memset(pieces[i], (int)(i & 0xff), sizes[i]);
    }
    for (size_t i = 0; i < 600; i++)
        for (size_t at = 0; at < sizes[i]; at++)
            assert_int_equal(pieces[i][at], i & 0xff);
    assert_true(a.total > 0);
    arena_deinit(&a);
    assert_int_equal(a.total, 0);
}

static void size_zero_gets_an_address(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    const void *first = arena_alloc(&a, 0);
    assert_non_null(first);
    assert_non_null(arena_zalloc(&a, 0, 4));
    assert_ptr_not_equal(first, arena_alloc(&a, 0));
    arena_deinit(&a);
}

static void zeroed_memory_is_zero(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    memset(arena_alloc(&a, 64), 0xff, 64);
    const unsigned char *zeros = arena_zalloc(&a, 100, 7);
    for (size_t i = 0; i < 700; i++)
        assert_int_equal(zeros[i], 0);
    arena_deinit(&a);
}

/* Grows from a piece of a chunk to a block of its own, and further. */
static void growing_preserves_items(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    uint32_t *items = NULL;
    size_t cap = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        items = arena_grow(&a, items, &cap, i + 1, sizeof *items);
        assert_non_null(items);
        assert_true(cap > i);
        items[i] = i * 3;
    }
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(items[i], i * 3);
    arena_deinit(&a);
}

static void a_released_block_is_freed(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    arena_alloc(&a, 10);
    size_t before = a.total;
    void *first = arena_alloc(&a, 100000), *second = arena_alloc(&a, 200000);
    arena_release(&a, first, 100000);
    assert_int_equal(a.total, before + 200000);
    arena_release(&a, second, 200000);
    assert_int_equal(a.total, before);
    arena_release(&a, NULL, 5);
    arena_release(&a, arena_alloc(&a, 100), 100); /* small: not freed early */
    arena_deinit(&a);
}

static void failure_is_sticky(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    assert_null(arena_alloc(&a, SIZE_MAX - 4));
    assert_true(a.failed);
    assert_null(arena_alloc(&a, 1));
    arena_deinit(&a);
    assert_false(a.failed);
}

static void an_overflowing_product_fails(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    assert_null(arena_zalloc(&a, SIZE_MAX / 2, 4));
    assert_true(a.failed);
    arena_deinit(&a);
    size_t cap = 0;
    assert_null(arena_grow(&a, NULL, &cap, SIZE_MAX / 8, 16));
    assert_true(a.failed);
    assert_int_equal(cap, 0);
    arena_deinit(&a);
}

static void a_failed_growth_preserves_the_old_array(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    size_t cap = 0;
    char *items = arena_grow(&a, NULL, &cap, 40000, 1);
    memset(items, 'x', 40000);
    assert_null(arena_grow(&a, items, &cap, SIZE_MAX / 5, 1));
    assert_true(a.failed);
    assert_int_equal(items[39999], 'x');
    arena_deinit(&a);
}

static void strings_are_copied(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    char text[] = "frame";
    struct str copy = arena_str(&a, str_of(text));
    text[0] = 'X';
    assert_str(copy, "frame");
    assert_str(arena_str(&a, STR("")), "");
    arena_deinit(&a);
}

/* A source that counts its open blocks. */
static size_t allocated, moves;

static void *allocate(size_t size)
{
    allocated += size;
    return calloc(1, size);
}

static void *resize(void *block, size_t before, size_t size)
{
    moves++;
    allocated += size - before;
    return realloc(block, size);
}

static void release(void *block, size_t size)
{
    allocated -= size;
    free(block);
}

static void large_blocks_come_from_the_source(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    size_t cap = 0;
    char *items = arena_grow(&a, NULL, &cap, 40000, 1); /* from malloc */
    memset(items, 'x', 40000);
    arena_set_source(&(struct arena_source){50000, allocate, resize, release});
    assert_int_equal(allocated, 0);
    items = arena_grow(&a, items, &cap, 60000, 1); /* moved to the source */
    assert_true(allocated > 60000 && moves == 0);
    items = arena_grow(&a, items, &cap, 500000, 1);
    assert_true(allocated > 500000 && moves == 1);
    for (size_t i = 0; i < 40000; i++)
        assert_int_equal(items[i], 'x');
    arena_release(&a, items, cap);
    assert_int_equal(allocated, 0);
    assert_non_null(arena_zalloc(&a, 100000, 1));
    for (int i = 0; i < 10000; i++) /* chunks */
        assert_non_null(arena_alloc(&a, 100));
    assert_true(allocated > 600000);
    arena_deinit(&a);
    assert_int_equal(allocated, 0);
    arena_set_source(&(struct arena_source){.min_size = SIZE_MAX});
}

/* The limit covers all arenas of the thread, including growing pieces and chunks. */
static void a_thread_stays_within_its_limit(void **state)
{
    (void)state;
    struct arena_bound bound = {.most = 700000};
    struct arena_bound *before = arena_count_in(&bound);
    struct arena a = ARENA_INIT, b = ARENA_INIT;
    size_t cap = 0;
    assert_null(before);
    char *items = arena_grow(&a, NULL, &cap, 300000, 1);
    assert_true(bound.held >= 300000);
    assert_non_null(arena_alloc(&b, 200000));
    assert_false(bound.refused);
    assert_null(arena_grow(&a, items, &cap, cap + 1, 1));
    assert_true(a.failed && bound.refused);
    while (arena_alloc(&b, 100)) {
    }
    assert_true(b.failed && bound.held <= 700000);
    arena_deinit(&a);
    arena_deinit(&b);
    assert_int_equal(bound.held, 0);
    assert_ptr_equal(arena_count_in(before), &bound);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(pieces_do_not_overlap),
        UNIT(size_zero_gets_an_address),
        UNIT(zeroed_memory_is_zero),
        UNIT(growing_preserves_items),
        UNIT(a_released_block_is_freed),
        UNIT(failure_is_sticky),
        UNIT(an_overflowing_product_fails),
        UNIT(a_failed_growth_preserves_the_old_array),
        UNIT(large_blocks_come_from_the_source),
        UNIT(strings_are_copied),
        UNIT(a_thread_stays_within_its_limit),
    };
    return UNITS_RUN(units);
}
