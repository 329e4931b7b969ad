/* The reason of a wait, found by the names of functions. */
#include "import/perf_data/wait_reason.h"
#include "unit.h"

static void assert_reason(const char *function, enum frame_kind kind,
                          const char *expected)
{
    struct str got = wait_reason_of(str_of(function), kind);
    if (!str_equal(got, str_of(expected)))
        fail_msg("%s: '%.*s', not '%s'", function, STR_ARG(got), expected);
}

static void test_kernel(void **state)
{
    (void)state;
    assert_reason("do_nanosleep", FRAME_KERNEL, "[sleep]");
    assert_reason("futex_wait.isra.0", FRAME_KERNEL, "[lock]");
    assert_reason("__mutex_lock.constprop.0", FRAME_KERNEL, "[lock]");
    assert_reason("anon_pipe_read", FRAME_KERNEL, "[io]");
    assert_reason("io_schedule", FRAME_KERNEL, "[io]");
    assert_reason("exit_to_user_mode_loop", FRAME_KERNEL, "[preempted]");
    assert_reason("schedule", FRAME_KERNEL, "");
    assert_reason("schedule_timeout", FRAME_KERNEL, "");
    assert_reason("read", FRAME_KERNEL, "");
    assert_reason("", FRAME_KERNEL, "");
}

/* Functions of a program may have the same prefixes as those of the C library. */
static void test_user(void **state)
{
    (void)state;
    assert_reason("read", FRAME_USER, "[io]");
    assert_reason("read@GLIBC_2.2.5", FRAME_USER, "[io]");
    assert_reason("clock_nanosleep@@GLIBC_2.17", FRAME_USER, "[sleep]");
    assert_reason("__lll_lock_wait", FRAME_USER, "[lock]");
    assert_reason("sched_yield", FRAME_USER, "[preempted]");
    assert_reason("reader", FRAME_USER, "");
    assert_reason("pollute", FRAME_USER, "");
    assert_reason("do_nanosleep", FRAME_USER, "");
    assert_reason("", FRAME_USER, "");
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_kernel), UNIT(test_user)};
    return UNITS_RUN(units);
}
