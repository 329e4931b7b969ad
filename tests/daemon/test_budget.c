/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of sampling follows the budget. */
#include "daemon/budget.h"
#include "unit.h"

#define SECOND UINT64_C(1000000000)

/* A daemon with these costs, in cores: without samples, and for each sample per second. */
struct played {
    double fixed, each;
    uint64_t memory;
    struct daemon_cost cost;
    unsigned changes;
};

static void play(struct daemon_budget *b, struct played *p, unsigned windows)
{
    for (unsigned i = 0; i < windows; i++) {
        p->cost.time += 10 * SECOND;
        p->cost.cpu += (uint64_t)((p->fixed + p->each * b->rate) * 10 * (double)SECOND);
        p->cost.memory = p->memory;
        p->changes += daemon_budget_check(b, &p->cost);
    }
}

static double cores(const struct daemon_budget *b, const struct played *p)
{
    return p->fixed + p->each * b->rate;
}

static void without_limits_the_rate_stays(void **state)
{
    const struct daemon_limits none = {0, 0};
    struct played p = {.fixed = 5, .memory = UINT64_MAX};
    struct daemon_budget b;
    (void)state;
    daemon_budget_init(&b, &none, 19);
    play(&b, &p, 10);
    assert_int_equal(b.rate, 19);
}

static void cpu_time_is_held_and_the_rate_rises_again(void **state)
{
    const struct daemon_limits limits = {.cpu = 0.005};
    struct played p = {.fixed = 0.0012, .each = 0.0001};
    struct daemon_budget b;
    (void)state;
    daemon_budget_init(&b, &limits, 99);
    play(&b, &p, 30);
    assert_true(cores(&b, &p) <= 0.005);
    assert_true(cores(&b, &p) >= 0.003);
    p.changes = 0;
    play(&b, &p, 100);
    assert_int_equal(p.changes, 0); /* it does not swing */

    /* the load ends: the rate rises to what was requested, and stays */
    p.each = 0.00001;
    play(&b, &p, 40);
    assert_int_equal(b.rate, 99);
}

static void a_budget_below_the_fixed_cost_is_the_least_rate(void **state)
{
    const struct daemon_limits limits = {.cpu = 0.0001};
    struct played p = {.fixed = 0.001, .each = 0.0001};
    struct daemon_budget b;
    (void)state;
    daemon_budget_init(&b, &limits, 10000);
    play(&b, &p, 60);
    assert_int_equal(b.rate, 1);
    p.changes = 0;
    play(&b, &p, 20);
    assert_int_equal(p.changes, 0);
}

static void memory_is_held(void **state)
{
    const struct daemon_limits limits = {.memory = 64 << 20};
    struct played p = {.memory = 80 << 20};
    struct daemon_budget b;
    (void)state;
    daemon_budget_init(&b, &limits, 100);
    play(&b, &p, 4);
    assert_true(b.rate < 100);
    uint32_t low = b.rate;
    p.memory = 60 << 20; /* no room to rise */
    play(&b, &p, 10);
    assert_int_equal(b.rate, low);
    p.memory = 20 << 20;
    play(&b, &p, 40);
    assert_int_equal(b.rate, 100);
}

static void the_start_and_short_windows_do_not_count(void **state)
{
    const struct daemon_limits limits = {.cpu = 0.01};
    struct played p = {.each = 0.0001};
    struct daemon_budget b;
    (void)state;
    daemon_budget_init(&b, &limits, 50);
    p.cost.cpu = 100 * SECOND; /* of the start */
    play(&b, &p, 3);
    assert_int_equal(b.rate, 50);
    p.cost.time += SECOND / 10;
    p.cost.cpu += SECOND;
    assert_false(daemon_budget_check(&b, &p.cost));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_limits_the_rate_stays),
        cmocka_unit_test(cpu_time_is_held_and_the_rate_rises_again),
        cmocka_unit_test(a_budget_below_the_fixed_cost_is_the_least_rate),
        cmocka_unit_test(memory_is_held),
        cmocka_unit_test(the_start_and_short_windows_do_not_count)};
    return cmocka_run_group_tests_name("daemon/budget", tests, NULL, NULL);
}
