/* SPDX-License-Identifier: Apache-2.0 */
/* A restricted thread, and those that it starts, cannot execute programs; it still reads files. */
#include "os/restriction.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXECUTES = 1, TRACES = 2, CANNOT_READ = 4 };

static void *attempt(void *context)
{
    char *words[] = {(char[]){"true"}, NULL};
    int *found = context;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        *found |= CANNOT_READ;
    else
        close(fd);
    if (execv("/bin/true", words) == 0 || errno != EPERM)
        *found |= EXECUTES;
    if (syscall(SYS_ptrace, 0, 0, 0, 0) == 0 || errno != EPERM)
        *found |= TRACES;
    return NULL;
}

static void run_restricted(void)
{
    pthread_t thread;
    int found = 0;
    os_thread_restrict();
    attempt(&found);
    if (pthread_create(&thread, NULL, attempt, &found) != 0)
        _exit(64);
    pthread_join(thread, NULL);
    _exit(found);
}

static void test_restriction(void **state)
{
    int status = 0;
    (void)state;
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
        skip(); /* this kernel has no filters */
    pid_t child = fork();
    if (child == 0)
        run_restricted();
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest units[] = {cmocka_unit_test(test_restriction)};
    return UNITS_RUN(units);
}
