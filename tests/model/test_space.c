/* SPDX-License-Identifier: Apache-2.0 */
#include "model/processes.h"
#include "unit.h"

/* A simple space of a few hundred addresses: an array of the object at each address. */
#define ADDRESSES 300

struct plain {
    uint32_t object[ADDRESSES];
    uint64_t offset[ADDRESSES];
};

static void plain_add(struct plain *p, const struct address_map *m)
{
    for (uint64_t a = m->start; a < m->end; a++) {
        p->object[a] = m->object;
        p->offset[a] = m->offset + a - m->start;
    }
}

static void assert_same(const struct spaces *s, space_id space, const struct plain *p)
{
    for (uint64_t a = 0; a < ADDRESSES; a++) {
        const struct address_map *m = space_find(s, space, a);
        assert_int_equal(m ? m->object : 0, p->object[a]);
        if (m)
            assert_int_equal(m->offset + a - m->start, p->offset[a]);
    }
}

static uint32_t random_below(uint32_t *state, uint32_t bound)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % bound;
}

/* Balanced, in order, and held once by each who points at it. */
static uint32_t check_node(const struct spaces *s, space_id space, uint64_t *last)
{
    if (space == 0)
        return 0;
    const struct space_node *n = space_node(s, space);
    uint32_t left = check_node(s, n->left, last);
    assert_true(n->map.start >= *last);
    assert_true(n->map.end > n->map.start);
    *last = n->map.end;
    uint32_t right = check_node(s, n->right, last), higher = left > right ? left : right;
    assert_true(left <= right + 1 && right <= left + 1);
    assert_int_equal(n->height, higher + 1);
    return higher + 1;
}

static void test_newest_map_wins(void **state)
{
    (void)state;
    struct spaces s = SPACES_INIT;
    space_id space = 0;
    space = space_add(&s, space, &(struct address_map){100, 200, 0, 1, 0, false});
    space = space_add(&s, space, &(struct address_map){120, 150, 7, 2, 0, false});
    assert_int_equal(space_find(&s, space, 119)->object, 1);
    assert_int_equal(space_find(&s, space, 120)->object, 2);
    assert_int_equal(space_find(&s, space, 149)->offset, 7);
    const struct address_map *rest = space_find(&s, space, 150);
    assert_int_equal(rest->object, 1);
    assert_int_equal(rest->offset, 50);
    assert_null(space_find(&s, space, 99));
    assert_null(space_find(&s, space, 200));
    assert_int_equal(space_from(&s, space, 0)->start, 100);
    assert_null(space_from(&s, space, 200));
    spaces_deinit(&s);
}

/* Compares with the simple array: random maps; older spaces must not change. */
static void test_as_a_plain_array(void **state)
{
    (void)state;
    enum { SPACES = 8 };
    static struct plain plain[SPACES];
    struct spaces s = SPACES_INIT;
    space_id spaces[SPACES] = {0};
    uint32_t seed = 1;
    memset(plain, 0, sizeof plain);
    for (uint32_t i = 1; i <= 6000; i++) {
        uint32_t k = random_below(&seed, SPACES), other = random_below(&seed, SPACES);
        struct address_map m = {random_below(&seed, ADDRESSES), 0, i * 1000, i, 0};
        m.end = m.start + random_below(&seed, 40);
        if (m.end > ADDRESSES)
            m.end = ADDRESSES;
        if (i % 10 == 0 && other != k) { /* a fork */
            space_drop(&s, spaces[other]);
            spaces[other] = space_share(&s, spaces[k]);
            plain[other] = plain[k];
        }
        spaces[k] = space_add(&s, spaces[k], &m);
        plain_add(&plain[k], &m);
        uint64_t last = 0;
        check_node(&s, spaces[k], &last);
        if (i % 50 == 0)
            for (uint32_t j = 0; j < SPACES; j++)
                assert_same(&s, spaces[j], &plain[j]);
    }
    /* Freed nodes are reused: there are never more than eight spaces need. */
    assert_true(s.nodes.count < SPACES * ADDRESSES + 100);
    spaces_deinit(&s);
}

static void test_many_maps(void **state)
{
    (void)state;
    struct spaces s = SPACES_INIT;
    space_id space = 0;
    enum { MAPS = 300000 };
    for (uint64_t i = 0; i < MAPS; i++) {
        uint64_t at = (i * 7919 % MAPS) * 16; /* in no order */
        space = space_add(&s, space, &(struct address_map){at, at + 16, 0, 1, 0, false});
    }
    uint64_t count = 0, at = 0;
    for (const struct address_map *m; (m = space_from(&s, space, at)); at = m->end)
        count++;
    assert_int_equal(count, MAPS);
    assert_true(space_node(&s, space)->height <= 27);
    spaces_deinit(&s);
}

static void test_hash_differs_between_spaces(void **state)
{
    struct spaces s = SPACES_INIT;
    struct address_map a = {0, 100, 0, 1, 7}, b = {200, 300, 50, 2, 7};
    struct address_map moved = {200, 300, 51, 2, 7}, other = {200, 300, 50, 3, 7};
    (void)state;
    space_id one = space_add(&s, 0, &a), two = space_add(&s, space_share(&s, one), &b);
    a.tag = b.tag = 8; /* which is the caller's */
    space_id again = space_add(&s, space_add(&s, 0, &a), &b);
    assert_int_equal(space_hash(&s, 0), 0);
    assert_true(space_hash(&s, one) != 0 && space_hash(&s, one) != space_hash(&s, two));
    assert_true(space_hash(&s, again) == space_hash(&s, two));
    again = space_add(&s, again, &moved);
    assert_true(space_hash(&s, again) != space_hash(&s, two));
    again = space_add(&s, again, &other);
    assert_true(space_hash(&s, again) != space_hash(&s, two));
    again = space_add(&s, again, &b);
    assert_true(space_hash(&s, again) == space_hash(&s, two));
    spaces_deinit(&s);
}

static void test_processes(void **state)
{
    (void)state;
    struct processes p;
    assert_true(processes_init(&p));
    processes_name(&p, 10, 10, STR("sh"), false);
    processes_map(&p, 10, &(struct address_map){0, 100, 0, 1, 0});
    processes_fork(&p, 11, 10, 11, 10, false);
    assert_str(task_name(&p, processes_task(&p, 11)), "sh");
    processes_map(&p, 11, &(struct address_map){50, 60, 0, 2, 0});
    assert_int_equal(space_find(&p.spaces, processes_find(&p, 10)->space, 55)->object, 1);
    assert_int_equal(space_find(&p.spaces, processes_find(&p, 11)->space, 55)->object, 2);
    processes_task(&p, 11)->tag = 5;
    processes_name(&p, 11, 11, STR("ls"), true);
    assert_int_equal(processes_task(&p, 11)->tag, 0);
    assert_int_equal(space_find(&p.spaces, processes_find(&p, 11)->space, 55)->object, 2);
    processes_map(&p, 11, &(struct address_map){70, 80, 0, 3, 0});
    processes_ran(&p, 11); /* only maps since the exec remain */
    assert_null(space_find(&p.spaces, processes_find(&p, 11)->space, 55));
    assert_int_equal(space_find(&p.spaces, processes_find(&p, 11)->space, 75)->object, 3);
    assert_int_equal(space_find(&p.spaces, processes_find(&p, 10)->space, 55)->object, 1);
    processes_fork(&p, 10, 10, 12, 10, false); /* a thread has only a name of its own */
    assert_str(task_name(&p, processes_task(&p, 12)), "sh");
    assert_int_equal(processes_find(&p, 12)->space, 0);
    processes_fork(&p, 13, 10, 13, 10, true); /* its maps follow as records */
    assert_str(task_name(&p, processes_task(&p, 13)), "sh");
    assert_int_equal(processes_find(&p, 13)->space, 0);
    assert_str(task_name(&p, processes_task(&p, 99)), "");
    assert_false(processes_failed(&p));
    processes_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_newest_map_wins), UNIT(test_as_a_plain_array),
        UNIT(test_many_maps),       UNIT(test_hash_differs_between_spaces),
        UNIT(test_processes),
    };
    return UNITS_RUN(units);
}
