/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memo.h"
#include "unit.h"

static struct hash128 key_of(uint32_t n)
{
    return hash_bytes128(&n, sizeof n);
}

static void stored_values_are_found(void **state)
{
    struct arena a = ARENA_INIT;
    struct memo m;
    (void)state;
    assert_true(memo_init(&m, &a, 1024));
    assert_null(memo_find(&m, key_of(1)));
    memo_put(&m, key_of(1), 11);
    assert_int_equal(*memo_find(&m, key_of(1)), 11);
    assert_null(memo_find(&m, key_of(2)));
    arena_deinit(&a);
}

static void growing_preserves_most_values(void **state)
{
    struct arena a = ARENA_INIT;
    struct memo m;
    size_t found = 0;
    (void)state;
    assert_true(memo_init(&m, &a, 4096));
    for (uint32_t n = 0; n < 2000; n++)
        memo_put(&m, key_of(n), n);
    for (uint32_t n = 0; n < 2000; n++) {
        const uint64_t *value = memo_find(&m, key_of(n));
        found += value != NULL;
        if (value)
            assert_int_equal(*value, n);
    }
    assert_true(found > 1600);
    arena_deinit(&a);
}

static void the_size_is_limited(void **state)
{
    struct arena a = ARENA_INIT;
    struct memo m;
    (void)state;
    assert_true(memo_init(&m, &a, 1024));
    for (uint32_t n = 0; n < 1000000; n++)
        memo_put(&m, key_of(n), n);
    assert_int_equal(m.mask + 1, 1024);
    assert_int_equal(*memo_find(&m, key_of(999999)), 999999);
    arena_deinit(&a);
}

/* The two halves of the hash must be independent. */
static void similar_texts_have_independent_hashes(void **state)
{
    char text[100];
    (void)state;
    memset(text, 'a', sizeof text);
    for (size_t len = 1; len <= sizeof text; len++) {
        struct hash128 h = hash_bytes128(text, len);
        for (size_t at = 0; at < len; at++) {
            text[at] ^= 1;
            struct hash128 other = hash_bytes128(text, len);
            assert_true(h.lo != other.lo && h.hi != other.hi);
            text[at] ^= 1;
        }
        struct hash128 shorter = hash_bytes128(text, len - 1);
        assert_true(h.lo != shorter.lo && h.hi != shorter.hi);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(stored_values_are_found),
        UNIT(growing_preserves_most_values),
        UNIT(the_size_is_limited),
        UNIT(similar_texts_have_independent_hashes),
    };
    return UNITS_RUN(units);
}
