/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose mappings cannot be read does not delay the caller. */
#include "os/machine.h"
#include "os/proc.h"
#include "os/process_probe.h"
#include "os/thread.h"
#include "unit.h"
#include <unistd.h>

#define LOCKED 2 /* the process whose mappings are locked, in this test */

static struct os_lock locked;
static int reads; /* atomic */

size_t __real_os_process_code(uint32_t pid, uint32_t tid,
                              void (*each)(void *context, const struct os_code *code),
                              void *context);
size_t __wrap_os_process_code(uint32_t pid, uint32_t tid,
                              void (*each)(void *context, const struct os_code *code),
                              void *context);

size_t __wrap_os_process_code(uint32_t pid, uint32_t tid,
                              void (*each)(void *context, const struct os_code *code),
                              void *context)
{
    __atomic_fetch_add(&reads, 1, __ATOMIC_RELAXED);
    if (pid != LOCKED)
        return __real_os_process_code(pid, tid, each, context);
    os_lock_acquire(&locked);
    os_lock_release(&locked);
    return 0;
}

/* On a busy machine, the thread may need more than one question's time. */
static bool answers_soon(struct os_process_probe *p, uint32_t pid)
{
    uint64_t until = os_clock_monotonic() + (uint64_t)60 * 1000000000;
    while (!os_process_probe_answers(p, pid))
        if (os_clock_monotonic() > until)
            return false;
    return true;
}

static void test_answers(void **state)
{
    (void)state;
    struct os_process_probe *p = os_process_probe_start();
    assert_non_null(p);
    assert_true(answers_soon(p, (uint32_t)getpid()));
    assert_true(answers_soon(p, UINT32_MAX)); /* there is none */
    os_process_probe_stop(p);
    assert_true(os_process_probe_answers(p, (uint32_t)getpid()));
    os_process_probe_destroy(p);
}

static void test_locked(void **state)
{
    (void)state;
    struct os_process_probe *p = os_process_probe_start();
    assert_non_null(p);
    assert_true(os_lock_init(&locked));
    os_lock_acquire(&locked);
    reads = 0;
    assert_false(os_process_probe_answers(p, LOCKED));
    for (int i = 0; i < 1000; i++) /* the thread still waits */
        assert_false(os_process_probe_answers(p, (uint32_t)getpid()));
    assert_true(__atomic_load_n(&reads, __ATOMIC_RELAXED) <= 1);
    os_lock_release(&locked);
    assert_true(answers_soon(p, (uint32_t)getpid()));
    assert_true(answers_soon(p, LOCKED));
    os_process_probe_destroy(p);
    os_lock_deinit(&locked);
}

static void test_without_thread(void **state)
{
    (void)state;
    assert_true(os_process_probe_answers(NULL, (uint32_t)getpid()));
    os_process_probe_stop(NULL);
    os_process_probe_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_answers), UNIT(test_locked),
                                       UNIT(test_without_thread)};
    return UNITS_RUN(units);
}
