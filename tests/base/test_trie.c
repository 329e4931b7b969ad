/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trie.h"
#include "unit.h"

static void a_child_is_made_once(void **state)
{
    struct arena a = ARENA_INIT;
    struct trie t;
    (void)state;
    assert_true(trie_init(&t, &a));
    uint32_t one = trie_child(&t, 0, 7), deep = trie_child(&t, one, 7);
    uint32_t other = trie_child(&t, 0, 8), under = trie_child(&t, one, 8);
    assert_int_equal(one, 1);
    assert_int_equal(deep, 2);
    assert_int_equal(other, 3);
    assert_int_equal(under, 4);
    assert_int_equal(trie_child(&t, 0, 7), one);
    assert_int_equal(trie_child(&t, one, 7), deep);
    assert_int_equal(trie_child(&t, 0, 8), other);
    assert_int_equal(trie_child(&t, one, 8), under);
    assert_int_equal(t.count, 5);
    assert_int_equal(t.nodes[under].parent, one);
    assert_int_equal(t.nodes[under].key, 8);
    arena_deinit(&a);
}

/* Compares with a linear list. */
static void any_order_makes_the_same_tree(void **state)
{
    struct arena a = ARENA_INIT;
    struct trie t;
    struct trie_node expected[2000];
    uint32_t count = 1, random = 1;
    (void)state;
    assert_true(trie_init(&t, &a));
    for (int i = 0; i < 6000; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t parent = (random >> 8) % count, key = (random >> 24) % 3 + 1, at = 1;
        while (at < count && (expected[at].parent != parent || expected[at].key != key))
            at++;
        if (at == 2000)
            continue;
        expected[at] = (struct trie_node){parent, key};
        count += at == count;
        assert_int_equal(trie_child(&t, parent, key), at);
    }
    assert_int_equal(t.count, count);
    assert_int_equal(count, 2000);
    trie_seal(&t);
    arena_deinit(&a);
}

/* Descending along several keys equals single steps, also if a part exists already. */
static void descend_equals_single_steps(void **state)
{
    struct arena a = ARENA_INIT;
    struct trie t, expected;
    uint32_t random = 1, keys[9], nodes[9];
    (void)state;
    assert_true(trie_init(&t, &a) && trie_init(&expected, &a));
    for (int i = 0; i < 3000; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t parent = (random >> 8) % (uint32_t)expected.count, at = parent;
        size_t count = (random >> 4) % 10;
        for (size_t k = 0; k < count; k++)
            keys[k] = (random >> (k + 8)) % 4;
        uint32_t last = trie_descend(&t, parent, keys, count, i % 2 ? nodes : NULL);
        for (size_t k = 0; k < count; k++) {
            at = keys[k] ? trie_child(&expected, at, keys[k]) : at;
            assert_true(i % 2 == 0 || nodes[k] == at);
        }
        assert_int_equal(last, at);
        assert_int_equal(t.count, expected.count);
    }
    assert_memory_equal(t.nodes, expected.nodes, t.count * sizeof *t.nodes);
    assert_true(t.count > 1000);
    arena_deinit(&a);
}

/* The fast path below the newest node, other parents, and a full trie. */
static void extend_equals_descend(void **state)
{
    struct arena a = ARENA_INIT;
    struct trie t, expected;
    uint32_t random = 7, keys[9];
    (void)state;
    assert_true(trie_init(&t, &a) && trie_init(&expected, &a));
    for (int i = 0; i < 3000; i++) {
        random = random * 1664525 + 1013904223;
        bool newest = random >> 31;
        uint32_t parent = (uint32_t)(newest ? t.count - 1 : (random >> 8) % t.count);
        size_t count = (random >> 4) % 10;
        for (size_t k = 0; k < count; k++)
            keys[k] = (random >> (k + 8)) % 4 + 1;
        assert_int_equal(trie_extend(&t, parent, keys, count),
                         trie_descend(&expected, parent, keys, count, NULL));
        assert_int_equal(t.count, expected.count);
    }
    assert_memory_equal(t.nodes, expected.nodes, t.count * sizeof *t.nodes);
    assert_true(t.count > 5000);
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(a_child_is_made_once),
        UNIT(any_order_makes_the_same_tree),
        UNIT(descend_equals_single_steps),
        UNIT(extend_equals_descend),
    };
    return UNITS_RUN(units);
}
