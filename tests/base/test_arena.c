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

static void nothing_has_a_place_too(void **state)
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

/* Through the step from a piece of a chunk to a block of its own, and on. */
static void growing_keeps_what_is_there(void **state)
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

static void a_released_block_is_given_back(void **state)
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
    arena_release(&a, arena_alloc(&a, 100), 100); /* small: stays */
    arena_deinit(&a);
}

static void failure_sticks(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    assert_null(arena_alloc(&a, SIZE_MAX - 4));
    assert_true(a.failed);
    assert_null(arena_alloc(&a, 1));
    arena_deinit(&a);
    assert_false(a.failed);
}

static void a_product_that_does_not_fit_fails(void **state)
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

static void a_failed_growth_leaves_the_old_array(void **state)
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

/* A source that counts what is out. */
static size_t taken, moves;

static void *take(size_t size)
{
    taken += size;
    return calloc(1, size);
}

static void *resize(void *block, size_t before, size_t size)
{
    moves++;
    taken += size - before;
    return realloc(block, size);
}

static void give_back(void *block, size_t size)
{
    taken -= size;
    free(block);
}

static void large_blocks_come_from_the_source(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    size_t cap = 0;
    char *items = arena_grow(&a, NULL, &cap, 40000, 1); /* malloc's */
    memset(items, 'x', 40000);
    arena_take_from(&(struct arena_source){50000, take, resize, give_back});
    assert_int_equal(taken, 0);
    items = arena_grow(&a, items, &cap, 60000, 1); /* moved there */
    assert_true(taken > 60000 && moves == 0);
    items = arena_grow(&a, items, &cap, 500000, 1);
    assert_true(taken > 500000 && moves == 1);
    for (size_t i = 0; i < 40000; i++)
        assert_int_equal(items[i], 'x');
    arena_release(&a, items, cap);
    assert_int_equal(taken, 0);
    assert_non_null(arena_zalloc(&a, 100000, 1));
    for (int i = 0; i < 10000; i++) /* chunks */
        assert_non_null(arena_alloc(&a, 100));
    assert_true(taken > 600000);
    arena_deinit(&a);
    assert_int_equal(taken, 0);
    arena_take_from(&(struct arena_source){.least = SIZE_MAX});
}

/* All arenas of the thread together, pieces that grow and chunks included. */
static void a_thread_takes_no_more_than_it_may(void **state)
{
    (void)state;
    int64_t before = arena_held();
    struct arena a = ARENA_INIT, b = ARENA_INIT;
    size_t cap = 0;
    char *items = arena_grow(&a, NULL, &cap, 300000, 1);
    assert_true(arena_held() - before >= 300000);
    arena_allow(before + 700000);
    assert_non_null(arena_alloc(&b, 200000));
    assert_false(arena_was_refused());
    assert_null(arena_grow(&a, items, &cap, cap + 1, 1));
    assert_true(a.failed && arena_was_refused());
    while (arena_alloc(&b, 100)) {
    }
    assert_true(b.failed && arena_held() - before <= 700000);
    arena_allow(INT64_MAX);
    assert_false(arena_was_refused());
    arena_deinit(&a);
    arena_deinit(&b);
    assert_int_equal(arena_held(), before);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(pieces_do_not_overlap),
        UNIT(nothing_has_a_place_too),
        UNIT(zeroed_memory_is_zero),
        UNIT(growing_keeps_what_is_there),
        UNIT(a_released_block_is_given_back),
        UNIT(failure_sticks),
        UNIT(a_product_that_does_not_fit_fails),
        UNIT(a_failed_growth_leaves_the_old_array),
        UNIT(large_blocks_come_from_the_source),
        UNIT(strings_are_copied),
        UNIT(a_thread_takes_no_more_than_it_may),
    };
    return UNITS_RUN(units);
}
