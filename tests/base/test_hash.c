/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of an input that were chosen so that their hashes collide. What a table costs is
 * counted in slots that are visited, not in seconds. */
#include "base/hash.h"
#include "base/idmap.h"
#include "base/strings.h"
#include "base/trie.h"
#include "model/builder.h"
#include "unit.h"

#define COUNT 8192
#define PROBES_MAX 8 /* of one item, on average: 2.5 for random hashes */

static const uint64_t other_keys[4] = {0x243f6a8885a308d3u, 0x13198a2e03707344u,
                                       0xa4093822299f31d0u, 0x082efa98ec4e6c89u};

static int use_other_keys(void **state)
{
    (void)state;
    hash_set_keys(other_keys);
    return 0;
}

static int use_fixed_keys(void **state)
{
    (void)state;
    hash_keys = HASH_FIXED_KEYS;
    return 0;
}

/* Slots that are visited to find each item once, per item. */
static size_t probes(const struct index *ix)
{
    size_t sum = 0;
    for (size_t at = 0; at <= ix->mask; at++)
        if (ix->slots[at].id)
            sum += ((at - ix->slots[at].hash) & ix->mask) + 1;
    return ix->used ? sum / ix->used : 0;
}

/* Names and numbers that are in the first slots of each table with fixed keys. */
static bool collides(uint32_t hash)
{
    return (hash & 0xffff) < 64;
}

static size_t probes_of_names(void)
{
    struct arena arena = ARENA_INIT;
    struct strings table;
    char name[32];
    assert_true(strings_init(&table, &arena));
    for (unsigned i = 0; table.count <= COUNT; i++) {
        int length = snprintf(name, sizeof name, "f%u", i);
        if (collides((uint32_t)hash_keyed128(HASH_FIXED_KEYS, name, (size_t)length).lo))
            strings_add(&table, (struct str){name, (size_t)length});
    }
    size_t count = probes(&table.index);
    arena_deinit(&arena);
    return count;
}

static size_t probes_of_ids(void)
{
    struct arena arena = ARENA_INIT;
    struct idmap map = {0};
    struct hash_keys k = HASH_FIXED_KEYS;
    for (uint64_t id = 0; map.count <= COUNT; id++)
        if (collides((uint32_t)hash_mix(id ^ k.a, k.b)))
            assert_non_null(idmap_put(&map, &arena, id));
    size_t count = probes(&map.index);
    arena_deinit(&arena);
    return count;
}

static size_t probes_of_stacks(void)
{
    struct arena arena = ARENA_INIT;
    struct trie tree;
    struct hash_keys k = HASH_FIXED_KEYS;
    assert_true(trie_init(&tree, &arena));
    trie_child(&tree, 0, 1);
    for (uint32_t key = 2; tree.branches.used < COUNT; key++)
        if (collides((uint32_t)hash_mix(key ^ k.a, k.b)))
            trie_branch(&tree, 0, key);
    size_t count = probes(&tree.branches);
    arena_deinit(&arena);
    return count;
}

static void crafted_names_are_slow_with_the_keys_that_they_are_made_for(void **state)
{
    (void)state;
    assert_true(probes_of_names() > COUNT / 8);
    assert_true(probes_of_ids() > COUNT / 8);
    assert_true(probes_of_stacks() > COUNT / 8);
}

static void crafted_names_cost_no_more_with_other_keys(void **state)
{
    (void)state;
    assert_in_range(probes_of_names(), 1, PROBES_MAX);
}

static void crafted_ids_cost_no_more_with_other_keys(void **state)
{
    (void)state;
    assert_in_range(probes_of_ids(), 1, PROBES_MAX);
}

static void crafted_stacks_cost_no_more_with_other_keys(void **state)
{
    (void)state;
    assert_in_range(probes_of_stacks(), 1, PROBES_MAX);
}

/* A factor that is 0 makes the other one irrelevant. */
static void texts_with_a_key_in_them_differ(void **state)
{
    (void)state;
    char texts[2][64];
    struct hash_keys k = HASH_FIXED_KEYS;
    for (size_t i = 0; i < 2; i++) {
        memset(texts[i], 'x', sizeof texts[i]);
        memcpy(texts[i], &k.c, sizeof k.c);
        memset(texts[i] + 8, 'a' + (int)i, 8);
    }
    struct hash128 a = hash_bytes128(texts[0], sizeof texts[0]);
    struct hash128 b = hash_bytes128(texts[1], sizeof texts[1]);
    assert_true(a.lo != b.lo && a.hi != b.hi);
}

/* Whatever the keys are: fields must not cancel each other out, nor lose bits. */
static void related_fields_do_not_collide(void **state)
{
    (void)state;
    struct builder b;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (uint64_t i = 1; i <= COUNT; i++) {
        struct frame f = {.kind = FRAME_USER, .address = i << 32, .offset = i};
        f.name = builder_string(&b, STR("f"));
        builder_frame(&b, &f);
        builder_thread(&b, (int64_t)i << 32, 1, STR("t"));
        builder_thread(&b, 1, (int64_t)i << 32, STR("t"));
    }
    assert_in_range(probes(&b.frames), 1, PROBES_MAX);
    assert_in_range(probes(&b.threads), 1, PROBES_MAX);
    builder_deinit(&b);
}

/* These are in files: a cache that another process wrote must be found again. */
static void fixed_hashes_do_not_depend_on_the_keys(void **state)
{
    (void)state;
    assert_true(hash_fixed("name", 4) == hash_keyed128(HASH_FIXED_KEYS, "name", 4).lo);
    assert_true(hash_fixed("name", 4) != hash_bytes("name", 4));
}

#define WITH_OTHER_KEYS(test) \
    cmocka_unit_test_setup_teardown(test, use_other_keys, use_fixed_keys)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(crafted_names_are_slow_with_the_keys_that_they_are_made_for),
        WITH_OTHER_KEYS(crafted_names_cost_no_more_with_other_keys),
        WITH_OTHER_KEYS(crafted_ids_cost_no_more_with_other_keys),
        WITH_OTHER_KEYS(crafted_stacks_cost_no_more_with_other_keys),
        WITH_OTHER_KEYS(texts_with_a_key_in_them_differ),
        UNIT(related_fields_do_not_collide),
        WITH_OTHER_KEYS(related_fields_do_not_collide),
        WITH_OTHER_KEYS(fixed_hashes_do_not_depend_on_the_keys),
    };
    return UNITS_RUN(tests);
}
