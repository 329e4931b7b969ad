/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of lock that a stack waits for. */
#include "model/builder.h"
#include "model/lock_kind.h"
#include "unit.h"

/* A stack: functions from the outermost to the innermost; "name@module" has a module, and "@module"
 * no name. */
struct wait {
    const char *functions[8];
    const char *kind;
    bool idle;
};

static const struct wait waits[] = {
    {{"main", "pthread_mutex_lock", "futex_wait"}, "mutex", false},
    {{"main", "pthread_cond_wait", "futex_wait"}, "condition variable", true},
    {{"main", "pthread_cond_wait", "__pthread_mutex_cond_lock", "futex_wait"},
     "mutex",
     false},
    {{"main", "sem_wait", "__new_sem_wait_slow64.constprop.0"}, "semaphore", true},
    {{"main", "___pthread_rwlock_rdlock"}, "rwlock", false},
    {{"main", "__pthread_clockjoin_ex"}, "end of a thread", true},
    {{"main", "std::condition_variable::wait", "pthread_cond_wait"},
     "condition variable",
     true},
    {{"main", "absl::Mutex::Lock()", "pthread_cond_wait"}, "mutex", false},
    {{"main", "take_gil", "PyCOND_TIMEDWAIT", "pthread_cond_timedwait"}, "GIL", false},
    {{"f", "@python3.12", "pthread_cond_timedwait"}, "GIL", false},
    {{"f", "@tool", "pthread_cond_timedwait"}, "condition variable", true},
    {{"f", "lock_PyThread_acquire_lock", "sem_clockwait"}, "Python lock", false},
    {{"f", "Condition.wait@threading.py", "lock_PyThread_acquire_lock", "sem_clockwait"},
     "condition variable",
     true},
    {{"f", "wait@threading.py", "lock_PyThread_acquire_lock", "sem_clockwait"},
     "condition variable",
     true},
    {{"f", "Condition.wait@threading.py", "rlock_acquire_restore",
      "PyThread_acquire_lock_timed", "sem_clockwait"},
     "Python lock",
     false},
    {{"f", "Condition.wait@threading.py", "Condition._acquire_restore@threading.py",
      "lock_PyThread_acquire_lock", "sem_clockwait"},
     "Python lock",
     false},
    {{"f", "_queue_SimpleQueue_get_impl", "PyThread_acquire_lock_timed", "sem_clockwait"},
     "queue",
     true},
    {{"f", "_queue_SimpleQueue_get_impl", "PyThread_acquire_lock_timed",
      "PyEval_RestoreThread", "take_gil", "pthread_cond_timedwait"},
     "GIL",
     false},
    {{"f", "Thread._wait_for_tstate_lock@threading.py", "lock_PyThread_acquire_lock",
      "sem_clockwait"},
     "end of a thread",
     true},
    {{"f", "ObjectMonitor::enter", "os::PlatformEvent::park", "pthread_cond_wait"},
     "monitor",
     false},
    {{"f", "ObjectMonitor::wait", "os::PlatformEvent::park", "pthread_cond_wait"},
     "condition variable",
     true},
    {{"f", "Interpreter", "Unsafe_Park", "Parker::park(bool, long)", "pthread_cond_wait"},
     "parked thread",
     true},
    {{"java.util.concurrent.ForkJoinPool.awaitWork",
      "java.util.concurrent.locks.LockSupport.park", "jdk.internal.misc.Unsafe.park",
      "Unsafe_Park", "Parker::park", "pthread_cond_wait"},
     "parked thread",
     true},
    {{"Lapp/Table;::put", "Ljava/util/concurrent/locks/ReentrantLock;::lock",
      "Ljava/util/concurrent/locks/AbstractQueuedSynchronizer;::acquire",
      "Ljava/util/concurrent/locks/LockSupport;::park", "Unsafe_Park", "Parker::park",
      "pthread_cond_wait"},
     "Java lock",
     false},
    {{"Ljava/util/concurrent/LinkedBlockingQueue;::take",
      "Ljava/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject;::await",
      "Ljava/util/concurrent/locks/LockSupport;::park", "Unsafe_Park", "Parker::park",
      "pthread_cond_wait"},
     "condition variable",
     true},
    {{"void app.Queue.take()",
      "void "
      "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await()",
      "int java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire(int)",
      "void java.util.concurrent.locks.LockSupport.park(java.lang.Object)", "Unsafe_Park",
      "Parker::park", "pthread_cond_wait"},
     "Java lock",
     false},
    {{"void app.Pool.take(java.util.concurrent.locks.ReentrantLock)",
      "void java.util.concurrent.Semaphore.acquire()",
      "void java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire(int)",
      "void java.util.concurrent.locks.LockSupport.park(java.lang.Object)", "Unsafe_Park",
      "Parker::park", "pthread_cond_wait"},
     "semaphore",
     true},
    {{"void app.Pool.take(java.util.concurrent.locks.ReentrantLock)", "Unsafe_Park",
      "Parker::park", "pthread_cond_wait"},
     "parked thread",
     true},
    {{"runtime.mPark", "runtime.notesleep", "runtime.futexsleep", "runtime.futex"},
     "idle thread",
     true},
    {{"runtime.x", "runtime.lock2", "runtime.futexsleep", "runtime.futex"},
     "mutex",
     false},
    {{"main", "syscall"}, "", false},
};

static stack_id push(struct builder *b, stack_id stack, const char *text)
{
    const char *at = strchr(text, '@');
    struct str name = at ? (struct str){text, (size_t)(at - text)} : str_of(text);
    struct frame frame = {.kind = FRAME_USER};
    if (name.len)
        frame.name = builder_string(b, name);
    if (at)
        frame.module = builder_module(b, str_of(at + 1), STR(""));
    return builder_push(b, stack, builder_frame(b, &frame));
}

static void test_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        struct builder b;
        assert_true(builder_init(&b, BUILD_COUNT));
        stack_id stack = 0;
        for (size_t k = 0; k < 8 && waits[i].functions[k]; k++)
            stack = push(&b, stack, waits[i].functions[k]);
        const char *kind = "";
        lock_user(b.profile, stack, &kind);
        if (strcmp(kind, waits[i].kind) != 0)
            fail_msg("wait %zu: '%s', not '%s'", i, kind, waits[i].kind);
        assert_int_equal(lock_kind_is_idle(kind), waits[i].idle);
        builder_deinit(&b);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_kinds)};
    return UNITS_RUN(units);
}
