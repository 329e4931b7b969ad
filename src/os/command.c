/* SPDX-License-Identifier: Apache-2.0 */
#include "os/command.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* posix_spawnp takes char *const *, but does not modify the words. */
union words {
    const char *const *given;
    char *const *taken;
};

static bool spawn(const char *const *argv, int to, pid_t *pid, struct error *err)
{
    posix_spawn_file_actions_t actions;
    union words words = {.given = argv};
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return error_memory(err);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    failed = posix_spawnp(pid, argv[0], &actions, NULL, words.taken, environ);
    posix_spawn_file_actions_destroy(&actions);
    return !failed || error_set(err, "cannot run %s: %s", argv[0], strerror(failed));
}

static bool read_output(int from, struct output *out, size_t limit)
{
    char buffer[16384];
    for (size_t total = 0; total <= limit && !out->failed;) {
        ssize_t n = read(from, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        output_bytes(out, buffer, (size_t)n);
        total += (size_t)n;
    }
    return false;
}

bool os_command_run(const char *const *argv, struct output *out, size_t limit,
                    struct error *err)
{
    int ends[2] = {-1, -1}, status = 0;
    pid_t pid = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(err, "cannot make a pipe: %s", strerror(errno));
    bool ok = spawn(argv, ends[1], &pid, err);
    close(ends[1]);
    if (!ok) {
        close(ends[0]);
        return false;
    }
    bool whole = read_output(ends[0], out, limit);
    close(ends[0]);
    if (!whole)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (out->failed)
        return error_memory(err);
    if (!whole)
        return error_set(err, "%s prints more than %zu bytes", argv[0], limit);
    return status == 0 || error_set(err, "%s failed", argv[0]);
}
