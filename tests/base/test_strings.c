/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/memo.h"
#include "base/strings.h"
#include "unit.h"

static void equal_strings_have_one_id(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    struct strings t;
    assert_true(strings_init(&t, &a));
    string_id main_id = strings_add(&t, STR("main")), other = strings_add(&t, STR("mai"));
    assert_int_not_equal(main_id, 0);
    assert_int_not_equal(main_id, other);
    assert_int_equal(strings_add(&t, STR("main")), main_id);
    assert_int_equal(strings_find(&t, STR("main")), main_id);
    assert_int_equal(strings_find(&t, STR("never added")), 0);
    assert_str(strings_get(&t, main_id), "main");
    arena_deinit(&a);
}

static void the_empty_string_is_zero(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    struct strings t;
    assert_true(strings_init(&t, &a));
    assert_int_equal(strings_add(&t, STR("")), 0);
    assert_int_equal(strings_find(&t, STR("")), 0);
    assert_str(strings_get(&t, 0), "");
    arena_deinit(&a);
}

static void zero_bytes_and_long_names_are_stored(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    struct strings t;
    char *name = malloc(65536);
    memset(name, 'n', 65536);
    assert_true(strings_init(&t, &a));
    string_id zeros = strings_add(&t, (struct str){"a\0b", 3});
    assert_int_not_equal(zeros, strings_add(&t, (struct str){"a\0c", 3}));
    assert_int_equal(strings_get(&t, zeros).len, 3);
    string_id first = strings_add(&t, (struct str){name, 65536});
    assert_int_not_equal(first, strings_add(&t, (struct str){name, 65535}));
    assert_int_equal(strings_get(&t, first).len, 65536);
    free(name);
    arena_deinit(&a);
}

static void many_strings_are_all_found(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    struct strings t;
    char text[32];
    assert_true(strings_init(&t, &a));
    for (uint32_t i = 0; i < 200000; i++) {
        size_t n = (size_t)snprintf(text, sizeof text, "f%u", i * 7);
        assert_int_equal(strings_add(&t, (struct str){text, n}), i + 1);
    }
    for (uint32_t i = 0; i < 200000; i++) {
        size_t n = (size_t)snprintf(text, sizeof text, "f%u", i * 7);
        assert_int_equal(strings_find(&t, (struct str){text, n}), i + 1);
    }
    assert_int_equal(t.count, 200001);
    arena_deinit(&a);
}

static void after_a_failure_nothing_is_added(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    struct strings t;
    assert_true(strings_init(&t, &a));
    a.failed = true;
    assert_int_equal(strings_add(&t, STR("late")), 0);
    assert_int_equal(t.count, 1);
    arena_deinit(&a);
}

/* The hash has a separate path for each range of lengths; every byte must change it. */
static void each_byte_changes_the_hash(void **state)
{
    (void)state;
    char text[100];
    memset(text, 'a', sizeof text);
    for (size_t length = 1; length <= sizeof text; length++) {
        struct hash128 whole = hash_bytes128(text, length);
        struct hash128 shorter = hash_bytes128(text, length - 1);
        assert_false(whole.lo == shorter.lo && whole.hi == shorter.hi);
        for (size_t at = 0; at < length; at++) {
            text[at] = 'b';
            struct hash128 changed = hash_bytes128(text, length);
            assert_false(whole.lo == changed.lo || whole.hi == changed.hi);
            text[at] = 'a';
        }
    }
}

static void the_memo_retains_the_newest_two_of_a_slot(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    struct memo m;
    assert_true(memo_init(&m, &a, 4));
    struct hash128 one = {8, 1}, two = {8, 2}, three = {8, 3};
    assert_null(memo_find(&m, one));
    memo_put(&m, one, 11);
    memo_put(&m, two, 22);
    assert_int_equal(*memo_find(&m, one), 11);
    assert_int_equal(*memo_find(&m, two), 22);
    memo_put(&m, three, 33);
    assert_null(memo_find(&m, one));
    assert_int_equal(*memo_find(&m, two), 22);
    assert_int_equal(*memo_find(&m, three), 33);
    arena_deinit(&a);
}

/* Texts of few distinct bytes, some of which are prefixes of others, end in zeros, or
 * share much with the rest. */
static size_t make_text(char *text, size_t size)
{
    static const char bytes[] = {0, 0, 'a', 'b', (char)0xff};
    size_t count = (size_t)rand() % size, common = rand() % 3 ? 0 : count / 2;
    for (size_t i = 0; i < count; i++)
        text[i] = i < common ? 'x' : bytes[(size_t)rand() % sizeof bytes];
    return count;
}

static void texts_are_sorted_bytewise(void **state)
{
    (void)state;
    srand(11);
    for (int round = 0; round < 300; round++) {
        struct arena a = ARENA_INIT;
        struct strings t;
        char text[64];
        assert_true(strings_init(&t, &a));
        size_t expected = (size_t)rand() % 400, longest = 1 + (size_t)rand() % 63;
        for (size_t i = 0; i < expected; i++)
            strings_add(&t, (struct str){text, make_text(text, longest)});
        string_id *ids = arena_alloc(&a, (t.count + 1) * sizeof *ids);
        for (size_t i = 0; i < t.count; i++)
            ids[i] = (string_id)(t.count - 1 - i);
        ids[t.count] = 77;
        assert_true(strings_sort(&t, ids, t.count, &a));
        for (size_t i = 1; i < t.count; i++)
            assert_true(str_compare(t.items[ids[i - 1]], t.items[ids[i]]) < 0);
        assert_int_equal(ids[t.count], 77);
        arena_deinit(&a);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(equal_strings_have_one_id),
        UNIT(the_empty_string_is_zero),
        UNIT(zero_bytes_and_long_names_are_stored),
        UNIT(texts_are_sorted_bytewise),
        UNIT(many_strings_are_all_found),
        UNIT(after_a_failure_nothing_is_added),
        UNIT(each_byte_changes_the_hash),
        UNIT(the_memo_retains_the_newest_two_of_a_slot),
    };
    return UNITS_RUN(units);
}
