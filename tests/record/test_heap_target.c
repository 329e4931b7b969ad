/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes a heap recording can be attached to. */
#include "base/heap_format.h"
#include "os/wait.h"
#include "record/heap_target.h"
#include "unit.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start_child(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    while (child == 0)
        pause();
    return child;
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static bool is_in(const struct heap_range *r, uint64_t address)
{
    return address >= r->start && address < r->end;
}

#ifdef __x86_64__

/* The child has the C library where this process has it. */
static void test_functions(void **state)
{
    struct heap_target t;
    struct error err = {.location = LOCATION_NONE};
    pid_t child = start_child();
    char code[2] = "";
    (void)state;
    bool ok = heap_target_examine(&t, (uint32_t)child, &err);
    if (ok)
        (void)os_process_read(child, t.code.system_call, code, sizeof code);
    end_child(child);
    if (!ok)
        fail_msg("%s", err.message);
    assert_int_equal(t.pid, child);
    assert_true(is_in(&t.libc, (uint64_t)(uintptr_t)strtoul));
    assert_true(is_in(&t.libc, t.open) && is_in(&t.libc, t.error_text));
    assert_true(is_in(&t.libc, t.code.errno_location));
    assert_true(is_in(&t.libc, t.code.system_call));
    assert_memory_equal(code, "\x0f\x05", 2);
    assert_true(t.linker.end > t.linker.start && t.library.end == 0);
    assert_int_equal(t.guarded_count, 2);
}

/* A thread that sleeps in pause(2) may be used. */
static void test_stop(void **state)
{
    struct heap_target t;
    struct os_stopped stopped;
    struct error err = {.location = LOCATION_NONE};
    pid_t child = start_child();
    (void)state;
    while (os_thread_state(child, child).letter != 'S')
        os_sleep(1);
    bool ok = heap_target_examine(&t, (uint32_t)child, &err) &&
              heap_target_stop(&t, &stopped, &err);
    if (ok)
        os_resume(&stopped);
    end_child(child);
    if (!ok && strstr(err.message, "ermi"))
        skip(); /* without the permission to trace */
    if (!ok)
        fail_msg("%s", err.message);
    assert_int_equal(stopped.tid, child);
}

#else

static void test_functions(void **state)
{
    (void)state;
    skip();
}
#define test_stop test_functions

#endif

static void assert_refused(uint32_t pid, const char *why)
{
    struct heap_target t;
    struct error err = {.location = LOCATION_NONE};
    assert_false(heap_target_examine(&t, pid, &err));
    if (!strstr(err.message, why))
        fail_msg("'%s' instead of '%s'", err.message, why);
}

static void test_refused(void **state)
{
    pid_t child = start_child();
    (void)state;
    assert_refused((uint32_t)getpid(), "stoke cannot record its own heap");
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
    assert_refused((uint32_t)child, "is stopped");
    end_child(child);
    assert_refused((uint32_t)child, "no process");
}

static void test_library(void **state)
{
    struct heap_library l;
    struct error err = {.location = LOCATION_NONE};
    (void)state;
    assert_false(heap_library_read(&l, "/proc/self/exe", &err));
    assert_non_null(strstr(err.message, "another version"));
    assert_false(heap_library_read(&l, "/no/such/file", &err));
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_functions), UNIT(test_stop),
                                       UNIT(test_refused), UNIT(test_library)};
    return UNITS_RUN(units);
}
