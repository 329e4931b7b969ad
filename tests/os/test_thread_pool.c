/* SPDX-License-Identifier: Apache-2.0 */
#include "os/thread_pool.h"
#include "unit.h"
#include <stdlib.h>

#define TASKS 500
#define WORKERS 5

/* Adds numbers: each worker has its own sum, which only it may change. */
struct addition {
    struct pool_task task;
    uint64_t *sums; /* by worker */
    uint64_t number;
    unsigned worker, workers, times;
};

static void add(struct pool_task *e, unsigned worker)
{
    struct addition *a = (struct addition *)(void *)e;
    volatile uint64_t work = 0; /* long enough for other workers to interfere */
    for (unsigned i = 0; i < 200; i++)
        work = work + i;
    a->worker = worker;
    a->times++;
    if (worker < a->workers)
        a->sums[worker] += a->number;
}

static void run(unsigned workers, size_t window)
{
    struct os_thread_pool *c = os_thread_pool_create(workers);
    assert_non_null(c);
    struct thread_pool pool = os_thread_pool_interface(c);
    uint64_t sums[WORKERS] = {0}, all = 0;
    struct addition *a = calloc(TASKS, sizeof *a);
    assert_non_null(a);
    assert_int_equal(pool.workers, workers);
    for (size_t i = 0; i < TASKS + window; i++) {
        if (i < TASKS) {
            a[i] = (struct addition){{.work = add, .can_wait = i % 7 == 0},
                                     .sums = sums,
                                     .number = i,
                                     .workers = workers};
            thread_pool_start(&pool, &a[i].task);
        }
        if (i >= window) /* in the order of their start */
            thread_pool_finish(&pool, &a[i - window].task);
    }
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(a[i].times, 1);
        assert_true(a[i].worker < workers);
        assert_int_equal(a[i].task.state, TASK_IDLE);
    }
    for (size_t i = 0; i < WORKERS; i++)
        all += sums[i];
    assert_int_equal(all, TASKS * (TASKS - 1) / 2);
    free(a);
    os_thread_pool_destroy(c);
}

static void test_each_task_runs_once(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= WORKERS; workers++)
        for (size_t window = 0; window <= 64; window = window * 4 + 1)
            run(workers, window);
}

static void test_newest_first(void **state)
{
    struct os_thread_pool *c = os_thread_pool_create(3);
    struct thread_pool pool = os_thread_pool_interface(c);
    struct addition a[40];
    uint64_t sums[3] = {0};
    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        a[i] = (struct addition){{.work = add}, .sums = sums, .number = 1, .workers = 3};
        thread_pool_start(&pool, &a[i].task);
    }
    for (unsigned i = 40; i-- > 0;)
        thread_pool_finish(&pool, &a[i].task);
    assert_int_equal(sums[0] + sums[1] + sums[2], 40);
    os_thread_pool_destroy(c);
}

/* A single worker waits until a task is finished. */
static void test_alone(void **state)
{
    struct os_thread_pool *c = os_thread_pool_create(1);
    struct thread_pool pool = os_thread_pool_interface(c);
    uint64_t sum = 0;
    struct addition a = {{.work = add}, .sums = &sum, .number = 1, .workers = 1};
    (void)state;
    thread_pool_start(&pool, &a.task);
    assert_int_equal(sum, 0);
    thread_pool_finish(&pool, &a.task);
    assert_int_equal(sum, 1);
    thread_pool_start(NULL, &a.task);
    thread_pool_finish(NULL, &a.task);
    assert_int_equal(sum, 2);
    assert_int_equal(thread_pool_workers(NULL), 1);
    os_thread_pool_destroy(c);
    os_thread_pool_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_each_task_runs_once),
        UNIT(test_newest_first),
        UNIT(test_alone),
    };
    return UNITS_RUN(units);
}
