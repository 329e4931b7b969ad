/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/ranges.h"
#include "unit.h"

/* The answer by a linear search. */
static uint32_t linear_search(const struct range *items, size_t count, uint64_t address)
{
    const struct range *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (address >= items[i].start && address < items[i].end &&
            (!best || items[i].rank > best->rank))
            best = &items[i];
    return best ? best->owner : RANGE_NONE;
}

static int by_start(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void equals_a_linear_search(void **state)
{
    (void)state;
    srand(3);
    for (int round = 0; round < 2000; round++) {
        struct arena arena = ARENA_INIT;
        struct range items[40];
        struct ranges r;
        size_t count = (size_t)rand() % 40;
        for (size_t i = 0; i < count; i++) {
            uint64_t start = (uint64_t)rand() % 100, size = (uint64_t)rand() % 30;
            items[i] = (struct range){start, start + size, (uint32_t)i, (uint32_t)i};
        }
        /* Ranks and starts have different orders. */
        qsort(items, count, sizeof *items, by_start);
        assert_true(ranges_init(&r, items, count, &arena));
        assert_true(r.count <= 2 * count + 1);
        for (size_t i = 1; i < r.count; i++)
            assert_true(r.starts[i] > r.starts[i - 1] && r.owners[i] != r.owners[i - 1]);
        for (uint64_t a = 0; a < 140; a++)
            assert_int_equal(ranges_find(&r, a), linear_search(items, count, a));
        arena_deinit(&arena);
    }
}

static void covers_the_end_of_the_address_space(void **state)
{
    struct range items[] = {{5, UINT64_MAX, 0, 7}, {UINT64_MAX, UINT64_MAX, 1, 8}};
    struct arena arena = ARENA_INIT;
    struct ranges r;
    (void)state;
    assert_true(ranges_init(&r, items, 2, &arena));
    assert_int_equal(ranges_find(&r, 4), RANGE_NONE);
    assert_int_equal(ranges_find(&r, 5), 7);
    assert_int_equal(ranges_find(&r, UINT64_MAX - 1), 7);
    assert_true(ranges_init(&r, items, 0, &arena));
    assert_int_equal(ranges_find(&r, 5), RANGE_NONE);
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(equals_a_linear_search),
        UNIT(covers_the_end_of_the_address_space),
    };
    return UNITS_RUN(units);
}
