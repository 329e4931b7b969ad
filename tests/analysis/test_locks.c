/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for locks by lock, thread and stack. */
#include "analysis/locks.h"
#include "model/builder.h"
#include "model/sample_labels.h"
#include "unit.h"

static struct builder b;
static struct profile *p;
static struct locks l;

static int begin(void **state)
{
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    return 0;
}

static int end(void **state)
{
    (void)state;
    locks_deinit(&l);
    profile_destroy(p);
    builder_deinit(&b);
    p = NULL;
    return 0;
}

/* A sample with a stack of two functions, then one of the library. */
static void add(const char *event, const char *lock, const char *thread,
                const char *function, const char *library, double ns)
{
    stack_id stack = builder_push(&b, 0, builder_named_frame(&b, STR("main")));
    struct frame waker = {.name = builder_string(&b, STR("wakes")), .kind = FRAME_WAKER};
    label_set_id labels =
        lock ? builder_label_set_add(&b, 0,
                                     builder_label_text(&b, STR("lock"), str_of(lock)))
             : 0;
    stack = builder_push(&b, stack, builder_named_frame(&b, str_of(function)));
    stack = builder_push(&b, stack, builder_named_frame(&b, str_of(library)));
    stack = builder_push(&b, stack, builder_frame(&b, &waker));
    struct sample s = {.time = TIME_NONE,
                       .cpu = CPU_NONE,
                       .thread = builder_thread(&b, 1, 2, str_of(thread)),
                       .event = builder_event(&b, str_of(event), UNIT_NANOSECONDS),
                       .stack = stack,
                       .count = 1,
                       .weight = ns};
    builder_add_labelled(&b, &s, labels);
}

static void group(void)
{
    struct error err;
    p = builder_finish(&b, &err);
    assert_non_null(p);
    assert_true(locks_init(&l, p, &err));
}

static void assert_row(uint32_t row, const char *thread, const char *function, double ns,
                       uint64_t count)
{
    const struct locks_row *r = &l.rows[row];
    assert_true(row > 0);
    assert_str(profile_string(p, r->thread), thread);
    assert_str(profile_string(p, p->frames[p->stacks[r->stack].frame].name), function);
    assert_true(r->weight == ns);
    assert_int_equal(r->count, count);
}

static void rows_are_by_thread_and_stack(void **state)
{
    (void)state;
    add("off-cpu", "small", "a", "get", "___pthread_rwlock_rdlock", 10);
    add("off-cpu", "large", "a", "get", "__GI___lll_lock_wait", 100);
    add("off-cpu", "large", "a", "get", "pthread_mutex_lock", 50);
    add("off-cpu", "large", "b", "put", "pthread_mutex_lock", 200);
    add("off-cpu", NULL, "b", "put", "read", 1000);
    add("lock-holder", "large", "b", "put", "__pthread_mutex_unlock", 300);
    add("cpu-clock", "large", "b", "put", "work", 5000);
    group();
    assert_int_equal(l.count, 3);
    assert_int_equal(l.waits, 4);
    assert_true(l.weight[LOCKS_WAITED] == 360 && l.weight[LOCKS_HELD] == 300);
    const struct locks_lock *large = &l.items[l.order[1]], *small = &l.items[l.order[2]];
    assert_string_equal(large->kind, "mutex");
    assert_string_equal(small->kind, "rwlock");
    uint32_t row = large->rows[LOCKS_WAITED];
    assert_row(row, "b", "put", 200, 1);
    assert_row(l.rows[row].next, "a", "get", 150, 2);
    assert_int_equal(l.rows[l.rows[row].next].next, 0);
    assert_row(large->rows[LOCKS_HELD], "b", "put", 300, 1);
    assert_int_equal(small->rows[LOCKS_HELD], 0);
}

static void profiles_without_locks(void **state)
{
    (void)state;
    add("off-cpu", NULL, "a", "get", "read", 10);
    group();
    assert_int_equal(l.count, 1);
}

/* Only functions of the library: the stack is unknown. */
static void stacks_without_users(void **state)
{
    (void)state;
    add("off-cpu", "x", "a", "start_thread", "futex_wait", 10);
    group();
    assert_row(l.items[1].rows[LOCKS_WAITED], "a", "main", 10, 1);
    assert_string_equal(l.items[1].kind, "");
}

/* Locks of libraries and languages, all made of futexes. */
static void locks_of_libraries(void **state)
{
    static const char *const functions[][2] = {
        {"absl::Mutex::Lock()", "mutex"},
        {"QWaitCondition::wait", "condition variable"},
        {"g_cond_wait_until", "condition variable"},
        {"uv_sem_wait", "semaphore"},
        {"<parking_lot::raw_mutex::RawMutex as lock_api::RawMutex>::lock", ""},
        {"parking_lot_core::parking_lot::park", ""},
        {"std::barrier<>::wait", "barrier"},
        {"GOMP_barrier", "barrier"},
        {"mtx_lock", "mutex"},
        {"ObjectMonitor::enter", "monitor"},
        {"<std::thread::thread::Thread>::park_timeout", "parked thread"},
    };
    size_t count = sizeof functions / sizeof *functions;
    (void)state;
    for (size_t i = 0; i < count; i++)
        add("off-cpu", functions[i][0], "t", "uses", functions[i][0], 10);
    group();
    assert_int_equal(l.count, count + 1);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(l.items[i + 1].kind, functions[i][1]);
        assert_row(l.items[i + 1].rows[LOCKS_WAITED], "t", "uses", 10, 1);
    }
}

/* CPython's locks are made of those of the C library. The functions of threading.py are part of
 * the lock: the user is their caller. */
static void locks_of_python(void **state)
{
    static const char *const inner[][2] = {
        {"lock_PyThread_acquire_lock", "sem_clockwait"},
        {"acquire_timed", "take_gil"},
    };
    static const char *const kinds[] = {"condition variable", "GIL"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        string_id file = builder_string(&b, STR("/usr/lib/python3/threading.py"));
        struct frame wait = {.name = builder_string(&b, STR("Condition.wait")),
                             .file = file,
                             .kind = FRAME_USER};
        stack_id stack = builder_push(&b, 0, builder_named_frame(&b, STR("consumer")));
        stack = builder_push(&b, stack, builder_frame(&b, &wait));
        for (size_t k = 0; k < 2; k++)
            stack = builder_push(&b, stack, builder_named_frame(&b, str_of(inner[i][k])));
        stack = builder_push(&b, stack,
                             builder_named_frame(&b, STR("pthread_cond_timedwait")));
        struct sample s = {.time = TIME_NONE,
                           .cpu = CPU_NONE,
                           .thread = builder_thread(&b, 1, 2, STR("t")),
                           .event = builder_event(&b, STR("off-cpu"), UNIT_NANOSECONDS),
                           .stack = stack,
                           .count = 1,
                           .weight = 10};
        builder_add_labelled(
            &b, &s,
            builder_label_set_add(&b, 0,
                                  builder_label_text(&b, STR("lock"), str_of(kinds[i]))));
    }
    group();
    assert_int_equal(l.count, 3);
    for (size_t i = 1; i < 3; i++) {
        struct str label = profile_string(p, p->labels[l.items[i].label].text);
        assert_str(label, l.items[i].kind);
        assert_row(l.items[i].rows[LOCKS_WAITED], "t", "consumer", 10, 1);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test_setup_teardown(rows_are_by_thread_and_stack, begin, end),
        cmocka_unit_test_setup_teardown(profiles_without_locks, begin, end),
        cmocka_unit_test_setup_teardown(stacks_without_users, begin, end),
        cmocka_unit_test_setup_teardown(locks_of_libraries, begin, end),
        cmocka_unit_test_setup_teardown(locks_of_python, begin, end),
    };
    return UNITS_RUN(units);
}
