/* SPDX-License-Identifier: Apache-2.0 */
/* When the last thread of a process has ended. */
#include "record/thread_counts.h"
#include "unit.h"

#define LIMIT 1000

static struct thread_counts counts;

static void set_up(void)
{
    assert_true(thread_counts_init(&counts, LIMIT));
}

static void test_one_thread(void **state)
{
    (void)state;
    set_up();
    assert_true(thread_counts_end(&counts, 5, 5)); /* it ran before the recording */
    thread_counts_begin(&counts, 6, 6);
    assert_true(thread_counts_end(&counts, 6, 6));
    thread_counts_deinit(&counts);
}

static void test_orders(void **state)
{
    (void)state;
    set_up();
    thread_counts_begin(&counts, 5, 6);
    thread_counts_see(&counts, 5, 6);
    thread_counts_see(&counts, 5, 7);
    assert_false(thread_counts_end(&counts, 5, 7));
    assert_false(thread_counts_end(&counts, 5, 5));
    assert_true(thread_counts_end(&counts, 5, 6));
    thread_counts_begin(&counts, 5, 5); /* the id is used again */
    thread_counts_begin(&counts, 5, 6);
    assert_false(thread_counts_end(&counts, 5, 6));
    assert_true(thread_counts_end(&counts, 5, 5));
    thread_counts_deinit(&counts);
}

/* A thread other than the main one executes a program: it gets the id of the main thread. */
static void test_exec(void **state)
{
    (void)state;
    set_up();
    thread_counts_begin(&counts, 5, 6);
    assert_false(thread_counts_end(&counts, 5, 5));
    thread_counts_exec(&counts, 5);
    thread_counts_begin(&counts, 6, 6); /* the old id of that thread */
    assert_true(thread_counts_end(&counts, 6, 6));
    assert_true(thread_counts_end(&counts, 5, 5));
    thread_counts_deinit(&counts);
}

static void test_lost_ends(void **state)
{
    (void)state;
    set_up();
    thread_counts_begin(&counts, 5, 6);
    thread_counts_begin(&counts, 7, 6); /* its end as a thread of 5 was lost */
    assert_true(thread_counts_end(&counts, 5, 5));
    assert_false(thread_counts_end(&counts, 7, 7));
    assert_true(thread_counts_end(&counts, LIMIT, LIMIT)); /* an invalid id */
    assert_false(thread_counts_end(&counts, 5, LIMIT));
    thread_counts_deinit(&counts);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_one_thread), UNIT(test_orders),
                                       UNIT(test_exec), UNIT(test_lost_ends)};
    return UNITS_RUN(units);
}
