/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include "unit.h"

static size_t comparisons;

static bool before_key(const void *context, uint32_t a, uint32_t b)
{
    const uint32_t *keys = context;
    comparisons++;
    return keys[a] < keys[b];
}

/* Sorts `count` numbers with repeating keys, and checks order and stability. */
static void assert_sorts(size_t count, uint32_t distinct)
{
    uint32_t *keys = calloc(count + 1, sizeof *keys), *items = calloc(count + 1, 4);
    uint32_t *scratch = calloc(count + 1, 4);
    uint64_t seed = count * 7919 + distinct;
    for (uint32_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        keys[i] = (uint32_t)(seed >> 33) % distinct;
        items[i] = i;
    }
    sort_u32(items, count, scratch, before_key, keys);
    for (size_t i = 1; i < count; i++) {
        uint32_t a = keys[items[i - 1]], b = keys[items[i]];
        assert_true(a < b || (a == b && items[i - 1] < items[i]));
    }
    free(keys);
    free(items);
    free(scratch);
}

static void any_count_is_sorted_and_stable(void **state)
{
    (void)state;
    for (size_t count = 0; count < 200; count++)
        assert_sorts(count, 1 + (uint32_t)count / 3);
    assert_sorts(100000, 50);
    assert_sorts(65537, UINT32_MAX);
}

static void sorted_items_take_one_pass(void **state)
{
    (void)state;
    enum { COUNT = 4096 };
    static uint32_t keys[COUNT], items[COUNT], scratch[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        keys[i] = items[i] = i;
    comparisons = 0;
    sort_u32(items, COUNT, scratch, before_key, keys);
    assert_true(comparisons < 2 * COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(items[i], i);
}

static void keys_are_sorted_and_stable(void **state)
{
    enum { COUNT = 5000 };
    static const uint64_t masks[] = {0, 0xff, 0xff00ff, UINT64_MAX, 0xffull << 56};
    static struct sort_key items[COUNT], scratch[COUNT];
    uint64_t x = 1;
    (void)state;
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            items[i] = (struct sort_key){(x ^ x >> 32) & masks[m], i};
        }
        sort_keys(items, COUNT, scratch);
        for (size_t i = 1; i < COUNT; i++)
            assert_true(
                items[i - 1].key < items[i].key ||
                (items[i - 1].key == items[i].key && items[i - 1].id < items[i].id));
    }
    sort_keys(items, 0, scratch);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(any_count_is_sorted_and_stable),
        UNIT(keys_are_sorted_and_stable),
        UNIT(sorted_items_take_one_pass),
    };
    return UNITS_RUN(units);
}
