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

/* Against the plainest of trees: a list that is searched from its beginning. */
static void any_order_makes_the_same_tree(void **state)
{
    struct arena a = ARENA_INIT;
    struct trie t;
    struct trie_node wanted[2000];
    uint32_t count = 1, random = 1;
    (void)state;
    assert_true(trie_init(&t, &a));
    for (int i = 0; i < 6000; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t parent = (random >> 8) % count, key = (random >> 24) % 3 + 1, at = 1;
        while (at < count && (wanted[at].parent != parent || wanted[at].key != key))
            at++;
        if (at == 2000)
            continue;
        wanted[at] = (struct trie_node){parent, key};
        count += at == count;
        assert_int_equal(trie_child(&t, parent, key), at);
    }
    assert_int_equal(t.count, count);
    assert_int_equal(count, 2000);
    trie_seal(&t);
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(a_child_is_made_once),
        UNIT(any_order_makes_the_same_tree),
    };
    return UNITS_RUN(units);
}
