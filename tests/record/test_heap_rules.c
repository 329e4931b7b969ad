/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of unwind rules: what is added is found, in its space only, and a full bucket loses
 * the rule of the oldest space. */
#include "record/heap_rules.h"
#include "unit.h"
#include <stdlib.h>

static struct heap_rule *rules;

static int make(void **state)
{
    (void)state;
    rules = calloc(HEAP_RULES, sizeof *rules);
    return rules ? 0 : -1;
}

static int release(void **state)
{
    (void)state;
    free(rules);
    return 0;
}

static void add(uint64_t address, uint64_t space)
{
    struct unwind_rule rule = {.cfa = CFA_SP, .cfa_offset = (int32_t)address};
    heap_rules_add(rules, address, space, &rule);
}

static void rules_belong_to_a_space(void **state)
{
    (void)state;
    add(0x1000, 5);
    assert_true(heap_rules_have(rules, 0x1000, 5));
    assert_false(heap_rules_have(rules, 0x1000, 6));
    assert_false(heap_rules_have(rules, 0x1001, 5));
    const struct heap_rule *bucket = rules + heap_rule_bucket(0x1000, 5);
    assert_int_equal(bucket->rule.cfa_offset, 0x1000);
}

static void address_0_has_no_rule(void **state)
{
    (void)state;
    add(0, 7);
    for (size_t i = 0; i < HEAP_RULES; i++)
        assert_int_equal(rules[i].space, 0);
}

static void the_oldest_space_is_replaced(void **state)
{
    uint64_t address = 0x2000, same[HEAP_BUCKET + 1];
    size_t count = 0;
    (void)state;
    /* addresses of one bucket, in space 3; the second one in space 2 */
    uint64_t bucket = heap_rule_bucket(address, 3);
    for (; count <= HEAP_BUCKET; address++)
        if (heap_rule_bucket(address, count == 1 ? 2 : 3) == bucket)
            same[count++] = address;
    for (size_t i = 0; i < count; i++)
        add(same[i], i == 1 ? 2 : 3);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(heap_rules_have(rules, same[i], i == 1 ? 2 : 3), i != 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules_belong_to_a_space, make, release),
        cmocka_unit_test_setup_teardown(address_0_has_no_rule, make, release),
        cmocka_unit_test_setup_teardown(the_oldest_space_is_replaced, make, release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
