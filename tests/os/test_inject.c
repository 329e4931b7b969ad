/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in a child of the test: it has the test's functions at the same addresses. */
#include "os/inject.h"
#include "os/wait.h"
#include "unit.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__

__asm__(".text\n"
        ".type inject_system_call, @function\n"
        "inject_system_call:\n\t"
        "syscall\n\t"
        "ret\n\t"
        ".size inject_system_call, . - inject_system_call");
extern char inject_system_call[];

static volatile unsigned calls;

static uint64_t add(uint64_t first, uint64_t second)
{
    calls++;
    errno = EDOM;
    return first + second;
}

static uint64_t length(const char *text, uint64_t unused)
{
    (void)unused;
    return strlen(text);
}

static uint64_t is_open(uint64_t fd, uint64_t unused)
{
    (void)unused;
    return lseek((int)fd, 0, SEEK_CUR) == 0;
}

static uint64_t end(uint64_t status, uint64_t unused)
{
    (void)unused;
    _exit((int)status);
}

struct child {
    pid_t pid;
    int to; /* a byte ends it */
    struct os_stopped stopped;
    struct os_injection injection;
};

/* The exit status says how often `add` was called; 90: something has changed. */
static void run_child(int from)
{
    char byte = 0;
    errno = EXDEV;
    bool is_same = read(from, &byte, 1) == 1 && byte == 'x' && errno == EXDEV;
    _exit(is_same ? (int)calls : 90);
}

/* Starts a child, and stops it in its system call. False without permission. */
static bool start(struct child *c)
{
    struct error err = {.location = LOCATION_NONE};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    calls = 0;
    c->pid = fork();
    assert_true(c->pid >= 0);
    if (c->pid == 0) {
        close(ends[1]);
        run_child(ends[0]);
    }
    close(ends[0]);
    c->to = ends[1];
    while (os_thread_state(c->pid, c->pid).letter != 'S' ||
           os_thread_state(c->pid, c->pid).call != 0) /* read */
        os_sleep(1);
    if (os_stop_thread(&c->stopped, c->pid, &err) == OS_STOPPED)
        return true;
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->to);
    return false;
}

static void begin(struct child *c)
{
    struct error err = {.location = LOCATION_NONE};
    const struct os_inject_code code = {
        .system_call = (uint64_t)(uintptr_t)inject_system_call,
        .errno_location = (uint64_t)(uintptr_t)__errno_location};
    if (!start(c))
        skip();
    if (!os_inject_begin(&c->injection, &c->stopped, &code, &err))
        fail_msg("%s", err.message);
}

static int status_of(struct child *c)
{
    int status = 0;
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    close(c->to);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static uint64_t call(struct child *c, uint64_t (*function)(uint64_t, uint64_t),
                     uint64_t first, uint64_t second)
{
    struct error err = {.location = LOCATION_NONE};
    uint64_t result = 0;
    if (!os_inject_call(&c->injection, (uint64_t)(uintptr_t)function, first, second,
                        &result, &err))
        fail_msg("%s", err.message);
    return result;
}

/* Its system call continues afterwards, and errno is as before. */
static void test_calls(void **state)
{
    struct child c;
    (void)state;
    begin(&c);
    assert_int_equal(call(&c, add, 2, 3), 5);
    assert_int_equal(call(&c, add, UINT64_MAX, 2), 1);
    os_inject_end(&c.injection);
    assert_int_equal(write(c.to, "x", 1), 1);
    assert_int_equal(status_of(&c), 2);
}

static void test_text_and_file(void **state)
{
    struct child c;
    struct error err = {.location = LOCATION_NONE};
    uint64_t address = 0;
    int64_t fd = -1;
    (void)state;
    begin(&c);
    assert_true(os_inject_text(&c.injection, "hello", &address, &err));
    assert_int_equal(
        call(&c, (uint64_t(*)(uint64_t, uint64_t))(void (*)(void))length, address, 0), 5);
    assert_true(os_inject_memory_file(&c.injection, &fd, &err));
    assert_true(fd >= 0);
    assert_int_equal(call(&c, is_open, (uint64_t)fd, 0), 1);
    os_inject_close(&c.injection, fd);
    assert_int_equal(call(&c, is_open, (uint64_t)fd, 0), 0);
    os_inject_end(&c.injection);
    assert_int_equal(write(c.to, "x", 1), 1);
    assert_int_equal(status_of(&c), 0);
}

/* A signal that arrives meanwhile is delivered at the end. */
static void test_signal(void **state)
{
    struct child c;
    int status = 0;
    (void)state;
    begin(&c);
    kill(c.pid, SIGTERM);
    assert_int_equal(call(&c, add, 4, 5), 9);
    os_inject_end(&c.injection);
    assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
    close(c.to);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void test_process_that_ends(void **state)
{
    struct child c;
    struct error err = {.location = LOCATION_NONE};
    uint64_t result;
    (void)state;
    begin(&c);
    assert_false(
        os_inject_call(&c.injection, (uint64_t)(uintptr_t)end, 3, 0, &result, &err));
    assert_true(err.message[0] != 0);
    os_inject_end(&c.injection);
    close(c.to);
    /* waiting for the thread has waited for the child, too */
    assert_true(waitpid(c.pid, NULL, 0) == -1 && errno == ECHILD);
}

#else

static void test_calls(void **state)
{
    (void)state;
    skip();
}
#define test_text_and_file test_calls
#define test_signal test_calls
#define test_process_that_ends test_calls

#endif

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_calls), UNIT(test_text_and_file),
                                       UNIT(test_signal), UNIT(test_process_that_ends)};
    return UNITS_RUN(units);
}
