/* SPDX-License-Identifier: Apache-2.0 */
#include "model/lock_kind.h"

/* Functions that implement locks, by the beginnings of their names without underscores, and what
 * they are for. */
static const struct lock_function {
    const char *name, *kind;
} functions[] = {
    {"pthread_mutex", "mutex"}, /* also after the wait for a condition variable */
    {"pthread_rwlock", "rwlock"},
    {"pthread_cond", "condition variable"},
    {"pthread_barrier", "barrier"},
    {"pthread_join", "end of a thread"},
    {"pthread_clockjoin", "end of a thread"},
    {"pthread_timedjoin", "end of a thread"},
    {"pthread_once", "once"},
    {"sem_", "semaphore"},
    {"new_sem_", "semaphore"},
    {"lll_mutex", "mutex"},
    {"lll_lock", ""},
    {"lll_unlock", ""},
    {"futex_", ""},
    {"syscall", ""},
    {"gthread_", ""},
    {"gthrw_", ""},
    {"std::mutex", "mutex"},
    {"std::timed_mutex", "mutex"},
    {"std::recursive_mutex", "mutex"},
    {"std::shared_mutex", "rwlock"},
    {"std::shared_timed_mutex", "rwlock"},
    {"std::condition_variable", "condition variable"},
    {"std::unique_lock", ""},
    {"std::lock_guard", ""},
    {"std::scoped_lock", ""},
    {"std::shared_lock", ""},
    {"std::counting_semaphore", "semaphore"},
    {"std::barrier", "barrier"},
    {"std::latch", "latch"},
    {"std::thread::thread::Thread>::park", "parked thread"}, /* of Rust */
    {"std::thread::Thread::park", "parked thread"},
    {"std::thread::park", "parked thread"},
    {"std::sys::sync::condvar", "condition variable"},
    {"std::sync::poison::condvar", "condition variable"},
    {"std::sync::condvar", "condition variable"},
    {"std::__", ""},    /* internals of libstdc++ and libc++ */
    {"std::sys::", ""}, /* of Rust */
    {"parking_lot::", ""},
    {"parking_lot_core::", ""},
    {"lock_api::", ""},
    {"mtx_lock", "mutex"}, /* of C11 */
    {"mtx_timedlock", "mutex"},
    {"cnd_", "condition variable"},
    {"timedwait", ""}, /* in musl */
    {"boost::mutex", "mutex"},
    {"boost::condition_variable", "condition variable"},
    {"QBasicMutex", "mutex"},
    {"QMutex", "mutex"},
    {"QReadWriteLock", "rwlock"},
    {"QWaitCondition", "condition variable"},
    {"QSemaphore", "semaphore"},
    {"g_mutex_", "mutex"},
    {"g_rec_mutex_", "mutex"},
    {"g_rw_lock_", "rwlock"},
    {"g_cond_", "condition variable"},
    {"uv_mutex_", "mutex"},
    {"uv_rwlock_", "rwlock"},
    {"uv_cond_", "condition variable"},
    {"uv_sem_", "semaphore"},
    {"uv_barrier_", "barrier"},
    {"gomp_barrier", "barrier"},
    {"gomp_team_barrier", "barrier"},
    {"gomp_mutex", "mutex"},
    {"GOMP_barrier", "barrier"},
    {"GOMP_critical", "mutex"},
    {"runtime.notesleep", "idle thread"}, /* of Go: no goroutine is ready */
    {"runtime.notetsleep", "idle thread"},
    {"runtime.lock", "mutex"},
    {"runtime.futex", ""},
    {"start_thread", ""},
    {"clone3", ""},
};

/* Kinds of which a wait is not one for the holder of a lock. */
static const char *const idle_kinds[] = {"condition variable", "semaphore",
                                         "end of a thread",    "parked thread",
                                         "idle thread",        "queue"};

/* The same for CPython, Java and Abseil, whose locks are made of semaphores and condition variables:
 * the kind is that of the innermost of these functions. Then follows what calls a function of C. */
static const struct lock_function languages[] = {
    {"take_gil", "GIL"},
    {"drop_gil", "GIL"},
    {"PyCOND_", ""},
    {"PyEval_RestoreThread", "GIL"},
    {"PyEval_SaveThread", "GIL"},
    {"PyEval_AcquireThread", "GIL"},
    {"PyGILState_Ensure", "GIL"},
    {"eval_frame_handle_pending", "GIL"},
    {"eval_breaker", "GIL"},
    {"Py_HandlePending", "GIL"},
    {"ThreadHandle_join", "end of a thread"},
    {"queue_SimpleQueue_get", "queue"},
    {"simplequeue_get", "queue"},
    {"PyMutex_", "Python lock"},
    {"PyParkingLot_", ""},
    {"PyEvent_", ""},
    {"PySemaphore_", ""},
    {"PyThread_", "Python lock"},
    {"lock_PyThread_", "Python lock"},
    {"rlock_", "Python lock"},
    {"acquire_timed", "Python lock"},
    {"method_vectorcall_", ""},
    {"cfunction_", ""},
    {"PyObject_Vectorcall", ""},
    {"PyObject_MakeTpCall", ""},
    {"PyVectorcall_", ""},
    {"absl::Mutex", "mutex"},
    {"absl::CondVar", "condition variable"},
    {"PlatformEvent::park", ""},
    {"os::PlatformEvent::park", ""},
    {"ObjectMonitor::enter", "monitor"},
    {"ObjectMonitor::Enter", "monitor"},
    {"ObjectMonitor::wait", "condition variable"},
    {"Parker::park", "parked thread"}, /* of Java */
};

/* What Java's library makes of a parked thread. The classes are searched for in the names: these
 * have several forms, as "Ljava/util/concurrent/locks/LockSupport;::park". */
static const struct lock_function java[] = {
    {"LockSupport", ""},
    {"Unsafe", ""},
    {"ConditionObject", "condition variable"},
    {"AbstractQueued", "Java lock"},
    {"ReentrantLock", "Java lock"},
    {"ReentrantReadWriteLock", "rwlock"},
    {"Semaphore", "semaphore"},
    {"CountDownLatch", "latch"},
};

/* What threading.py makes of a lock: the innermost of its functions decides. */
static const struct lock_function threading[] = {
    {"Condition.wait", "condition variable"},
    {"wait", "condition variable"}, /* before Python 3.11, without the class */
    {"Thread.join", "end of a thread"},
    {"join", "end of a thread"},
    {"Thread._wait_for_tstate_lock", "end of a thread"},
    {"_wait_for_tstate_lock", "end of a thread"},
};

/* Modules of Python's library that wait for others. */
static const char *const python_files[] = {"threading.py", "queue.py"};

static const struct lock_function *find(const struct lock_function *list, size_t count,
                                        struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_starts(name, str_of(list[i].name)))
            return &list[i];
    return NULL;
}

static bool is_python_file(const struct profile *p, const struct frame *f)
{
    struct str path = profile_string(p, f->file ? f->file : p->modules[f->module].path);
    struct str name = str_basename(path);
    for (size_t i = 0; i < sizeof python_files / sizeof *python_files; i++)
        if (str_equal(name, str_of(python_files[i])))
            return true;
    return false;
}

/* The kind of lock that a stack is about. */
struct kind {
    const char *name; /* "": not known yet */
    bool of_language; /* it is not one of the C library's */
    bool is_final;
};

/* CPython's own condition variables are only those of the GIL: the function that waits for it has
 * no name in a program without symbols. */
static bool is_of_unnamed_gil(const struct profile *p, const struct frame *f,
                              const struct kind *kind)
{
    struct str module = str_basename(profile_string(p, p->modules[f->module].path));
    return f->name == 0 && strcmp(kind->name, "condition variable") == 0 &&
           (str_starts(module, STR("python")) || str_starts(module, STR("libpython")));
}

static void refine_in_python(const struct profile *p, const struct frame *f,
                             struct kind *kind)
{
    struct str name = profile_string(p, f->name);
    for (size_t i = 0; !kind->is_final && i < sizeof threading / sizeof *threading; i++)
        if (strcmp(kind->name, "Python lock") == 0 &&
            str_equal(name, str_of(threading[i].name)))
            kind->name = threading[i].kind;
    kind->is_final = true;
}

/* Whether the frame is one of those through which Java parks a thread. A condition that was signalled
 * acquires its lock again: that wait is one for the lock. */
static bool refine_in_java(struct str name, struct kind *kind)
{
    bool parked = strcmp(kind->name, "parked thread") == 0;
    bool locked = strcmp(kind->name, "Java lock") == 0;
    if (!kind->of_language || (!parked && !locked))
        return false;
    struct str method = str_head(name, str_find(name, '('));
    for (size_t i = 0; i < sizeof java / sizeof *java; i++) {
        if (!str_has(method, str_of(java[i].name)))
            continue;
        if (java[i].kind[0] &&
            (parked || strcmp(java[i].kind, "condition variable") != 0))
            kind->name = java[i].kind;
        return true;
    }
    return false;
}

/* Without underscores, and without the prefix of functions inside of the C library. */
static struct str plain_name(const struct profile *p, const struct frame *f)
{
    struct str name = profile_string(p, f->name);
    while (str_starts(name, STR("_")))
        name = str_skip(name, 1);
    if (str_starts(name, STR("GI_")))
        name = str_skip(name, 3);
    while (str_starts(name, STR("_")) || str_starts(name, STR("<")))
        name = str_skip(name, 1);
    return name;
}

/* Whether the frame is of the implementation of a lock. Sets its kind if it is known better. */
static bool is_of_lock(const struct profile *p, const struct frame *f, struct kind *kind)
{
    struct str name = plain_name(p, f);
    const struct lock_function *found =
        find(languages, sizeof languages / sizeof *languages, name);
    if (found && found->kind[0] && !kind->of_language)
        *kind = (struct kind){found->kind, true, false};
    else if (found && strcmp(found->kind, "queue") == 0 &&
             strcmp(kind->name, "Python lock") == 0)
        kind->name = found->kind;
    if (str_starts(name, STR("rlock_acquire_restore"))) /* after the condition's wait */
        kind->is_final = true;
    if (found)
        return true;
    found = find(functions, sizeof functions / sizeof *functions, name);
    if (found && !kind->name[0])
        kind->name = found->kind;
    if (is_of_unnamed_gil(p, f, kind))
        *kind = (struct kind){"GIL", true, true};
    bool of_python = !found && is_python_file(p, f);
    if (of_python)
        refine_in_python(p, f, kind);
    return found || of_python || refine_in_java(name, kind);
}

stack_id lock_user(const struct profile *p, stack_id stack, const char **kind)
{
    struct kind found = {*kind, false, false};
    stack_id at = stack;
    for (; at; at = p->stacks[at].parent) {
        const struct frame *f = &p->frames[p->stacks[at].frame];
        if (f->kind == FRAME_KERNEL || f->kind == FRAME_MARKER || f->kind == FRAME_WAKER)
            continue;
        if (!is_of_lock(p, f, &found))
            break;
    }
    *kind = found.name;
    return at;
}

bool lock_kind_is_idle(const char *kind)
{
    for (size_t i = 0; i < sizeof idle_kinds / sizeof *idle_kinds; i++)
        if (strcmp(kind, idle_kinds[i]) == 0)
            return true;
    return false;
}
