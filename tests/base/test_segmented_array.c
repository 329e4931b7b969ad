/* SPDX-License-Identifier: Apache-2.0 */
#include "base/segmented_array.h"
#include "unit.h"

static void test_items_do_not_move(void **state)
{
    struct arena a = ARENA_INIT;
    struct segmented_array s = {.count = 0};
    uint64_t *first[3000];
    (void)state;
    for (uint32_t i = 0; i < 3000; i++) {
        uint64_t *item = segmented_array_add(&s, &a, sizeof *item);
        assert_non_null(item);
        assert_int_equal(*item, 0);
        *item = (uint64_t)i * 3;
        first[i] = item;
        assert_int_equal(s.count, i + 1);
    }
    for (uint32_t i = 0; i < 3000; i++) {
        assert_ptr_equal(segmented_array_at(&s, i, sizeof(uint64_t)), first[i]);
        assert_int_equal(*first[i], (uint64_t)i * 3);
    }
    arena_deinit(&a);
}

/* Every index has a segment, and the segments follow each other without gaps. */
static void test_parts(void **state)
{
    (void)state;
    uint64_t begin = 0;
    for (unsigned part = 0; part < SEGMENT_PARTS; part++) {
        uint64_t size = (uint64_t)1 << (part + SEGMENT_BITS), last = begin + size - 1;
        size_t at;
        assert_int_equal(segmented_array_part((uint32_t)begin, &at), part);
        assert_int_equal(at, 0);
        if (last > UINT32_MAX)
            last = UINT32_MAX;
        assert_int_equal(segmented_array_part((uint32_t)last, &at), part);
        assert_int_equal(at, last - begin);
        begin += size;
    }
    assert_true(begin > UINT32_MAX - ((uint64_t)1 << SEGMENT_BITS));
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_items_do_not_move),
        UNIT(test_parts),
    };
    return UNITS_RUN(units);
}
