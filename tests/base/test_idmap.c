/* SPDX-License-Identifier: Apache-2.0 */
#include "base/idmap.h"
#include "unit.h"

static void only_added_ids_are_found(void **state)
{
    (void)state;
    struct arena arena = ARENA_INIT;
    struct idmap map = {0};
    assert_null(idmap_find(&map, 0));
    *idmap_put(&map, &arena, 0) = 7;
    *idmap_put(&map, &arena, UINT64_MAX) = 8;
    assert_int_equal(*idmap_find(&map, 0), 7);
    assert_int_equal(*idmap_find(&map, UINT64_MAX), 8);
    assert_null(idmap_find(&map, 1));
    arena_deinit(&arena);
}

static void adding_again_returns_the_existing_value(void **state)
{
    (void)state;
    struct arena arena = ARENA_INIT;
    struct idmap map = {0};
    assert_int_equal(*idmap_put(&map, &arena, 5), 0);
    *idmap_put(&map, &arena, 5) = 1;
    assert_int_equal(*idmap_put(&map, &arena, 5), 1);
    *idmap_put(&map, &arena, 5) = 2;
    assert_int_equal(*idmap_find(&map, 5), 2);
    arena_deinit(&arena);
}

static void sparse_ids_cost_no_more_than_dense_ones(void **state)
{
    (void)state;
    struct arena arena = ARENA_INIT;
    struct idmap map = {0};
    for (uint64_t i = 0; i < 100000; i++)
        *idmap_put(&map, &arena, i * 0x9e3779b97f4a7c15u) = i + 1;
    for (uint64_t i = 0; i < 100000; i++)
        assert_int_equal(*idmap_find(&map, i * 0x9e3779b97f4a7c15u), i + 1);
    assert_null(idmap_find(&map, 1));
    assert_true(arena.total < (size_t)16 << 20);
    arena_deinit(&arena);
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(only_added_ids_are_found),
        UNIT(adding_again_returns_the_existing_value),
        UNIT(sparse_ids_cost_no_more_than_dense_ones),
    };
    return UNITS_RUN(units);
}
