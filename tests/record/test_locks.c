/* SPDX-License-Identifier: Apache-2.0 */
/* Who makes threads wait for a lock: the time is divided among its holders. */
#include "record/locks.h"
#include "unit.h"

#define PID 4194300 /* no process has it */
#define LOCK 0x5000
#define OTHER 0x6000
enum { WAIT = 0, WAKE = 1, FD = 2, WAIT_BITSET = 9 | 256 };

static struct record_locks locks;

static int begin(void **state)
{
    (void)state;
    assert_true(record_locks_init(&locks, 4194304));
    return 0;
}

static int end(void **state)
{
    (void)state;
    record_locks_deinit(&locks);
    return 0;
}

static void waits(uint32_t tid, uint64_t address, uint64_t time)
{
    record_locks_call(&locks, tid, address, WAIT_BITSET);
    record_locks_wait(&locks, PID, tid, time);
}

static uint64_t wakes(uint32_t tid, uint32_t woken, uint64_t address, uint64_t time)
{
    struct record_lock_wait lock;
    record_locks_call(&locks, tid, address, WAKE);
    uint64_t blocked = record_locks_wake(&locks, tid, woken, time, &lock);
    record_locks_return(&locks, tid);
    if (blocked)
        assert_int_equal(lock.address, address);
    return blocked;
}

static void resumes(uint32_t tid, uint64_t address, uint64_t time)
{
    assert_int_equal(record_locks_resume(&locks, tid, time).address, address);
    record_locks_return(&locks, tid);
}

/* 1 holds the lock; 2 and 3 wait; each is charged with what it held, for both. */
static void time_is_divided(void **state)
{
    (void)state;
    waits(2, LOCK, 100);
    waits(3, LOCK, 130);
    assert_int_equal(wakes(1, 2, LOCK, 150), 50 + 20);
    resumes(2, LOCK, 160); /* nobody held it: 10 of 3's wait */
    assert_int_equal(wakes(2, 3, LOCK, 200), 40);
    resumes(3, LOCK, 201);
    assert_int_equal(wakes(3, 2, LOCK, 300), 0); /* it does not wait */
}

static void locks_are_apart(void **state)
{
    (void)state;
    waits(2, LOCK, 100);
    waits(3, OTHER, 110);
    assert_int_equal(wakes(1, 3, OTHER, 150), 40);
    assert_int_equal(wakes(1, 2, LOCK, 160), 60);
    resumes(3, OTHER, 170);
    resumes(2, LOCK, 170);
    assert_int_equal(locks.count, 2);
}

/* A timeout is no release: what the other one waits is charged to the next holder. */
static void timeouts_are_no_release(void **state)
{
    struct record_lock_wait lock;
    (void)state;
    waits(2, LOCK, 100);
    waits(3, LOCK, 100);
    assert_int_equal(record_locks_wake(&locks, 9, 2, 150, &lock), 0);
    resumes(2, LOCK, 151);
    assert_int_equal(wakes(1, 3, LOCK, 160), 50 + 60);
    resumes(3, LOCK, 161);
}

static void other_calls_are_no_waits(void **state)
{
    (void)state;
    record_locks_call(&locks, 2, LOCK, FD);
    record_locks_wait(&locks, PID, 2, 100);
    resumes(2, 0, 110);
    record_locks_call(&locks, 2, LOCK, WAIT);
    record_locks_return(&locks, 2);
    record_locks_wait(&locks, PID, 2, 120); /* for something else */
    resumes(2, 0, 130);
    record_locks_wait(&locks, PID, 0, 120);
    record_locks_call(&locks, UINT32_MAX, LOCK, WAIT);
    record_locks_wait(&locks, PID, UINT32_MAX, 120);
    assert_int_equal(locks.count, 0);
}

/* Lost records: a wait without its end, an end without its wake-up; a task that ends. */
static void lost_records(void **state)
{
    (void)state;
    waits(2, LOCK, 100);
    waits(2, LOCK, 200);
    assert_int_equal(locks.items[1].waiting, 1);
    resumes(2, LOCK, 250);
    assert_int_equal(locks.items[1].waiting, 0);
    waits(3, LOCK, 300);
    record_locks_forget(&locks, 3, 310);
    assert_int_equal(locks.items[1].waiting, 0);
    resumes(3, 0, 320);
    assert_int_equal(wakes(1, 3, LOCK, 330), 0);
}

/* Other code than files is ignored; the number of mappings is limited. */
static void code_is_limited(void **state)
{
    (void)state;
    record_locks_map(&locks, PID, 0x1000, 0, STR("//anon"));
    record_locks_map(&locks, PID, 0x1000, 0, STR("[vdso]"));
    for (uint64_t i = 0; i < 5000; i++)
        record_locks_map(&locks, PID, 0x1000 * i, 0, STR("/no/such/file"));
    waits(2, 0x2000, 100); /* without a name */
    resumes(2, 0x2000, 110);
    assert_int_equal(locks.items[1].name.len, 0);
    record_locks_exec(&locks, PID);
    record_locks_exec(&locks, 0);
    assert_null(locks.calls[PID].code);
    assert_false(locks.failed);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test_setup_teardown(time_is_divided, begin, end),
        cmocka_unit_test_setup_teardown(locks_are_apart, begin, end),
        cmocka_unit_test_setup_teardown(timeouts_are_no_release, begin, end),
        cmocka_unit_test_setup_teardown(other_calls_are_no_waits, begin, end),
        cmocka_unit_test_setup_teardown(lost_records, begin, end),
        cmocka_unit_test_setup_teardown(code_is_limited, begin, end),
    };
    return UNITS_RUN(units);
}
