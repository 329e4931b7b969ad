/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of a window: what is written is read back; damaged bytes are refused. */
#include "store/stacks.h"
#include "unit.h"

#define STACKS 300
#define FIRST ((uint64_t)1000)

static void make_stacks(struct store_stack *stacks)
{
    for (uint32_t i = 0; i < STACKS; i++)
        stacks[i] = (struct store_stack){i % 7 ? (uint32_t)FIRST + i - 1 - i % 3 : i % 50,
                                         1 + i * 7919 % 5000};
    stacks[1].parent = 0;
    stacks[2].parent = (uint32_t)FIRST;
}

static void stacks_are_read_back(void **state)
{
    struct store_stack stacks[STACKS], *read;
    struct output o = OUTPUT_BUFFER;
    struct arena arena = ARENA_INIT;
    struct error err;
    (void)state;
    make_stacks(stacks);
    assert_true(store_stacks_encode(stacks, STACKS, FIRST, &o, &err));
    struct str bytes = output_contents(&o);
    assert_true(store_stacks_decode(bytes, FIRST, STACKS, &arena, &read, &err));
    assert_memory_equal(read, stacks, sizeof stacks);
    assert_false(store_stacks_decode(bytes, FIRST, STACKS + 1, &arena, &read, &err));
    assert_false(store_stacks_decode(bytes, FIRST, STACKS - 1, &arena, &read, &err));
    assert_false(store_stacks_decode(bytes, 1, STACKS, &arena, &read, &err));
    assert_false(store_stacks_decode(str_head(bytes, bytes.len / 2), FIRST, STACKS,
                                     &arena, &read, &err));
    arena_deinit(&arena);
    output_deinit(&o);
}

static void damaged_bytes_never_give_invalid_parents(void **state)
{
    struct store_stack stacks[STACKS], *read;
    struct output o = OUTPUT_BUFFER;
    struct error err;
    (void)state;
    make_stacks(stacks);
    assert_true(store_stacks_encode(stacks, STACKS, FIRST, &o, &err));
    for (size_t i = 0; i < o.used; i++) {
        struct arena arena = ARENA_INIT;
        o.bytes[i] ^= (char)(1 + i % 255);
        if (store_stacks_decode(output_contents(&o), FIRST, STACKS, &arena, &read, &err))
            for (size_t k = 0; k < STACKS; k++)
                assert_true(read[k].parent < FIRST + k);
        o.bytes[i] ^= (char)(1 + i % 255);
        arena_deinit(&arena);
    }
    output_deinit(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_are_read_back),
        cmocka_unit_test(damaged_bytes_never_give_invalid_parents),
    };
    return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}
